/* Reads the printed form of a program (print.c). Any byte string ends in a program that
 * plumb_program_finish still has to accept, or in a message with line and column. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/program.h"

enum { REG_LIMIT = 1 << 20, LIST_LIMIT = 1 << 15 };

typedef struct reader {
  plumb_arena *arena;
  const char *path;
  const char *at, *end, *line_start;
  int line;
  plumb_program *p;
  plumb_function *f;
  bool has_block;
  plumb_builder b;
  plumb_diag *diag;
} reader;

static plumb_status fail(reader *r, const char *what) {
  return plumb_fail(r->diag, PLUMB_BAD_INPUT, r->path, r->line, (int)(r->at - r->line_start) + 1,
                    "%s at '%.*s'", what, (int)strcspn(r->at, "\n") > 24 ? 24 : (int)strcspn(r->at, "\n"),
                    r->at);
}

static void skip_blank(reader *r) {
  while (*r->at == ' ') r->at++;
}

static bool accept(reader *r, const char *text) {
  skip_blank(r);
  size_t n = strlen(text);
  if (strncmp(r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

/* A word: accepted only when it ends there. */
static bool accept_word(reader *r, const char *text) {
  const char *start = r->at;
  if (accept(r, text) && !isalnum((unsigned char)*r->at) && *r->at != '_') return true;
  r->at = start;
  return false;
}

static plumb_status number(reader *r, uint64_t *out) {
  char *stop;
  skip_blank(r);
  if (!isdigit((unsigned char)*r->at) && *r->at != '-') return fail(r, "expected a number");
  *out = *r->at == '-' ? (uint64_t)strtoll(r->at, &stop, 10) : strtoull(r->at, &stop, 0);
  if (stop == r->at) return fail(r, "expected a number");
  r->at = stop;
  return PLUMB_OK;
}

static plumb_status small(reader *r, uint64_t limit, uint32_t *out) {
  uint64_t value;
  PLUMB_TRY(number(r, &value));
  if (value > limit) return fail(r, "the number is too large before");
  *out = (uint32_t)value;
  return PLUMB_OK;
}

static plumb_status key(reader *r, const char *name, uint64_t limit, uint32_t *out) {
  if (!accept(r, name) || *r->at != '=') return fail(r, "expected a field");
  r->at++;
  return small(r, limit, out);
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static plumb_status quoted(reader *r, const char **out) {
  skip_blank(r);
  if (*r->at != '"') return fail(r, "expected a quoted name");
  plumb_text text = plumb_text_create(r->arena);
  for (r->at++; *r->at != '"'; r->at++) {
    if (!*r->at || *r->at == '\n') return fail(r, "the quoted name does not end");
    char c = *r->at;
    if (c == '\\') {
      int high = hex_digit(r->at[1]), low = high < 0 ? -1 : hex_digit(r->at[2]);
      if (low < 0 || (high | low) == 0) return fail(r, "bad escape");
      c = (char)(high * 16 + low);
      r->at += 2;
    }
    plumb_text_append(&text, &c, 1);
  }
  r->at++;
  *out = text.data;
  return PLUMB_OK;
}

static size_t word_length(const reader *r) {
  size_t n = 0;
  while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_') n++;
  return n;
}

static plumb_status dtype(reader *r, plumb_dtype *out) {
  skip_blank(r);
  size_t n = word_length(r);
  if (!plumb_dtype_from_text(r->at, n, out)) return fail(r, "unknown type");
  r->at += n;
  return PLUMB_OK;
}

/* The position of the word at the cursor in a table of texts; dots belong to it. */
static plumb_status pick(reader *r, const char *const *texts, size_t count, uint8_t *out) {
  size_t n = strcspn(r->at, " \n");
  for (size_t i = 0; i < count; i++)
    if (strlen(texts[i]) == n && memcmp(texts[i], r->at, n) == 0) {
      *out = (uint8_t)i;
      r->at += n;
      return PLUMB_OK;
    }
  return fail(r, "unknown name");
}

/* --- program level --- */

static plumb_status read_init(reader *r, plumb_global *g) {
  if (g->size_bytes > (uint64_t)(r->end - r->at)) return fail(r, "the initialiser is too short");
  uint8_t *init = plumb_arena_alloc(r->arena, g->size_bytes);
  for (uint64_t i = 0; i < g->size_bytes; i++) {
    int high = hex_digit(r->at[0]), low = high < 0 ? -1 : hex_digit(r->at[1]);
    if (low < 0) return fail(r, "the initialiser is too short");
    init[i] = (uint8_t)(high * 16 + low);
    r->at += 2;
  }
  g->init = init;
  return PLUMB_OK;
}

static plumb_status read_global(reader *r) {
  const char *name;
  uint8_t space;
  uint64_t size;
  uint32_t align;
  PLUMB_TRY(quoted(r, &name));
  if (!accept(r, "space=")) return fail(r, "expected space=");
  PLUMB_TRY(pick(r, plumb_space_texts, PLUMB_SPACE_COUNT, &space));
  if (!accept(r, "size=")) return fail(r, "expected size=");
  PLUMB_TRY(number(r, &size));
  PLUMB_TRY(key(r, "align", 1 << 20, &align));
  plumb_global *g = &r->p->globals[plumb_global_create(r->p, name, (plumb_space)space, size, align)];
  g->zeroed = accept_word(r, "zeroed");
  g->dynamic = accept_word(r, "dynamic");
  g->external = accept_word(r, "external");
  return accept(r, "init=") ? read_init(r, g) : PLUMB_OK;
}

static plumb_status read_reloc(reader *r) {
  if (!r->p->global_count) return fail(r, "a reloc without a global");
  plumb_global *g = &r->p->globals[r->p->global_count - 1];
  plumb_reloc reloc = {0};
  uint64_t addend;
  PLUMB_TRY(quoted(r, &reloc.symbol));
  if (!accept(r, "offset=")) return fail(r, "expected offset=");
  PLUMB_TRY(number(r, &reloc.offset));
  if (!accept(r, "addend=")) return fail(r, "expected addend=");
  PLUMB_TRY(number(r, &addend));
  reloc.addend = (int64_t)addend;
  reloc.generic = accept_word(r, "generic");
  plumb_reloc *grown = PLUMB_NEW_ARRAY(r->arena, plumb_reloc, g->reloc_count + 1);
  if (g->reloc_count) memcpy(grown, g->relocs, g->reloc_count * sizeof *grown);
  grown[g->reloc_count++] = reloc;
  g->relocs = grown;
  return PLUMB_OK;
}

static plumb_status read_function(reader *r) {
  const char *name;
  PLUMB_TRY(quoted(r, &name));
  plumb_function_kind kind = PLUMB_HOST;
  if (accept_word(r, "kernel"))
    kind = PLUMB_KERNEL;
  else if (accept_word(r, "device"))
    kind = PLUMB_DEVICE;
  else if (!accept_word(r, "host"))
    return fail(r, "expected host, kernel or device");
  r->f = plumb_function_create(r->p, name, kind);
  r->has_block = false;
  r->f->external = accept_word(r, "external");
  PLUMB_TRY(key(r, "frame", INT32_MAX, &r->f->frame_bytes));
  PLUMB_TRY(key(r, "params", 1 << 16, &r->f->param_bytes));
  PLUMB_TRY(key(r, "max", UINT32_MAX, &r->f->max_threads));
  PLUMB_TRY(key(r, "required", UINT32_MAX, &r->f->required_threads[0]));
  for (int i = 1; i < 3; i++) {
    if (!accept(r, ",")) return fail(r, "expected ','");
    PLUMB_TRY(small(r, UINT32_MAX, &r->f->required_threads[i]));
  }
  return PLUMB_OK;
}

static plumb_status read_param(reader *r) {
  plumb_param q = {0};
  PLUMB_TRY(quoted(r, &q.name));
  PLUMB_TRY(dtype(r, &q.type));
  PLUMB_TRY(key(r, "reg", UINT32_MAX, &q.reg));
  PLUMB_TRY(key(r, "offset", 1 << 16, &q.offset));
  PLUMB_TRY(key(r, "size", 1 << 16, &q.size_bytes));
  PLUMB_TRY(key(r, "align", 1 << 16, &q.align));
  plumb_function *f = r->f;
  f->params = plumb_arena_grow(r->arena, f->params, &f->param_capacity, f->param_count + 1, sizeof q);
  f->params[f->param_count++] = q;
  return PLUMB_OK;
}

static plumb_status read_results(reader *r) {
  plumb_function *f = r->f;
  size_t capacity = f->result_count;
  for (skip_blank(r); *r->at != '\n' && *r->at; skip_blank(r)) {
    plumb_dtype type;
    PLUMB_TRY(dtype(r, &type));
    if (f->result_count >= LIST_LIMIT) return fail(r, "too many results");
    f->result_types = plumb_arena_grow(r->arena, f->result_types, &capacity, f->result_count + 1,
                                       sizeof type);
    f->result_types[f->result_count++] = type;
  }
  return PLUMB_OK;
}

static plumb_status read_regs(reader *r) {
  for (skip_blank(r); *r->at != '\n' && *r->at; skip_blank(r)) {
    plumb_dtype type;
    uint32_t count;
    PLUMB_TRY(dtype(r, &type));
    if (!accept(r, "*")) return fail(r, "expected '*'");
    PLUMB_TRY(small(r, REG_LIMIT, &count));
    if (r->f->reg_count + count > REG_LIMIT) return fail(r, "more than 1048576 registers");
    plumb_reg_create_run(r->f, type, count);
  }
  return PLUMB_OK;
}

static plumb_status read_table(reader *r) {
  plumb_function *f = r->f;
  size_t capacity = 0, count = 1;
  uint32_t *table = plumb_arena_grow(r->arena, NULL, &capacity, 1, sizeof *table);
  for (skip_blank(r); *r->at != '\n' && *r->at; skip_blank(r)) {
    table = plumb_arena_grow(r->arena, table, &capacity, count + 1, sizeof *table);
    PLUMB_TRY(small(r, UINT32_MAX, &table[count++]));
  }
  table[0] = (uint32_t)(count - 1);
  f->tables = plumb_arena_grow(r->arena, f->tables, &f->table_capacity, f->table_count + 1,
                               sizeof *f->tables);
  f->tables[f->table_count++] = table;
  return PLUMB_OK;
}

/* --- instructions --- */

static plumb_status read_reg(reader *r, plumb_reg *out) {
  skip_blank(r);
  if (accept(r, "%")) return small(r, REG_LIMIT, out);
  if (!accept(r, "#")) return fail(r, "expected a register");
  plumb_dtype type;
  uint64_t lo, hi = 0;
  PLUMB_TRY(dtype(r, &type));
  if (!accept(r, ":")) return fail(r, "expected ':'");
  PLUMB_TRY(number(r, &lo));
  if (type == PLUMB_I128) {
    if (!accept(r, ":")) return fail(r, "expected ':'");
    PLUMB_TRY(number(r, &hi));
    *out = plumb_constant128(r->p, lo, hi);
  } else {
    *out = plumb_constant(r->p, type, lo);
  }
  return PLUMB_OK;
}

static plumb_status read_list(reader *r, plumb_reg **out, size_t *out_count) {
  size_t capacity = 0, count = 0;
  plumb_reg *list = plumb_arena_grow(r->arena, NULL, &capacity, 4, sizeof *list);
  for (skip_blank(r); *r->at == '%' || *r->at == '#'; skip_blank(r)) {
    if (count == LIST_LIMIT) return fail(r, "too many operands");
    list = plumb_arena_grow(r->arena, list, &capacity, count + 1, sizeof *list);
    PLUMB_TRY(read_reg(r, &list[count++]));
  }
  *out = list;
  *out_count = count;
  return PLUMB_OK;
}

static plumb_status read_sub(reader *r, plumb_inst *inst) {
  const char *const *texts = NULL;
  const char *names[(int)PLUMB_MATH_COUNT + (int)PLUMB_APPROX_COUNT];
  size_t count = 0;
  switch (inst->op) {
    case PLUMB_OP_SREG:
      return pick(r, plumb_sreg_texts, PLUMB_SREG_COUNT, &inst->sub);
    case PLUMB_OP_CMP:
      return pick(r, plumb_cmp_texts, PLUMB_CMP_COUNT, &inst->sub);
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
      return pick(r, plumb_nan_rule_texts, PLUMB_NAN_RULE_COUNT, &inst->sub);
    case PLUMB_OP_ATOMIC:
    case PLUMB_OP_REDUX:
      return pick(r, plumb_atomic_texts, PLUMB_ATOMIC_COUNT, &inst->sub);
    case PLUMB_OP_BARRIER:
      return pick(r, plumb_barrier_texts, PLUMB_BARRIER_COUNT, &inst->sub);
    case PLUMB_OP_SHFL:
      return pick(r, plumb_shfl_texts, PLUMB_SHFL_COUNT, &inst->sub);
    case PLUMB_OP_VOTE:
      return pick(r, plumb_vote_texts, PLUMB_VOTE_COUNT, &inst->sub);
    case PLUMB_OP_PRMT:
      return pick(r, plumb_prmt_texts, PLUMB_PRMT_COUNT, &inst->sub);
    case PLUMB_OP_MATH:
      for (count = 0; count < PLUMB_MATH_COUNT; count++) names[count] = plumb_math_table[count].text;
      texts = names;
      return pick(r, texts, count, &inst->sub);
    case PLUMB_OP_APPROX:
      for (count = 0; count < PLUMB_APPROX_COUNT; count++) names[count] = plumb_approx_table[count].text;
      texts = names;
      return pick(r, texts, count, &inst->sub);
    default: {
      uint32_t value;
      PLUMB_TRY(small(r, 255, &value));
      inst->sub = (uint8_t)value;
      return PLUMB_OK;
    }
  }
}

static plumb_status read_flag(reader *r, plumb_inst *inst) {
  size_t n = word_length(r);
#define PLUMB_FLAG_ROW(name, text, bit)                             \
  if (strlen(text) == n && memcmp(text, r->at, n) == 0) {           \
    inst->flags |= 1u << (bit);                                     \
    r->at += n;                                                     \
    return PLUMB_OK;                                                \
  }
#include "ir/enums.def"
#undef PLUMB_FLAG_ROW
  return fail(r, "unknown flag");
}

static plumb_status read_loc(reader *r, plumb_inst *inst) {
  const char *file;
  uint32_t parts[3];
  PLUMB_TRY(quoted(r, &file));
  for (int i = 0; i < 3; i++) {
    if (!accept(r, ":")) return fail(r, "expected ':'");
    PLUMB_TRY(small(r, INT32_MAX, &parts[i]));
  }
  inst->loc = plumb_loc_add(r->p, *file ? file : NULL, (int)parts[0], (int)parts[1], (int)parts[2]);
  return PLUMB_OK;
}

static plumb_status read_field(reader *r, plumb_inst *inst) {
  uint64_t value;
  uint32_t align;
  if (accept(r, "round=")) return pick(r, plumb_round_texts, PLUMB_ROUND_COUNT, &inst->round);
  if (accept(r, "space=")) return pick(r, plumb_space_texts, PLUMB_SPACE_COUNT, &inst->space);
  if (accept(r, "sub=")) return read_sub(r, inst);
  if (accept(r, "to=")) return small(r, UINT32_MAX, &inst->target);
  if (accept(r, "else=")) return small(r, UINT32_MAX, &inst->target2);
  if (accept(r, "+")) return read_flag(r, inst);
  if (accept(r, "!")) return read_loc(r, inst);
  if (accept_word(r, "guard")) return read_reg(r, &inst->guard);
  if (accept(r, "align=")) {
    PLUMB_TRY(small(r, 31, &align));
    inst->align_log2 = (uint8_t)align;
    return PLUMB_OK;
  }
  if (accept(r, "imm=")) {
    PLUMB_TRY(number(r, &value));
    inst->imm = (int64_t)value;
    return PLUMB_OK;
  }
  if (accept(r, "text=")) {
    const char *text;
    PLUMB_TRY(quoted(r, &text));
    inst->imm = plumb_string_add(r->p, text);
    return PLUMB_OK;
  }
  return fail(r, "unknown field");
}

static plumb_status read_inst(reader *r) {
  if (!r->has_block) return fail(r, "an instruction outside a block");
  size_t n = word_length(r);
  int op = 0;
  while (op < PLUMB_OP_COUNT && !(strlen(plumb_op_table[op].mnemonic) == n &&
                                  memcmp(plumb_op_table[op].mnemonic, r->at, n) == 0))
    op++;
  if (op == PLUMB_OP_COUNT) return fail(r, "unknown operation");
  r->at += n;
  plumb_dtype type, type2;
  if (!accept(r, ".")) return fail(r, "expected '.' and a type");
  PLUMB_TRY(dtype(r, &type));
  type2 = type;
  if (*r->at == '.') {
    r->at++;
    PLUMB_TRY(dtype(r, &type2));
  }
  plumb_reg *results, *operands;
  size_t result_count, operand_count;
  PLUMB_TRY(read_list(r, &results, &result_count));
  if (!accept(r, "<-")) return fail(r, "expected '<-'");
  PLUMB_TRY(read_list(r, &operands, &operand_count));
  plumb_inst *inst =
      plumb_build(&r->b, (plumb_op)op, type, results, result_count, operands, operand_count);
  inst->type2 = (uint8_t)type2;
  for (skip_blank(r); *r->at && *r->at != '\n'; skip_blank(r)) PLUMB_TRY(read_field(r, inst));
  return PLUMB_OK;
}

static plumb_status read_line(reader *r) {
  skip_blank(r);
  if (*r->at == '\n' || !*r->at) return PLUMB_OK;
  if (accept(r, "//")) {
    r->at += strcspn(r->at, "\n");
    return PLUMB_OK;
  }
  if (accept_word(r, "global")) return read_global(r);
  if (accept_word(r, "reloc")) return read_reloc(r);
  if (accept_word(r, "func")) return read_function(r);
  if (!r->f) return fail(r, "expected global or func");
  if (accept_word(r, "param")) return read_param(r);
  if (accept_word(r, "results")) return read_results(r);
  if (accept_word(r, "regs")) return read_regs(r);
  if (accept_word(r, "table")) return read_table(r);
  if (accept_word(r, "end")) {
    r->has_block = false;
    return PLUMB_OK;
  }
  if (accept_word(r, "block")) {
    uint32_t index;
    PLUMB_TRY(small(r, UINT32_MAX, &index));
    if (index != r->f->block_count) return fail(r, "blocks are numbered in order");
    r->b = plumb_builder_at(r->f, plumb_block_create(r->f));
    r->has_block = true;
    return PLUMB_OK;
  }
  return read_inst(r);
}

plumb_status plumb_program_read(plumb_arena *arena, const char *path, const char *text,
                                size_t length, plumb_program **out_program, plumb_diag *diag) {
  /* The copy is terminated; a NUL inside ends the text, and is reported below. */
  char *copy = plumb_arena_copy_text(arena, text, length);
  reader r = {.arena = arena,
              .path = path,
              .at = copy,
              .end = copy + length,
              .line_start = copy,
              .line = 1,
              .diag = diag};
  const char *name;
  if (!accept_word(&r, "program")) return fail(&r, "expected 'program'");
  PLUMB_TRY(quoted(&r, &name));
  r.p = plumb_program_create(arena, name);
  for (;;) {
    skip_blank(&r);
    if (*r.at == '\n') {
      r.line++;
      r.line_start = ++r.at;
      PLUMB_TRY(read_line(&r));
      continue;
    }
    if (!*r.at) break;
    return fail(&r, "unexpected text");
  }
  if (r.at != r.end) return fail(&r, "a NUL byte");
  *out_program = r.p;
  return PLUMB_OK;
}
