/* Branches, calls and returns (9.7.12), and the functions known by name. */
#include "ir/ptx/decode.h"

/* The guard becomes a branch around what is built next. */
void ptx_guard_to_branch(ptx_decoder *d) {
  if (d->b.guard == PLUMB_NO_REG) return;
  plumb_reg guard = d->b.guard;
  bool negated = d->b.guard_not;
  uint32_t taken = plumb_block_create(d->f);
  d->after = plumb_block_create(d->f);
  d->b.guard = PLUMB_NO_REG;
  d->b.guard_not = false;
  plumb_build_condbr(&d->b, guard, negated ? d->after : taken, negated ? taken : d->after);
  d->b.block = taken;
}

static bool label(ptx_decoder *d, const char *name, uint32_t *out_block) {
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, name);
  if (!s || s->kind != PTX_SYMBOL_LABEL) {
    ptx_error(d, "undeclared label", name);
    return false;
  }
  *out_block = (uint32_t)s->value;
  return true;
}

bool ptx_emit_bra(ptx_decoder *d) {
  const ptx_operand *o = ptx_op(d, 0);
  uint32_t target;
  if (!o || o->kind != PTX_OPERAND_NAME) return false;
  if (!label(d, o->name, &target)) return true;
  plumb_reg guard = d->b.guard;
  bool negated = d->b.guard_not;
  d->b.guard = PLUMB_NO_REG;
  d->b.guard_not = false;
  if (guard == PLUMB_NO_REG) {
    plumb_build_bra(&d->b, target);
    return true;
  }
  uint32_t next = plumb_block_create(d->f);
  plumb_build_condbr(&d->b, guard, negated ? next : target, negated ? target : next);
  d->b.block = next;
  return true;
}

/* An index outside the list is undefined behaviour (9.7.12.4). */
bool ptx_emit_brx(ptx_decoder *d) {
  const ptx_operand *o = ptx_op(d, 1);
  ptx_symbol *s =
      o && o->kind == PTX_OPERAND_NAME ? ptx_symbol_find(d, d->s->scope, o->name) : NULL;
  if (!s || s->kind != PTX_SYMBOL_LIST || !s->list->target_count) return false;
  const ptx_list *list = s->list;
  uint32_t *table = PLUMB_NEW_ARRAY(d->arena, uint32_t, list->target_count + 1);
  table[0] = (uint32_t)list->target_count;
  for (size_t i = 0; i < list->target_count; i++)
    if (!label(d, list->targets[i], &table[i + 1])) return true;
  plumb_reg index = ptx_src(d, 0, PLUMB_I32);
  if (d->unknown) return false;
  ptx_guard_to_branch(d);
  uint32_t outside = plumb_block_create(d->f);
  plumb_function *f = d->f;
  f->tables = plumb_arena_grow(d->arena, f->tables, &f->table_capacity, f->table_count + 1,
                               sizeof *f->tables);
  f->tables[f->table_count] = table;
  plumb_inst *i = plumb_build(&d->b, PLUMB_OP_SWITCH, PLUMB_I32, NULL, 0, &index, 1);
  i->imm = (int64_t)f->table_count++;
  i->target = outside;
  d->b.block = outside;
  plumb_build(&d->b, PLUMB_OP_UNREACHABLE, PLUMB_I1, NULL, 0, NULL, 0);
  return true;
}

bool ptx_emit_exit(ptx_decoder *d) {
  ptx_guard_to_branch(d);
  plumb_build(&d->b, PLUMB_OP_EXIT, PLUMB_I1, NULL, 0, NULL, 0);
  return true;
}

bool ptx_emit_trap(ptx_decoder *d) {
  ptx_guard_to_branch(d);
  plumb_build(&d->b, PLUMB_OP_TRAP, PLUMB_I1, NULL, 0, NULL, 0)->imm = -1;
  return true;
}

bool ptx_is_aggregate(const ptx_variable *v) {
  return v->is_array || (v->vector > 1 && v->space != PTX_REG);
}

static uint64_t variable_bytes(const ptx_variable *v) {
  return v->elements * v->vector * ptx_type_bytes(v->type);
}

static plumb_reg generic_frame(ptx_decoder *d, uint64_t offset) {
  plumb_reg r = plumb_reg_create(d->f, PLUMB_I64), g = plumb_reg_create(d->f, PLUMB_I64);
  plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &r, 1, NULL, 0)->imm = (int64_t)offset;
  ptx_build(d, PLUMB_OP_TO_GENERIC, PLUMB_I64, g, &r, 1)->space = PLUMB_SPACE_LOCAL;
  return g;
}

void ptx_return(ptx_decoder *d) {
  plumb_reg *values = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 8 * d->fn->output_count + 1);
  size_t count = 0;
  for (size_t i = 0; i < d->fn->output_count && !d->fn->is_entry; i++) {
    const ptx_variable *v = &d->fn->outputs[i];
    ptx_symbol *s = ptx_symbol_find(d, d->fn->scope, v->name);
    if (ptx_is_aggregate(v)) {
      plumb_reg from = generic_frame(d, s->value);
      plumb_reg args[3] = {d->hidden[i], from, ptx_const(d, PLUMB_I64, variable_bytes(v))};
      plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I64, NULL, 0, args, 3);
    } else {
      for (uint32_t k = 0; k < v->vector; k++) values[count++] = s->reg + k;
    }
  }
  plumb_build_ret(&d->b, values, count);
}

bool ptx_emit_ret(ptx_decoder *d) {
  ptx_guard_to_branch(d);
  ptx_return(d);
  return true;
}

/* An argument of a call: registers by value, aggregates by the address of the
 * caller's copy, which the callee copies again. */
static size_t argument(ptx_decoder *d, const ptx_operand *o, const ptx_variable *formal,
                       plumb_reg out[8]) {
  ptx_symbol *s = o->kind == PTX_OPERAND_NAME ? ptx_symbol_find(d, d->s->scope, o->name) : NULL;
  bool by_address = s && s->kind == PTX_SYMBOL_FRAME && s->is_param;
  if (by_address != ptx_is_aggregate(formal)) d->unknown = true;
  const ptx_operand *items = o;
  size_t n = by_address ? 1 : ptx_elements(d, o, &items);
  if (n != (by_address ? 1 : formal->vector) || n > 8) {
    d->unknown = true;
    return 0;
  }
  for (size_t i = 0; i < n; i++)
    out[i] = by_address ? generic_frame(d, s->value)
                        : ptx_value(d, &items[i], ptx_register_type(formal->type));
  return n;
}

typedef struct signature {
  const ptx_variable *inputs, *outputs;
  size_t input_count, output_count;
} signature;

/* callee: NULL for a call through the register `target`. */
static bool build_call(ptx_decoder *d, const char *callee, const ptx_operand *target,
                       const signature *sig, const ptx_operand *results, const ptx_operand *args) {
  size_t n = args ? args->count : 0, m = results ? results->count : 0;
  if (n != sig->input_count || m != sig->output_count) return false;
  plumb_reg *in = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 1 + m + 8 * n);
  plumb_reg *out = PLUMB_NEW_ARRAY(d->arena, plumb_reg, 8 * m + 1);
  size_t in_count = 0, out_count = 0;
  if (!callee) in[in_count++] = ptx_value(d, target, PLUMB_I64);
  for (size_t i = 0; i < m; i++) {
    if (results->items[i].kind != PTX_OPERAND_NAME) return false;
    ptx_symbol *s = ptx_symbol_find(d, d->s->scope, results->items[i].name);
    if (!s) {
      ptx_error(d, "undeclared name", results->items[i].name);
      return true;
    }
    if ((s->kind == PTX_SYMBOL_FRAME) != ptx_is_aggregate(&sig->outputs[i])) return false;
    if (s->kind == PTX_SYMBOL_FRAME) {
      in[in_count++] = generic_frame(d, s->value);
    } else if (s->kind == PTX_SYMBOL_REG &&
               (s->variable ? s->variable->vector : 1) == sig->outputs[i].vector &&
               plumb_dtype_bytes(plumb_reg_type(d->f, s->reg)) ==
                   plumb_dtype_bytes(ptx_register_type(sig->outputs[i].type))) {
      for (uint32_t k = 0; k < sig->outputs[i].vector; k++) out[out_count++] = s->reg + k;
    } else {
      return false;
    }
  }
  for (size_t i = 0; i < n; i++)
    in_count += argument(d, &args->items[i], &sig->inputs[i], in + in_count);
  if (d->unknown) return false;
  ptx_guard_to_branch(d);
  if (!callee)
    plumb_build(&d->b, PLUMB_OP_CALL_INDIRECT, PLUMB_I1, out, out_count, in, in_count);
  else
    plumb_build_call(&d->b, callee, out, out_count, in, in_count);
  return true;
}

/* What a call through a register may reach: a .callprototype, or the functions of a
 * .calltargets, which have one signature (9.7.12.5). */
static bool indirect_signature(ptx_decoder *d, const ptx_operand *o, signature *out) {
  ptx_symbol *p =
      o && o->kind == PTX_OPERAND_NAME ? ptx_symbol_find(d, d->s->scope, o->name) : NULL;
  if (!p || p->kind != PTX_SYMBOL_LIST) return false;
  const ptx_list *l = p->list;
  if (!l->target_count) {
    *out = (signature){l->inputs, l->outputs, l->input_count, l->output_count};
    return true;
  }
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, l->targets[0]);
  if (!s || s->kind != PTX_SYMBOL_FUNCTION) return false;
  const ptx_function *f = s->function;
  *out = (signature){f->inputs, f->outputs, f->input_count, f->output_count};
  return true;
}

/* call (results), target, (arguments), prototype; the lists are optional. */
bool ptx_emit_call(ptx_decoder *d) {
  size_t at = 0;
  const ptx_operand *results = NULL, *args = NULL, *target;
  if (ptx_op(d, at) && ptx_op(d, at)->kind == PTX_OPERAND_LIST) results = ptx_op(d, at++);
  target = ptx_op(d, at++);
  if (!target || target->kind != PTX_OPERAND_NAME) return false;
  if (ptx_op(d, at) && ptx_op(d, at)->kind == PTX_OPERAND_LIST) args = ptx_op(d, at++);
  ptx_symbol *s = ptx_symbol_find(d, d->s->scope, target->name);
  if (!s) {
    ptx_error(d, "call of an undeclared function", target->name);
    return true;
  }
  if (s->kind == PTX_SYMBOL_FUNCTION) {
    bool ok = false;
    const ptx_function *f = s->function;
    if (f->is_entry) {
      ptx_error(d, "call of a kernel", target->name);
      return true;
    }
    if (!f->has_body && ptx_known_function(d, f->name, results, args, &ok)) return ok;
    signature sig = {f->inputs, f->outputs, f->input_count, f->output_count};
    return build_call(d, s->link_name, target, &sig, results, args);
  }
  signature sig;
  return indirect_signature(d, ptx_op(d, at), &sig) &&
         build_call(d, NULL, target, &sig, results, args);
}
