/* The reader of the printed form (grammar: ir/print.c). It accepts what the printer
 * writes and what a person would write by hand; it bounds what a few bytes of text can
 * make it allocate. As after a decoder, plumb_program_finish comes next and verifies. */
#include <string.h>

#include "ir/lexer.h"
#include "ir/print.h"

enum { MAX_REGS = 1 << 24 };

typedef struct reader {
  plumb_lexer lex;
  plumb_program *p;
} reader;

static const char *space_text(unsigned i) {
  return plumb_space_texts[i];
}
static const char *round_text(unsigned i) {
  return plumb_round_texts[i];
}
static const char *mnemonic_text(unsigned i) {
  return plumb_op_table[i].mnemonic;
}

static plumb_status read_u32(reader *r, uint32_t *out_value) {
  uint64_t value;
  PLUMB_TRY(plumb_lexer_number(&r->lex, UINT32_MAX, &value));
  *out_value = (uint32_t)value;
  return PLUMB_OK;
}

static plumb_status read_space(reader *r, unsigned *out_space) {
  return plumb_lexer_choice(&r->lex, "a state space such as global or shared", PLUMB_SPACE_COUNT,
                            space_text, out_space);
}

/* --- globals --- */

static plumb_status read_init(reader *r, plumb_global *g) {
  plumb_lexer *l = &r->lex;
  /* The text holds two digits a byte, so what is allocated is bounded by the text. */
  if (g->size_bytes > (uint64_t)(l->end - l->at) / 2)
    return plumb_lexer_fail(l, "two hexadecimal digits for every byte of the size");
  uint8_t *bytes = plumb_arena_alloc(r->p->arena, (size_t)g->size_bytes);
  for (uint64_t i = 0; i < g->size_bytes; i++, l->at += 2) {
    unsigned value = 0;
    for (int k = 0; k < 2; k++) {
      char c = l->at[k];
      if (c >= '0' && c <= '9')
        value = value * 16 + (unsigned)(c - '0');
      else if (c >= 'a' && c <= 'f')
        value = value * 16 + (unsigned)(c - 'a') + 10;
      else
        return plumb_lexer_fail(l, "two hexadecimal digits for every byte of the size");
    }
    bytes[i] = (uint8_t)value;
  }
  g->init = bytes;
  return PLUMB_OK;
}

static plumb_status read_reloc(reader *r) {
  plumb_lexer *l = &r->lex;
  if (!r->p->global_count) return plumb_lexer_fail(l, "a global before its relocations");
  plumb_global *g = &r->p->globals[r->p->global_count - 1];
  plumb_reloc reloc = {0};
  PLUMB_TRY(plumb_lexer_string(l, &reloc.symbol));
  PLUMB_TRY(plumb_lexer_expect(l, "offset="));
  PLUMB_TRY(plumb_lexer_number(l, UINT64_MAX, &reloc.offset));
  PLUMB_TRY(plumb_lexer_expect(l, "addend="));
  PLUMB_TRY(plumb_lexer_signed(l, &reloc.addend));
  reloc.generic = plumb_lexer_take(l, "generic");
  /* Doubling: a relocation is added when the count is a power of two. */
  if ((g->reloc_count & (g->reloc_count - 1)) == 0) {
    size_t capacity = g->reloc_count;
    g->relocs = plumb_arena_grow(r->p->arena, g->relocs, &capacity,
                                 g->reloc_count ? 2 * g->reloc_count : 1, sizeof *g->relocs);
  }
  g->relocs[g->reloc_count++] = reloc;
  return PLUMB_OK;
}

static plumb_status read_global(reader *r) {
  plumb_lexer *l = &r->lex;
  const char *name;
  unsigned space;
  uint64_t size;
  uint32_t align;
  PLUMB_TRY(plumb_lexer_string(l, &name));
  PLUMB_TRY(plumb_lexer_expect(l, "space="));
  PLUMB_TRY(read_space(r, &space));
  PLUMB_TRY(plumb_lexer_expect(l, "size="));
  PLUMB_TRY(plumb_lexer_number(l, UINT64_MAX, &size));
  PLUMB_TRY(plumb_lexer_expect(l, "align="));
  PLUMB_TRY(read_u32(r, &align));
  size_t index = plumb_global_create(r->p, name, (plumb_space)space, size, align);
  plumb_global *g = &r->p->globals[index];
  while (!plumb_lexer_line_end(l)) {
    if (plumb_lexer_take(l, "zeroed"))
      g->zeroed = true;
    else if (plumb_lexer_take(l, "dynamic"))
      g->dynamic = true;
    else if (plumb_lexer_take(l, "external"))
      g->external = true;
    else if (plumb_lexer_take(l, "init="))
      PLUMB_TRY(read_init(r, g));
    else
      return plumb_lexer_fail(l, "zeroed, dynamic, external or init=");
  }
  return PLUMB_OK;
}

/* --- a function's head --- */

static plumb_status read_param(reader *r, plumb_function *f) {
  plumb_lexer *l = &r->lex;
  plumb_param param = {.reg = PLUMB_NO_REG};
  const char *name;
  PLUMB_TRY(plumb_lexer_string(l, &name));
  if (*name) param.name = name;
  PLUMB_TRY(plumb_lexer_type(l, &param.type));
  PLUMB_TRY(plumb_lexer_expect(l, "offset="));
  PLUMB_TRY(read_u32(r, &param.offset));
  PLUMB_TRY(plumb_lexer_expect(l, "size="));
  PLUMB_TRY(read_u32(r, &param.size_bytes));
  PLUMB_TRY(plumb_lexer_expect(l, "align="));
  PLUMB_TRY(read_u32(r, &param.align));
  if (plumb_lexer_take(l, "%")) PLUMB_TRY(read_u32(r, &param.reg));
  f->params = plumb_arena_grow(r->p->arena, f->params, &f->param_capacity, f->param_count + 1,
                               sizeof *f->params);
  f->params[f->param_count++] = param;
  return PLUMB_OK;
}

static plumb_status read_regs(reader *r, plumb_function *f) {
  plumb_lexer *l = &r->lex;
  while (!plumb_lexer_line_end(l)) {
    plumb_dtype type;
    uint64_t count = 1;
    PLUMB_TRY(plumb_lexer_type(l, &type));
    if (plumb_lexer_take(l, "*")) PLUMB_TRY(plumb_lexer_number(l, MAX_REGS, &count));
    if (count > MAX_REGS - f->reg_count)
      return plumb_lexer_fail(l, "at most 16777216 registers in a function");
    plumb_reg_create_run(f, type, (size_t)count);
  }
  return PLUMB_OK;
}

static plumb_status read_results(reader *r, plumb_function *f) {
  size_t capacity = 0;
  f->result_count = 0;
  while (!plumb_lexer_line_end(&r->lex)) {
    plumb_dtype type;
    PLUMB_TRY(plumb_lexer_type(&r->lex, &type));
    f->result_types = plumb_arena_grow(r->p->arena, f->result_types, &capacity, f->result_count + 1,
                                       sizeof *f->result_types);
    f->result_types[f->result_count++] = type;
  }
  return PLUMB_OK;
}

static plumb_status read_table(reader *r, plumb_function *f) {
  uint32_t *table = NULL;
  size_t capacity = 0;
  table = plumb_arena_grow(r->p->arena, table, &capacity, 1, sizeof *table);
  while (!plumb_lexer_line_end(&r->lex)) {
    uint32_t block;
    PLUMB_TRY(read_u32(r, &block));
    table = plumb_arena_grow(r->p->arena, table, &capacity, table[0] + 2u, sizeof *table);
    table[++table[0]] = block;
  }
  f->tables = plumb_arena_grow(r->p->arena, f->tables, &f->table_capacity, f->table_count + 1,
                               sizeof *f->tables);
  f->tables[f->table_count++] = table;
  return PLUMB_OK;
}

/* --- instructions --- */

typedef struct reg_list {
  plumb_reg *regs;
  size_t count, capacity;
} reg_list;

static void push_reg(reader *r, reg_list *list, plumb_reg reg) {
  list->regs = plumb_arena_grow(r->p->arena, list->regs, &list->capacity, list->count + 1,
                                sizeof *list->regs);
  list->regs[list->count++] = reg;
}

static plumb_status read_register(reader *r, const plumb_function *f, plumb_reg *out_reg) {
  PLUMB_TRY(read_u32(r, out_reg));
  if (*out_reg < f->reg_count) return PLUMB_OK;
  return plumb_lexer_fail(
      &r->lex, plumb_arena_printf(r->p->arena, "a register below %zu before this", f->reg_count));
}

static plumb_status read_operand(reader *r, const plumb_function *f, plumb_reg *out_reg) {
  plumb_lexer *l = &r->lex;
  if (plumb_lexer_take(l, "%")) return read_register(r, f, out_reg);
  plumb_dtype type;
  uint64_t bits, high = 0;
  PLUMB_TRY(plumb_lexer_type(l, &type));
  PLUMB_TRY(plumb_lexer_expect(l, ":"));
  unsigned width = plumb_dtype_table[type].bits;
  PLUMB_TRY(plumb_lexer_number(l, width < 64 ? (1ull << width) - 1 : UINT64_MAX, &bits));
  if (type == PLUMB_I128) {
    if (plumb_lexer_take(l, ":")) PLUMB_TRY(plumb_lexer_number(l, UINT64_MAX, &high));
    *out_reg = plumb_constant128(r->p, bits, high);
  } else {
    *out_reg = plumb_constant(r->p, type, bits);
  }
  return PLUMB_OK;
}

static plumb_status read_flags(reader *r, uint32_t *flags) {
  plumb_lexer *l = &r->lex;
  do {
    bool known = false;
#define PLUMB_FLAG_ROW(name, text, bit) \
  if (!known && plumb_lexer_take(l, text)) { \
    known = true; \
    *flags |= 1u << (bit); \
  }
#include "ir/enums.def"
#undef PLUMB_FLAG_ROW
    if (!known) return plumb_lexer_fail(l, "a flag such as ftz or sat");
  } while (plumb_lexer_take(l, ","));
  return PLUMB_OK;
}

static plumb_status read_sub(reader *r, plumb_inst *inst) {
  plumb_sub_texts texts = plumb_op_sub_texts((plumb_op)inst->op);
  unsigned sub;
  uint64_t number;
  if (texts.count) {
    PLUMB_TRY(plumb_lexer_choice(&r->lex, "one of this operation's own kinds", texts.count,
                                 texts.get, &sub));
    inst->sub = (uint8_t)sub;
  } else {
    PLUMB_TRY(plumb_lexer_number(&r->lex, UINT8_MAX, &number));
    inst->sub = (uint8_t)number;
  }
  return PLUMB_OK;
}

static plumb_status read_loc(reader *r, plumb_inst *inst) {
  plumb_lexer *l = &r->lex;
  uint64_t numbers[3];
  const char *file = NULL;
  for (int i = 0; i < 3; i++) {
    if (i) PLUMB_TRY(plumb_lexer_expect(l, ":"));
    PLUMB_TRY(plumb_lexer_number(l, INT32_MAX, &numbers[i]));
  }
  if (plumb_lexer_take(l, ":")) PLUMB_TRY(plumb_lexer_string(l, &file));
  inst->loc = plumb_loc_add(r->p, file, (int)numbers[0], (int)numbers[1], (int)numbers[2]);
  return PLUMB_OK;
}

/* One `key=value`; *out_taken false: an operand comes. */
static plumb_status read_field(reader *r, plumb_inst *inst, bool *out_taken) {
  plumb_lexer *l = &r->lex;
  plumb_dtype type;
  unsigned choice;
  uint64_t number;
  const char *text;
  *out_taken = true;
  if (plumb_lexer_take(l, "from=")) {
    PLUMB_TRY(plumb_lexer_type(l, &type));
    inst->type2 = (uint8_t)type;
  } else if (plumb_lexer_take(l, "sub=")) {
    return read_sub(r, inst);
  } else if (plumb_lexer_take(l, "round=")) {
    PLUMB_TRY(plumb_lexer_choice(l, "a rounding mode such as rn or rz", PLUMB_ROUND_COUNT,
                                 round_text, &choice));
    inst->round = (uint8_t)choice;
  } else if (plumb_lexer_take(l, "space=")) {
    PLUMB_TRY(read_space(r, &choice));
    inst->space = (uint8_t)choice;
  } else if (plumb_lexer_take(l, "align=")) {
    PLUMB_TRY(plumb_lexer_number(l, 63, &number));
    inst->align_log2 = (uint8_t)number;
  } else if (plumb_lexer_take(l, "flags=")) {
    return read_flags(r, &inst->flags);
  } else if (plumb_lexer_take(l, "text=")) {
    PLUMB_TRY(plumb_lexer_string(l, &text));
    inst->imm = plumb_string_add(r->p, text);
  } else if (plumb_lexer_take(l, "imm=")) {
    return plumb_lexer_signed(l, &inst->imm);
  } else if (plumb_lexer_take(l, "to=")) {
    return read_u32(r, &inst->target);
  } else if (plumb_lexer_take(l, "else=")) {
    return read_u32(r, &inst->target2);
  } else if (plumb_lexer_take(l, "loc=")) {
    return read_loc(r, inst);
  } else {
    *out_taken = false;
  }
  return PLUMB_OK;
}

static plumb_status read_inst(reader *r, plumb_function *f) {
  plumb_lexer *l = &r->lex;
  plumb_inst inst = {.guard = PLUMB_NO_REG, .target = UINT32_MAX, .target2 = UINT32_MAX};
  reg_list results = {0}, operands = {0};
  plumb_reg reg;
  if (!f->block_count) return plumb_lexer_fail(l, "'block' before the first instruction");
  if (plumb_lexer_take(l, "@")) {
    if (plumb_lexer_take(l, "!")) inst.flags |= PLUMB_FLAG_GUARD_NOT;
    PLUMB_TRY(plumb_lexer_expect(l, "%"));
    PLUMB_TRY(read_register(r, f, &inst.guard));
  }
  while (plumb_lexer_take(l, "%")) {
    PLUMB_TRY(read_register(r, f, &reg));
    push_reg(r, &results, reg);
  }
  if (results.count) PLUMB_TRY(plumb_lexer_expect(l, "="));
  unsigned op;
  plumb_dtype type;
  PLUMB_TRY(plumb_lexer_choice(l, "an operation", PLUMB_OP_COUNT, mnemonic_text, &op));
  PLUMB_TRY(plumb_lexer_type(l, &type));
  inst.op = (uint16_t)op;
  inst.type = inst.type2 = (uint8_t)type;
  while (!plumb_lexer_line_end(l)) {
    bool taken;
    PLUMB_TRY(read_field(r, &inst, &taken));
    if (taken) continue;
    PLUMB_TRY(read_operand(r, f, &reg));
    push_reg(r, &operands, reg);
  }
  if (results.count > UINT16_MAX || operands.count > UINT16_MAX)
    return plumb_lexer_fail(l, "at most 65535 results and operands");
  plumb_builder b = plumb_builder_at(f, (uint32_t)f->block_count - 1);
  plumb_inst *built = plumb_build(&b, (plumb_op)op, type, results.regs, results.count,
                                  operands.regs, operands.count);
  inst.first = built->first;
  inst.results = built->results;
  inst.operands = built->operands;
  *built = inst;
  return PLUMB_OK;
}

/* --- functions and the whole --- */

static plumb_status read_function_line(reader *r, plumb_function *f) {
  plumb_lexer *l = &r->lex;
  if (plumb_lexer_take(l, "block")) {
    plumb_block_create(f);
    return PLUMB_OK;
  }
  if (f->block_count) return read_inst(r, f);
  if (plumb_lexer_take(l, "param")) return read_param(r, f);
  if (plumb_lexer_take(l, "regs")) return read_regs(r, f);
  if (plumb_lexer_take(l, "results")) return read_results(r, f);
  if (plumb_lexer_take(l, "table")) return read_table(r, f);
  if (plumb_lexer_take(l, "param_bytes")) return read_u32(r, &f->param_bytes);
  if (plumb_lexer_take(l, "frame")) return read_u32(r, &f->frame_bytes);
  if (plumb_lexer_take(l, "max_threads")) return read_u32(r, &f->max_threads);
  if (plumb_lexer_take(l, "required_threads")) {
    for (int i = 0; i < 3; i++) PLUMB_TRY(read_u32(r, &f->required_threads[i]));
    return PLUMB_OK;
  }
  if (plumb_lexer_take(l, "required_cluster")) {
    for (int i = 0; i < 3; i++) PLUMB_TRY(read_u32(r, &f->required_cluster[i]));
    return PLUMB_OK;
  }
  return read_inst(r, f);
}

static plumb_status expect_line_end(reader *r) {
  return plumb_lexer_line_end(&r->lex) ? PLUMB_OK : plumb_lexer_fail(&r->lex, "the line's end");
}

static plumb_status read_function(reader *r, plumb_function_kind kind) {
  plumb_lexer *l = &r->lex;
  const char *name;
  PLUMB_TRY(plumb_lexer_string(l, &name));
  plumb_function *f = plumb_function_create(r->p, name, kind);
  f->external = plumb_lexer_take(l, "external");
  PLUMB_TRY(plumb_lexer_expect(l, "{"));
  PLUMB_TRY(expect_line_end(r));
  for (;;) {
    if (plumb_lexer_text_end(l)) return plumb_lexer_fail(l, "'}' at the end of the function");
    if (plumb_lexer_take(l, "}")) return PLUMB_OK;
    PLUMB_TRY(read_function_line(r, f));
    PLUMB_TRY(expect_line_end(r));
  }
}

static plumb_status read_top(reader *r) {
  plumb_lexer *l = &r->lex;
  if (plumb_lexer_take(l, "global")) return read_global(r);
  if (plumb_lexer_take(l, "reloc")) return read_reloc(r);
  if (plumb_lexer_take(l, "host")) return read_function(r, PLUMB_HOST);
  if (plumb_lexer_take(l, "kernel")) return read_function(r, PLUMB_KERNEL);
  if (plumb_lexer_take(l, "device")) return read_function(r, PLUMB_DEVICE);
  return plumb_lexer_fail(l, "global, reloc, host, kernel or device");
}

plumb_status plumb_program_read(plumb_arena *arena, const char *path, const char *text,
                                size_t length, plumb_program **out_program, plumb_diag *diag) {
  reader r = {.lex = plumb_lexer_create(arena, path, text, length, diag)};
  const char *name;
  plumb_lexer_text_end(&r.lex);
  PLUMB_TRY(plumb_lexer_expect(&r.lex, "program"));
  PLUMB_TRY(plumb_lexer_expect(&r.lex, "1"));
  PLUMB_TRY(plumb_lexer_string(&r.lex, &name));
  PLUMB_TRY(expect_line_end(&r));
  r.p = plumb_program_create(arena, name);
  while (!plumb_lexer_text_end(&r.lex)) {
    PLUMB_TRY(read_top(&r));
    PLUMB_TRY(expect_line_end(&r));
  }
  *out_program = r.p;
  return PLUMB_OK;
}
