/* A digest of what is executed: instructions, constants, globals, tables. Locations,
 * names of registers and unused strings do not count. */
#include <string.h>

#include "ir/program.h"

/* FNV-1a in two lanes of 64 bits with different offsets; a change detector, no security. */
typedef struct hasher {
  uint64_t lo, hi;
} hasher;

static void add_bytes(hasher *h, const void *data, size_t length) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < length; i++) {
    h->lo = (h->lo ^ bytes[i]) * 0x100000001b3u;
    h->hi = (h->hi ^ (bytes[i] + 0x9du)) * 0x9e3779b97f4a7c15u;
    h->hi ^= h->hi >> 29;
  }
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
    add_word(h, 1ull << 63 | c->type);
    add_word(h, c->bits);
    add_word(h, c->hi);
  } else {
    add_word(h, r);
  }
}

static void add_inst(hasher *h, const plumb_program *p, const plumb_function *f,
                     const plumb_inst *inst) {
  add_word(h, inst->op | (uint64_t)inst->type << 16 | (uint64_t)inst->type2 << 24 |
                  (uint64_t)inst->round << 32 | (uint64_t)inst->space << 40 |
                  (uint64_t)inst->sub << 48 | (uint64_t)inst->align_log2 << 56);
  add_word(h, inst->flags | (uint64_t)inst->results << 32 | (uint64_t)inst->operands << 48);
  add_word(h, inst->target | (uint64_t)inst->target2 << 32);
  bool text = inst->op == PLUMB_OP_CALL || inst->op == PLUMB_OP_LAUNCH ||
              inst->op == PLUMB_OP_UNSUPPORTED || inst->op == PLUMB_OP_PRINT;
  if (text && inst->imm >= 0 && (size_t)inst->imm < p->string_count)
    add_string(h, p->strings[inst->imm]);
  else
    add_word(h, (uint64_t)inst->imm);
  add_reg(h, p, inst->guard);
  for (uint32_t k = 0; k < (uint32_t)inst->results + inst->operands; k++)
    add_reg(h, p, f->regs_used[inst->first + k]);
}

static void add_function(hasher *h, const plumb_program *p, const plumb_function *f) {
  add_string(h, f->name);
  add_word(h, (uint64_t)f->kind | (uint64_t)f->external << 8 | (uint64_t)f->param_count << 16);
  add_word(h, f->frame_bytes);
  for (int i = 0; i < 3; i++) add_word(h, f->required_cluster[i]);
  for (size_t i = 0; i < f->param_count; i++) {
    add_word(h, f->params[i].type | (uint64_t)f->params[i].size_bytes << 8);
    add_word(h, f->params[i].offset | (uint64_t)f->params[i].reg << 32);
  }
  for (size_t b = 0; b < f->block_count; b++) add_word(h, f->blocks[b].count);
  for (size_t k = 0; k < f->inst_count; k++) add_inst(h, p, f, &f->insts[k]);
  for (size_t t = 0; t < f->table_count; t++)
    add_bytes(h, f->tables[t], (f->tables[t][0] + 1) * sizeof(uint32_t));
}

plumb_digest plumb_program_digest(const plumb_program *p) {
  hasher h = {0xcbf29ce484222325u, 0x6c62272e07bb0142u};
  for (size_t i = 0; i < p->function_count; i++) add_function(&h, p, p->functions[i]);
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
  return (plumb_digest){h.lo, h.hi};
}
