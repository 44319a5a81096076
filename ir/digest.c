/* Digests of what is executed: instructions, constants, globals, tables. Locations, names
 * of registers and unused strings do not count. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ir/program.h"

/* XXH3: a change detector of 128 bits, no security. */
typedef struct hasher {
  XXH3_state_t *state;
} hasher;

static hasher begin(void) {
  hasher h = {XXH3_createState()};
  if (!h.state) abort(); /* as an arena: exhausted memory ends the process */
  XXH3_128bits_reset(h.state);
  return h;
}
static plumb_digest end(hasher *h) {
  XXH128_hash_t hash = XXH3_128bits_digest(h->state);
  XXH3_freeState(h->state);
  return (plumb_digest){hash.low64, hash.high64};
}
static void add_bytes(hasher *h, const void *data, size_t length) {
  XXH3_128bits_update(h->state, data, length);
}
static void add_word(hasher *h, uint64_t word) {
  add_bytes(h, &word, sizeof word);
}
static void add_string(hasher *h, const char *text) {
  add_bytes(h, text, strlen(text) + 1);
}

static void add_reg(hasher *h, const plumb_program *p, plumb_reg r) {
  if (r != PLUMB_NO_REG && plumb_reg_is_const(r)) {
    const plumb_const *c = &p->consts[plumb_reg_const_index(r)];
    add_bytes(h, (uint64_t[]){1ull << 63 | c->type, c->bits, c->hi}, 3 * sizeof(uint64_t));
  } else {
    add_word(h, r);
  }
}

/* `target` and `imm` stand for the instruction's: where these are numbers of something in
 * the program, what they name may have another number elsewhere. */
static void add_inst(hasher *h, const plumb_program *p, const plumb_function *f,
                     const plumb_inst *inst, uint32_t target, uint64_t imm) {
  uint64_t words[] = {
      inst->op | (uint64_t)inst->type << 16 | (uint64_t)inst->type2 << 24 |
          (uint64_t)inst->round << 32 | (uint64_t)inst->space << 40 | (uint64_t)inst->sub << 48 |
          (uint64_t)inst->align_log2 << 56,
      inst->flags | (uint64_t)inst->results << 32 | (uint64_t)inst->operands << 48,
      target | (uint64_t)inst->target2 << 32,
  };
  add_bytes(h, words, sizeof words);
  bool text = inst->op == PLUMB_OP_CALL || inst->op == PLUMB_OP_LAUNCH ||
              inst->op == PLUMB_OP_UNSUPPORTED || inst->op == PLUMB_OP_PRINT;
  if (text && inst->imm >= 0 && (size_t)inst->imm < p->string_count)
    add_string(h, p->strings[inst->imm]);
  else
    add_word(h, imm);
  add_reg(h, p, inst->guard);
  for (uint32_t k = 0; k < (uint32_t)inst->results + inst->operands; k++)
    add_reg(h, p, f->regs_used[inst->first + k]);
}

/* What a function is, but for its instructions. */
static void add_frame(hasher *h, const plumb_function *f) {
  add_word(h, (uint64_t)f->kind | (uint64_t)f->external << 8 | (uint64_t)f->param_count << 16);
  add_word(h, f->frame_bytes);
  for (int i = 0; i < 3; i++) add_word(h, f->required_cluster[i]);
  for (size_t i = 0; i < f->param_count; i++) {
    add_word(h, f->params[i].type | (uint64_t)f->params[i].size_bytes << 8);
    add_word(h, f->params[i].offset | (uint64_t)f->params[i].reg << 32);
  }
  add_bytes(h, f->reg_types, f->reg_count * sizeof *f->reg_types);
  for (size_t b = 0; b < f->block_count; b++) add_word(h, f->blocks[b].count);
  for (size_t t = 0; t < f->table_count; t++)
    add_bytes(h, f->tables[t], (f->tables[t][0] + 1) * sizeof(uint32_t));
}

plumb_digest plumb_program_digest(const plumb_program *p) {
  hasher h = begin();
  for (size_t i = 0; i < p->function_count; i++) {
    const plumb_function *f = p->functions[i];
    add_string(&h, f->name);
    add_frame(&h, f);
    for (size_t k = 0; k < f->inst_count; k++)
      add_inst(&h, p, f, &f->insts[k], f->insts[k].target, (uint64_t)f->insts[k].imm);
  }
  for (size_t i = 0; i < p->global_count; i++) {
    const plumb_global *g = &p->globals[i];
    add_string(&h, g->name);
    add_word(&h, g->space | (uint64_t)g->zeroed << 8 | (uint64_t)g->dynamic << 9);
    add_word(&h, g->size_bytes);
    add_word(&h, g->align);
    if (g->init) add_bytes(&h, g->init, g->size_bytes);
    for (size_t r = 0; r < g->reloc_count; r++) {
      add_word(&h, g->relocs[r].offset);
      add_string(&h, g->relocs[r].symbol);
      add_word(&h, (uint64_t)g->relocs[r].addend);
    }
  }
  return end(&h);
}

/* Functions in the order in which they are first called. */
typedef struct closure {
  const plumb_function **functions;
  uint32_t count;
  uint32_t *numbers; /* a function of the program: 1 + its place above, 0 if not reached */
} closure;

static uint32_t number_of(closure *c, const plumb_function *f) {
  if (!c->numbers[f->index]) {
    c->functions[c->count++] = f;
    c->numbers[f->index] = c->count;
  }
  return c->numbers[f->index];
}

bool plumb_kernel_digest(const plumb_program *p, const plumb_function *kernel,
                         const uint64_t *addresses, plumb_digest *out) {
  closure c = {.functions = calloc(p->function_count, sizeof(plumb_function *)),
               .numbers = calloc(p->function_count, sizeof(uint32_t))};
  if (!c.functions || !c.numbers) abort();
  hasher h = begin();
  bool direct = true;
  number_of(&c, kernel);
  for (uint32_t i = 0; i < c.count && direct; i++) {
    const plumb_function *f = c.functions[i];
    add_frame(&h, f);
    for (size_t k = 0; k < f->inst_count && direct; k++) {
      const plumb_inst *inst = &f->insts[k];
      uint32_t target = inst->target;
      uint64_t imm = (uint64_t)inst->imm;
      if (inst->op == PLUMB_OP_CALL) target = number_of(&c, p->functions[target]);
      if (inst->op == PLUMB_OP_ADDRESS) imm = addresses[imm];
      direct = inst->op != PLUMB_OP_CALL_INDIRECT;
      add_inst(&h, p, f, inst, target, imm);
    }
  }
  free(c.functions);
  free(c.numbers);
  *out = end(&h);
  return direct;
}
