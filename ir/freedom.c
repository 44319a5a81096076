#include "ir/freedom.h"

#include <stdio.h>
#include <string.h>

const plumb_freedom_info plumb_freedom_table[PLUMB_FREEDOM_COUNT] = {
#define X(name, flag, usual, other, what) {flag, usual, other, what},
#include "ir/freedom.def"
#undef X
};

static bool is_word(const char *text, size_t length, const char *word) {
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

bool plumb_freedom_parse(const char *text, unsigned *bits) {
  while (*text) {
    size_t name = strcspn(text, "=,"), value;
    if (text[name] != '=') return false;
    const char *given = text + name + 1;
    value = strcspn(given, ",");
    bool found = false;
    for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
      const plumb_freedom_info *f = &plumb_freedom_table[i];
      if (!is_word(text, name, f->flag)) continue;
      bool other = is_word(given, value, f->other);
      if (!other && !is_word(given, value, f->usual)) return false;
      *bits = other ? *bits | 1u << i : *bits & ~(1u << i);
      found = true;
    }
    if (!found) return false;
    text = given + value + (given[value] == ',');
  }
  return true;
}

const char *plumb_freedom_names(void) {
#define X(name, flag, usual, other, what) flag "=" usual "|" other ", "
  static const char joined[] =
#include "ir/freedom.def"
      "";
#undef X
  static char names[sizeof joined];
  snprintf(names, sizeof names, "%.*s", (int)(sizeof joined - 3), joined);
  return names;
}

const char *plumb_freedom_text(plumb_arena *arena, unsigned bits) {
  plumb_text text = plumb_text_create(arena);
  plumb_text_printf(&text, "%s", "");
  for (int i = 0; i < PLUMB_FREEDOM_COUNT; i++) {
    const plumb_freedom_info *f = &plumb_freedom_table[i];
    if (bits >> i & 1)
      plumb_text_printf(&text, "%s%s=%s", text.length ? "," : "", f->flag, f->other);
  }
  return text.data;
}

const char *plumb_freedom_sentence(plumb_arena *arena, unsigned bits, plumb_freedom which,
                                   const char *which_are) {
  const plumb_freedom_info *f = &plumb_freedom_table[which];
  bool other = (bits >> which & 1) != 0;
  return plumb_arena_printf(arena, "%s (--freedom %s=%s was executed; %s=%s gives other results%s)",
                            f->what, f->flag, other ? f->other : f->usual, f->flag,
                            other ? f->usual : f->other, which_are);
}

/* --- rewriting a block --- */

/* The instructions of a block go to a fresh array, some of them changed. */
typedef struct rewriter {
  plumb_function *f;
  plumb_builder b; /* at the end of the fresh array */
  const plumb_inst *old;
  size_t count;
} rewriter;

static rewriter rewriter_start(plumb_function *f, uint32_t block) {
  plumb_block *at = &f->blocks[block];
  rewriter r = {f, plumb_builder_at(f, block), at->insts, at->inst_count};
  at->insts = NULL;
  at->inst_count = at->inst_capacity = 0;
  return r;
}

static plumb_inst *keep(rewriter *r, const plumb_inst *inst) {
  plumb_inst *copy = plumb_build(&r->b, PLUMB_OP_MOV, PLUMB_I1, NULL, 0, NULL, 0);
  *copy = *inst;
  return copy;
}

static bool writes(const plumb_function *f, const plumb_inst *inst, plumb_reg reg) {
  for (size_t i = 0; i < inst->results; i++)
    if (plumb_inst_results(f, inst)[i] == reg) return true;
  return false;
}

/* --- contraction --- */

/* The mul whose product `reg` still is where instruction `at` reads it, and whose factors are
 * what they were; NULL. */
static const plumb_inst *product_of(const rewriter *r, size_t at, plumb_reg reg) {
  const plumb_inst *sum = &r->old[at];
  if (plumb_reg_is_const(reg)) return NULL;
  for (size_t i = at; i-- > 0;) {
    const plumb_inst *mul = &r->old[i];
    if (!writes(r->f, mul, reg)) continue;
    uint32_t same = PLUMB_FLAG_FTZ | PLUMB_FLAG_FTZ_IN | PLUMB_FLAG_FTZ_OUT;
    if (mul->op != PLUMB_OP_MUL || mul->type != sum->type || mul->guard != PLUMB_NO_REG ||
        !(mul->flags & PLUMB_FLAG_CONTRACT) || (mul->flags & (PLUMB_FLAG_SAT | PLUMB_FLAG_RELU)) ||
        mul->round != PLUMB_RN || (mul->flags & same) != (sum->flags & same))
      return NULL;
    for (size_t k = i; k < at; k++)
      for (int factor = 0; factor < 2; factor++)
        if (writes(r->f, &r->old[k], plumb_inst_operands(r->f, mul)[factor])) return NULL;
    return mul;
  }
  return NULL;
}

static bool may_contract(const plumb_inst *inst) {
  return (inst->op == PLUMB_OP_ADD || inst->op == PLUMB_OP_SUB) &&
         plumb_dtype_is_float((plumb_dtype)inst->type) && (inst->flags & PLUMB_FLAG_CONTRACT) &&
         inst->round == PLUMB_RN && inst->guard == PLUMB_NO_REG;
}

static size_t contract_block(plumb_function *f, uint32_t block) {
  rewriter r = rewriter_start(f, block);
  size_t places = 0;
  for (size_t i = 0; i < r.count; i++) {
    plumb_inst inst = r.old[i];
    const plumb_inst *mul = NULL;
    int which = 0;
    if (may_contract(&inst))
      for (which = 0; which < 2 && !mul; which++)
        mul = product_of(&r, i, plumb_inst_operands(f, &inst)[which]);
    if (!mul) {
      keep(&r, &inst);
      continue;
    }
    plumb_dtype type = (plumb_dtype)inst.type;
    plumb_reg result = plumb_inst_results(f, &inst)[0];
    plumb_reg a = plumb_inst_operands(f, mul)[0], b = plumb_inst_operands(f, mul)[1];
    plumb_reg c = plumb_inst_operands(f, &inst)[2 - which]; /* `which` is one beyond the product */
    r.b.loc = inst.loc;
    if (inst.op == PLUMB_OP_SUB && which == 1) c = plumb_build1(&r.b, PLUMB_OP_NEG, type, c);
    if (inst.op == PLUMB_OP_SUB && which == 2) a = plumb_build1(&r.b, PLUMB_OP_NEG, type, a);
    plumb_inst *fma = plumb_build(&r.b, PLUMB_OP_FMA, type, &result, 1, (plumb_reg[]){a, b, c}, 3);
    fma->flags = inst.flags & ~(uint32_t)PLUMB_FLAG_CONTRACT;
    fma->round = inst.round;
    places++;
  }
  return places;
}

/* --- NaN payloads --- */

static bool gives_nan(const plumb_inst *inst) {
  switch ((plumb_op)inst->op) {
    case PLUMB_OP_ADD:
    case PLUMB_OP_SUB:
    case PLUMB_OP_MUL:
    case PLUMB_OP_FMA:
    case PLUMB_OP_DIV:
    case PLUMB_OP_SQRT:
    case PLUMB_OP_MIN:
    case PLUMB_OP_MAX:
    case PLUMB_OP_MATH:
    case PLUMB_OP_APPROX:
    case PLUMB_OP_ROUND_INT:
    case PLUMB_OP_CVT:
      return inst->type == PLUMB_F16 || inst->type == PLUMB_BF16 || inst->type == PLUMB_F32;
    default:
      return false;
  }
}

static bool copies(const plumb_inst *inst) {
  return inst->op == PLUMB_OP_MOV || inst->op == PLUMB_OP_SELECT || inst->op == PLUMB_OP_FREEZE;
}

/* Reads bits as an integer: their meaning as a float is not all that counts. */
static bool reads_bits(const plumb_inst *inst) {
  bool by_source = inst->op == PLUMB_OP_CVT || inst->op == PLUMB_OP_CMP;
  plumb_dtype type = (plumb_dtype)(by_source ? inst->type2 : inst->type);
  return plumb_op_table[inst->op].op_class == PLUMB_CLASS_ALU && !copies(inst) &&
         inst->op != PLUMB_OP_CLASSIFY && !plumb_dtype_is_float(type);
}

/* Integer instructions that read what a float instruction gave, or a copy of it. */
static size_t readers_of_payloads(const plumb_function *f) {
  bool *nan = PLUMB_NEW_ARRAY(f->program->arena, bool, f->reg_count + 1);
  size_t readers = 0;
  for (bool changed = true; changed;) {
    changed = false;
    readers = 0;
    for (size_t b = 0; b < f->block_count; b++)
      for (size_t i = 0; i < f->blocks[b].inst_count; i++) {
        const plumb_inst *inst = &f->blocks[b].insts[i];
        bool from = gives_nan(inst), read = false;
        for (size_t k = 0; k < inst->operands; k++) {
          plumb_reg reg = plumb_inst_operands(f, inst)[k];
          read |= !plumb_reg_is_const(reg) && reg < f->reg_count && nan[reg];
        }
        readers += read && reads_bits(inst);
        for (size_t k = 0; k < inst->results; k++) {
          bool *of = &nan[plumb_inst_results(f, inst)[k]];
          if (!*of && (from || (read && copies(inst)))) *of = changed = true;
        }
      }
  }
  return readers;
}

static void pay_block(plumb_function *f, uint32_t block) {
  rewriter r = rewriter_start(f, block);
  for (size_t i = 0; i < r.count; i++) {
    plumb_inst inst = r.old[i];
    keep(&r, &inst);
    if (!gives_nan(&inst)) continue;
    plumb_dtype type = (plumb_dtype)inst.type;
    uint64_t bits = type == PLUMB_F32 ? 0x7fc00000 : type == PLUMB_F16 ? 0x7e00 : 0x7fc0;
    plumb_reg result = plumb_inst_results(f, &inst)[0];
    r.b.loc = inst.loc;
    r.b.guard = inst.guard;
    r.b.guard_not = (inst.flags & PLUMB_FLAG_GUARD_NOT) != 0;
    plumb_reg nan = plumb_build_cmp(&r.b, PLUMB_CMP_NAN, type, result, result);
    plumb_reg choice[3] = {nan, plumb_constant(f->program, type, bits), result};
    plumb_build(&r.b, PLUMB_OP_SELECT, type, &result, 1, choice, 3);
    r.b.guard = PLUMB_NO_REG;
    r.b.guard_not = false;
  }
}

/* --- try_wait --- */

/* The block ends with the wait, which branches to itself until it gives true. */
static size_t wait_block(plumb_function *f, uint32_t block) {
  for (size_t i = 0; i < f->blocks[block].inst_count; i++) {
    const plumb_inst *inst = &f->blocks[block].insts[i];
    if (inst->op != PLUMB_OP_MBARRIER ||
        (inst->sub != PLUMB_MBARRIER_TRY && inst->sub != PLUMB_MBARRIER_TRY_PARITY) ||
        inst->guard != PLUMB_NO_REG || !inst->results)
      continue;
    uint32_t loop = plumb_block_create(f), rest = plumb_block_create(f);
    rewriter r = rewriter_start(f, block);
    for (size_t k = 0; k < r.count; k++) {
      if (k == i || k == i + 1) {
        if (k == i) plumb_build_bra(&r.b, loop);
        r.b.block = k == i ? loop : rest;
      }
      plumb_inst kept = r.old[k];
      keep(&r, &kept);
      if (k == i) {
        r.b.loc = kept.loc;
        plumb_build_condbr(&r.b, plumb_inst_results(f, &kept)[0], rest, loop);
      }
    }
    return 1 + wait_block(f, rest);
  }
  return 0;
}

/* --- approximate instructions --- */

static size_t move_block(plumb_function *f, uint32_t block) {
  size_t places = 0;
  for (size_t i = 0; i < f->blocks[block].inst_count; i++) {
    plumb_inst *inst = &f->blocks[block].insts[i];
    if (inst->op != PLUMB_OP_APPROX) continue;
    inst->imm = 1;
    places++;
  }
  return places;
}

/* --- order --- */

static bool is_read(const plumb_function *f, plumb_reg reg) {
  for (size_t b = 0; b < f->block_count; b++)
    for (size_t i = 0; i < f->blocks[b].inst_count; i++) {
      const plumb_inst *inst = &f->blocks[b].insts[i];
      if (inst->guard == reg) return true;
      for (size_t k = 0; k < inst->operands; k++)
        if (plumb_inst_operands(f, inst)[k] == reg) return true;
    }
  return false;
}

/* Atomics whose order shows: all but integer sums, extremes and bits whose old value nobody
 * reads. */
static bool shows_order(const plumb_function *f, const plumb_inst *inst) {
  if (inst->op != PLUMB_OP_ATOMIC) return false;
  bool commutes = inst->sub <= PLUMB_ATOMIC_XOR && !plumb_dtype_is_float((plumb_dtype)inst->type);
  return !commutes || (inst->results && is_read(f, plumb_inst_results(f, inst)[0]));
}

static size_t read_function(plumb_function *f, plumb_freedom which) {
  size_t blocks = f->block_count, places = 0, readers = 0;
  if (which == PLUMB_FREEDOM_NAN) places += readers = readers_of_payloads(f);
  for (uint32_t b = 0; b < blocks; b++) {
    if (which == PLUMB_FREEDOM_CONTRACT) places += contract_block(f, b);
    if (which == PLUMB_FREEDOM_NAN && readers) pay_block(f, b);
    if (which == PLUMB_FREEDOM_TRY_WAIT) places += wait_block(f, b);
    if (which == PLUMB_FREEDOM_APPROX) places += move_block(f, b);
    for (size_t k = 0; which == PLUMB_FREEDOM_ORDER && k < f->blocks[b].inst_count; k++)
      places += shows_order(f, &f->blocks[b].insts[k]);
  }
  if (places) f->other_readings |= 1u << which;
  return places;
}

size_t plumb_program_read_otherwise(plumb_program *p, plumb_freedom which) {
  size_t places = 0;
  for (size_t i = 0; i < p->function_count; i++)
    if (p->functions[i]->kind != PLUMB_HOST) places += read_function(p->functions[i], which);
  return places;
}
