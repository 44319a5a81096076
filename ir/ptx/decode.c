/* A module to functions and globals of a program; the handlers are in the files
 * named after their instructions. */
#include "ir/ptx/decode.h"

#include "ir/ptx/ptx.h"

static plumb_space program_space(ptx_space space) {
  return space == PTX_SHARED  ? PLUMB_SPACE_SHARED
         : space == PTX_CONST ? PLUMB_SPACE_CONST
                              : PLUMB_SPACE_GLOBAL;
}

static uint32_t alignment(const ptx_variable *v) {
  return v->align ? v->align : v->vector * ptx_type_bytes(v->type);
}

static uint64_t variable_bytes(const ptx_variable *v) {
  return v->elements * v->vector * ptx_type_bytes(v->type);
}

static plumb_status variable_fail(ptx_decoder *d, const ptx_variable *v, const char *what) {
  return plumb_fail(d->diag, PLUMB_BAD_INPUT, d->module->path, v->line, v->column, "`%s`: %s",
                    v->name, what);
}

/* 0xFF00(s) must follow 0xFF(s), 0xFF0000(s) that, and so on: the eight make the address. */
static bool continues_mask(const ptx_variable *v, size_t i) {
  unsigned byte = (unsigned)__builtin_ctzll(v->inits[i].mask) / 8;
  if (byte > i || v->inits[i].mask != 0xffull << (8 * byte)) return false;
  const ptx_init *first = &v->inits[i - byte], *own = &v->inits[i];
  return first->symbol && first->mask == 0xff && strcmp(first->symbol, own->symbol) == 0 &&
         first->generic == own->generic && first->bits == own->bits;
}

/* Initialised elements; mask forms 0xFF(s), 0xFF00(s), ... make one address (5.4.4). */
static plumb_status initialise(ptx_decoder *d, const ptx_variable *v, plumb_global *g) {
  uint32_t width = ptx_type_bytes(v->type);
  size_t reloc_capacity = 0;
  if (v->init_count > v->elements * v->vector)
    return variable_fail(d, v, "more initial values than elements");
  if (g->size_bytes > (1u << 28)) return variable_fail(d, v, "initialised data beyond 256 MiB");
  uint8_t *bytes = plumb_arena_alloc(d->arena, g->size_bytes);
  g->init = bytes;
  for (size_t i = 0; i < v->init_count; i++) {
    const ptx_init *init = &v->inits[i];
    uint64_t at = i * width;
    if (!init->symbol) {
      for (uint32_t b = 0; b < width && b < 8; b++)
        bytes[at + b] = (uint8_t)(init->bits >> (8 * b));
      continue;
    }
    if (init->mask && init->mask != 0xff) {
      if (!continues_mask(v, i))
        return variable_fail(d, v, "the bytes of an address are not in order");
      continue;
    }
    if (at + 8 > g->size_bytes || (!init->mask && width != 8))
      return variable_fail(d, v, "an address needs eight bytes");
    g->relocs = plumb_arena_grow(d->arena, g->relocs, &reloc_capacity, g->reloc_count + 1,
                                 sizeof *g->relocs);
    g->relocs[g->reloc_count++] = (plumb_reloc){.offset = at,
                                                .symbol = init->symbol,
                                                .addend = (int64_t)init->bits,
                                                .generic = init->generic};
  }
  return PLUMB_OK;
}

static plumb_status add_global(ptx_decoder *d, const ptx_variable *v, const char *name) {
  uint64_t size = v->unsized ? 0 : variable_bytes(v);
  if (size > (1ull << 40)) return variable_fail(d, v, "larger than 1 TiB");
  /* A name that is not linked is the module's own. */
  if (!v->is_visible && plumb_program_find_global(d->program, name) != SIZE_MAX)
    name = plumb_arena_printf(d->arena, "%s.%zu", name, d->program->global_count);
  size_t index = plumb_global_create(d->program, name, program_space(v->space), size, alignment(v));
  plumb_global *g = &d->program->globals[index];
  g->dynamic = v->unsized && v->space == PTX_SHARED;
  g->external = v->external && !g->dynamic;
  g->weak = v->is_weak;
  g->zeroed = v->space != PTX_SHARED;
  ptx_symbol *symbol = ptx_symbol_add(d, PTX_SYMBOL_GLOBAL, v->scope, v->name);
  symbol->value = index;
  symbol->variable = v;
  return v->init_count ? initialise(d, v, g) : PLUMB_OK;
}

static plumb_reg reg_symbol(ptx_decoder *d, const ptx_variable *v, plumb_reg reg, bool is_param) {
  ptx_symbol *s = ptx_symbol_add(d, PTX_SYMBOL_REG, v->scope, v->name);
  s->variable = v;
  s->reg = reg;
  s->is_param = is_param;
  return reg;
}

static uint64_t frame_symbol(ptx_decoder *d, const ptx_variable *v, bool is_param) {
  ptx_symbol *s = ptx_symbol_add(d, PTX_SYMBOL_FRAME, v->scope, v->name);
  s->value = plumb_frame_reserve(d->f, variable_bytes(v), alignment(v));
  s->variable = v;
  s->is_param = is_param;
  return s->value;
}

/* A name has one meaning in a scope (5.4): the innermost declaration is this scope's. */
static bool is_declared(ptx_decoder *d, uint32_t scope, const char *name) {
  const ptx_symbol *s = ptx_symbol_find(d, scope, name);
  return s && s->scope == scope;
}

static plumb_status declare_local(ptx_decoder *d, const ptx_variable *v) {
  plumb_dtype type = ptx_register_type(v->type);
  if (!v->range && is_declared(d, v->scope, v->name))
    return variable_fail(d, v, "declared twice in one scope");
  switch (v->space) {
    case PTX_REG:
      if (v->range) {
        ptx_symbol *s = ptx_symbol_add(d, PTX_SYMBOL_RANGE, v->scope,
                                       plumb_arena_printf(d->arena, "%s<", v->name));
        s->variable = v;
      } else if (v->is_array) {
        return variable_fail(d, v, "a register cannot be an array");
      } else {
        reg_symbol(d, v, plumb_reg_create_run(d->f, type, v->vector), false);
      }
      return PLUMB_OK;
    case PTX_PARAM:
      if (ptx_is_aggregate(v))
        frame_symbol(d, v, true);
      else
        reg_symbol(d, v, plumb_reg_create(d->f, type), true);
      return PLUMB_OK;
    case PTX_LOCAL:
      frame_symbol(d, v, false);
      return PLUMB_OK;
    default: {
      bool taken = plumb_program_find_global(d->program, v->name) != SIZE_MAX;
      return add_global(
          d, v, taken ? plumb_arena_printf(d->arena, "%s.%s", d->f->name, v->name) : v->name);
    }
  }
}

/* The location of a statement: of an inlined header function the place in the
 * kernel's own file that called it. */
static uint32_t location(ptx_decoder *d, const ptx_statement *s) {
  const ptx_module *m = d->module;
  ptx_source at = s->source;
  int line = at.line, index = at.file;
  if (at.inlined_file > 0 && at.inlined_file != at.file) {
    line = at.inlined_line;
    index = at.inlined_file;
  }
  const char *file = index >= 0 && (size_t)index < m->file_count ? m->files[index] : NULL;
  if (!file) return plumb_loc_add(d->program, NULL, 0, 0, s->line);
  return plumb_loc_add(d->program, file, line, index == at.file ? at.column : 0, s->line);
}

static void collect_types(ptx_decoder *d) {
  d->type_count = 0;
  for (size_t i = 0; i < d->s->part_count && d->type_count < 8; i++)
    if (ptx_type_find(d->s->parts[i], &d->types[d->type_count])) d->type_count++;
}

/* Marks the registers that an unknown instruction might write. */
static void unsupported(ptx_decoder *d) {
  const ptx_operand *o = ptx_op(d, 0);
  plumb_reg results[16];
  size_t count = 0;
  size_t n = !o ? 0 : o->kind == PTX_OPERAND_NAME ? 1 : o->count;
  for (size_t i = 0; i < n && count < 16 && o->kind != PTX_OPERAND_ADDRESS; i++) {
    const ptx_operand *item = o->kind == PTX_OPERAND_NAME ? o : &o->items[i];
    ptx_symbol *s =
        item->kind == PTX_OPERAND_NAME ? ptx_symbol_find(d, d->s->scope, item->name) : NULL;
    if (s && s->kind == PTX_SYMBOL_REG) results[count++] = s->reg;
  }
  char *text = plumb_arena_printf(d->arena, "PTX line %d: %s", d->s->line, d->s->text);
  plumb_build_unsupported(&d->b, text, results, count);
}

static void instruction(ptx_decoder *d, const ptx_statement *s) {
  if (plumb_builder_terminated(&d->b)) d->b.block = plumb_block_create(d->f);
  d->s = s;
  d->after = UINT32_MAX;
  d->unknown = false;
  d->b.loc = location(d, s);
  d->b.guard = PLUMB_NO_REG;
  d->b.guard_not = s->guard_not;
  if (s->guard) {
    ptx_symbol *guard = ptx_symbol_find(d, s->scope, s->guard);
    if (!guard || guard->kind != PTX_SYMBOL_REG || plumb_reg_type(d->f, guard->reg) != PLUMB_I1) {
      ptx_error(d, "not a predicate:", s->guard);
      return;
    }
    d->b.guard = guard->reg;
  }
  collect_types(d);
  ptx_handler handler = ptx_find_handler(s->name);
  uint32_t block = d->b.block;
  size_t before = d->f->blocks[block].inst_count;
  bool ok = handler && ptx_form_known(ptx_find_forms(s->name), s) && handler(d) && !d->unknown;
  if (!ok) {
    /* What was built before the form turned out to be unknown is taken back. */
    if (d->b.block == block) d->f->blocks[block].inst_count = before;
    if (!plumb_builder_terminated(&d->b)) unsupported(d);
  }
  d->b.guard = PLUMB_NO_REG;
  d->b.guard_not = false;
  if (d->after == UINT32_MAX) return;
  if (!plumb_builder_terminated(&d->b)) plumb_build_bra(&d->b, d->after);
  d->b.block = d->after;
}

static plumb_status check_fresh(ptx_decoder *d, uint32_t scope, const char *name, int line,
                                int column) {
  if (!is_declared(d, scope, name)) return PLUMB_OK;
  return plumb_fail(d->diag, PLUMB_BAD_INPUT, d->module->path, line, column,
                    "`%s` is declared twice in one scope", name);
}

/* Labels, and lists of labels or prototypes, which are named like labels. */
static plumb_status declare_labels(ptx_decoder *d, const ptx_function *fn) {
  for (size_t i = 0; i < fn->statement_count; i++) {
    const ptx_statement *s = &fn->statements[i];
    if (s->kind != PTX_STATEMENT_LABEL) continue;
    PLUMB_TRY(check_fresh(d, s->scope, s->name, s->line, s->column));
    ptx_symbol_add(d, PTX_SYMBOL_LABEL, s->scope, s->name)->value = plumb_block_create(d->f);
  }
  for (size_t i = 0; i < fn->list_count; i++) {
    const ptx_list *l = &fn->lists[i];
    PLUMB_TRY(check_fresh(d, l->scope, l->name, l->line, l->column));
    ptx_symbol_add(d, PTX_SYMBOL_LIST, l->scope, l->name)->list = l;
  }
  return PLUMB_OK;
}

/* A device function's aggregates arrive as addresses and are copied to its frame. */
static void copy_inputs(ptx_decoder *d, const ptx_function *fn) {
  size_t at = 0;
  for (size_t i = 0; i < fn->output_count; i++)
    if (ptx_is_aggregate(&fn->outputs[i])) d->hidden[i] = d->f->params[at++].reg;
  for (size_t i = 0; i < fn->input_count; i++, at++) {
    const ptx_variable *v = &fn->inputs[i];
    if (!ptx_is_aggregate(v)) {
      reg_symbol(d, v, d->f->params[at].reg, v->space == PTX_PARAM);
      at += v->vector - 1;
      continue;
    }
    plumb_reg local = plumb_reg_create(d->f, PLUMB_I64), to = plumb_reg_create(d->f, PLUMB_I64);
    uint64_t offset = frame_symbol(d, v, true);
    plumb_build(&d->b, PLUMB_OP_FRAME, PLUMB_I64, &local, 1, NULL, 0)->imm = (int64_t)offset;
    ptx_build(d, PLUMB_OP_TO_GENERIC, PLUMB_I64, to, &local, 1)->space = PLUMB_SPACE_LOCAL;
    plumb_reg args[3] = {to, d->f->params[at].reg, ptx_const(d, PLUMB_I64, variable_bytes(v))};
    plumb_build(&d->b, PLUMB_OP_MEMCPY, PLUMB_I64, NULL, 0, args, 3);
  }
}

static void declare_parameters(ptx_decoder *d, const ptx_function *fn) {
  if (fn->is_entry) {
    for (size_t i = 0; i < fn->input_count; i++)
      ptx_symbol_add(d, PTX_SYMBOL_PARAM, fn->scope, fn->inputs[i].name)->value =
          d->f->params[i].offset;
    return;
  }
  d->hidden = PLUMB_NEW_ARRAY(d->arena, plumb_reg, fn->output_count + 1);
  copy_inputs(d, fn);
  for (size_t i = 0; i < fn->output_count; i++) {
    const ptx_variable *v = &fn->outputs[i];
    if (ptx_is_aggregate(v))
      frame_symbol(d, v, true);
    else
      reg_symbol(d, v, plumb_reg_create_run(d->f, ptx_register_type(v->type), v->vector),
                 v->space == PTX_PARAM);
  }
}

static plumb_status body(ptx_decoder *d, const ptx_function *fn, plumb_function *f) {
  d->fn = fn;
  d->f = f;
  d->s = NULL;
  d->carry = PLUMB_NO_REG;
  d->b = plumb_builder_at(f, plumb_block_create(f));
  declare_parameters(d, fn);
  for (size_t i = 0; i < fn->variable_count; i++) PLUMB_TRY(declare_local(d, &fn->variables[i]));
  PLUMB_TRY(declare_labels(d, fn));
  for (size_t i = 0; i < fn->statement_count && d->status == PLUMB_OK; i++) {
    const ptx_statement *s = &fn->statements[i];
    if (s->kind == PTX_STATEMENT_INSTRUCTION) {
      instruction(d, s);
      continue;
    }
    uint32_t block = (uint32_t)ptx_symbol_find(d, s->scope, s->name)->value;
    if (!plumb_builder_terminated(&d->b)) plumb_build_bra(&d->b, block);
    d->b.block = block;
  }
  /* The end of the body is a return (9.7.12.6). */
  if (d->status == PLUMB_OK && !plumb_builder_terminated(&d->b)) ptx_return(d);
  return d->status;
}

static void signature(ptx_decoder *d, const ptx_function *fn, plumb_function *f) {
  f->external = !fn->has_body;
  if (fn->is_entry) {
    for (size_t i = 0; i < fn->input_count; i++) {
      const ptx_variable *v = &fn->inputs[i];
      uint64_t bytes = variable_bytes(v);
      plumb_function_add_kernel_param(f, v->name,
                                      ptx_is_aggregate(v) ? PLUMB_I8 : ptx_register_type(v->type),
                                      (uint32_t)bytes, alignment(v));
    }
    uint64_t product = fn->max_threads[0];
    for (int i = 1; i < 3; i++)
      if (product && product < UINT16_MAX) product *= fn->max_threads[i] & UINT16_MAX;
    f->max_threads = (uint32_t)(product & UINT32_MAX);
    for (int i = 0; i < 3; i++) f->required_threads[i] = (uint32_t)fn->required_threads[i];
    for (int i = 0; i < 3; i++)
      f->required_cluster[i] = (uint32_t)(fn->required_cluster[i] & UINT32_MAX);
    return;
  }
  size_t results = 0;
  f->result_types = PLUMB_NEW_ARRAY(d->arena, plumb_dtype, 8 * fn->output_count + 1);
  for (size_t i = 0; i < fn->output_count; i++) {
    const ptx_variable *v = &fn->outputs[i];
    if (ptx_is_aggregate(v)) plumb_function_add_param(f, v->name, PLUMB_I64);
    for (uint32_t k = 0; !ptx_is_aggregate(v) && k < v->vector; k++)
      f->result_types[results++] = ptx_register_type(v->type);
  }
  f->result_count = results;
  for (size_t i = 0; i < fn->input_count; i++) {
    const ptx_variable *v = &fn->inputs[i];
    bool by_address = ptx_is_aggregate(v);
    for (uint32_t k = 0; k < (by_address ? 1 : v->vector); k++)
      plumb_function_add_param(f, v->name, by_address ? PLUMB_I64 : ptx_register_type(v->type));
  }
}

static const ptx_variable *parameter(const ptx_function *fn, size_t i) {
  return i < fn->input_count ? &fn->inputs[i] : &fn->outputs[i - fn->input_count];
}

/* A parameter's size is limited by the ISA (4 KiB, 32764 bytes from sm_70; 6.4.2), which
 * also bounds what hostile text can ask for. */
static plumb_status check_parameters(ptx_decoder *d, const ptx_function *fn) {
  uint64_t total = 0;
  if (fn->output_count > 160 || fn->input_count > 500)
    return plumb_fail(d->diag, PLUMB_BAD_INPUT, d->module->path, fn->line, fn->column,
                      "`%s` has more than 500 parameters or 160 results", fn->name);
  for (size_t i = 0; i < fn->input_count + fn->output_count; i++) {
    const ptx_variable *v = parameter(fn, i);
    for (size_t j = 0; j < i; j++)
      if (strcmp(parameter(fn, j)->name, v->name) == 0 && strcmp(v->name, "_") != 0)
        return plumb_fail(d->diag, PLUMB_BAD_INPUT, d->module->path, fn->line, fn->column,
                          "`%s` has two parameters of the name `%s`", fn->name, v->name);
    if (v->unsized && fn->is_entry) return variable_fail(d, v, "a kernel parameter needs a size");
    total += variable_bytes(v);
    if (variable_bytes(v) > 65536 || total > (1u << 20))
      return variable_fail(d, v, "parameters are too large: PTX allows 32764 bytes");
  }
  return PLUMB_OK;
}

/* Forward declarations of a function that is defined later add nothing. */
static const ptx_function *definition(const ptx_module *m, const ptx_function *fn) {
  if (fn->has_body) return fn;
  for (size_t i = 0; i < m->function_count; i++)
    if (m->functions[i].has_body && strcmp(m->functions[i].name, fn->name) == 0)
      return &m->functions[i];
  return fn;
}

/* What the decoder itself does not call by name (vprintf, libdevice) may stay undefined. */
static bool is_runtime(const char *name) {
  return strncmp(name, "__nv_", 5) == 0 || strcmp(name, "vprintf") == 0 ||
         strcmp(name, "malloc") == 0 || strcmp(name, "free") == 0 ||
         strncmp(name, "__assert", 8) == 0;
}

/* A symbol for a function that the module declares or defines, and its name in the
 * program: a body that is not linked is the module's own. */
static void declare_function(ptx_decoder *d, const ptx_function *fn) {
  ptx_symbol *s = ptx_symbol_add(d, PTX_SYMBOL_FUNCTION, 0, fn->name);
  s->function = fn;
  s->link_name = fn->name;
  if (fn->has_body && !fn->is_visible && plumb_program_find(d->program, fn->name))
    s->link_name = plumb_arena_printf(d->arena, "%s.%zu", fn->name, d->program->function_count);
}

static plumb_status declare_aliases(ptx_decoder *d) {
  for (size_t i = 0; i < d->module->alias_count; i++) {
    const ptx_alias *a = &d->module->aliases[i];
    ptx_symbol *target = ptx_symbol_find(d, 0, a->target);
    if (!target || target->kind != PTX_SYMBOL_FUNCTION)
      return plumb_fail(d->diag, PLUMB_BAD_INPUT, d->module->path, a->line, a->column,
                        "`%s` is an alias of `%s`, which is no function", a->name, a->target);
    ptx_symbol *s = ptx_symbol_add(d, PTX_SYMBOL_FUNCTION, 0, a->name);
    s->function = target->function;
    s->link_name = target->link_name;
  }
  return PLUMB_OK;
}

/* Initialisers name symbols of the module; the program knows them by their link names. */
static plumb_status rename_relocations(ptx_decoder *d, size_t first_global) {
  for (size_t i = 0; i < d->module->variable_count; i++) {
    plumb_global *g = &d->program->globals[first_global + i];
    for (size_t r = 0; r < g->reloc_count; r++) {
      ptx_symbol *s = ptx_symbol_find(d, 0, g->relocs[r].symbol);
      if (!s)
        return variable_fail(
            d, &d->module->variables[i],
            plumb_arena_printf(d->arena,
                               "its initialiser holds the address of `%s`, which is not "
                               "declared",
                               g->relocs[r].symbol));
      g->relocs[r].symbol =
          s->kind == PTX_SYMBOL_FUNCTION ? s->link_name : d->program->globals[s->value].name;
    }
  }
  return PLUMB_OK;
}

/* CUDA 13.5 writes PTX 9.5, the newest version that is known. */
static const unsigned newest[2] = {9, 5};

static void note_version(plumb_program *p, const unsigned version[2]) {
  if (version[0] < newest[0] || (version[0] == newest[0] && version[1] <= newest[1])) return;
  plumb_text note = plumb_text_create(p->arena);
  plumb_text_printf(&note,
                    "PTX version %u.%u is newer than %u.%u, the newest known: what is new in it "
                    "is unsupported, and what it changed is taken as it was",
                    version[0], version[1], newest[0], newest[1]);
  p->note = note.data;
}

plumb_status plumb_ptx_decode(plumb_program *p, const char *path, const char *text, size_t length,
                              plumb_diag *diag) {
  ptx_module module;
  PLUMB_TRY(ptx_parse(p->arena, path, text, length, &module, diag));
  note_version(p, module.version);
  ptx_decoder d = {.arena = p->arena, .program = p, .module = &module, .diag = diag};
  size_t first_global = p->global_count;
  for (size_t i = 0; i < module.variable_count; i++)
    PLUMB_TRY(add_global(&d, &module.variables[i], module.variables[i].name));
  plumb_function **functions =
      PLUMB_NEW_ARRAY(p->arena, plumb_function *, module.function_count + 1);
  for (size_t i = 0; i < module.function_count; i++) {
    const ptx_function *fn = &module.functions[i];
    if (definition(&module, fn) != fn) continue;
    PLUMB_TRY(check_parameters(&d, fn));
    const ptx_symbol *same = fn->has_body ? ptx_symbol_find(&d, 0, fn->name) : NULL;
    if (same && same->function && same->function->has_body)
      return plumb_fail(diag, PLUMB_BAD_INPUT, path, fn->line, fn->column,
                        "`%s` is defined twice in one module", fn->name);
    declare_function(&d, fn);
    if (!fn->has_body && is_runtime(fn->name)) continue;
    functions[i] = plumb_function_create(p, ptx_symbol_find(&d, 0, fn->name)->link_name,
                                         fn->is_entry ? PLUMB_KERNEL : PLUMB_DEVICE);
    functions[i]->weak = fn->is_weak && fn->has_body;
    signature(&d, fn, functions[i]);
  }
  PLUMB_TRY(declare_aliases(&d));
  PLUMB_TRY(rename_relocations(&d, first_global));
  for (size_t i = 0; i < module.function_count; i++)
    if (functions[i] && module.functions[i].has_body)
      PLUMB_TRY(body(&d, &module.functions[i], functions[i]));
  return PLUMB_OK;
}
