/* Analyses of a finished program: scheduling order of blocks, reconvergence, liveness
 * and register slots, whether blocks depend on each other's order, and the digest. */
#include <stdlib.h>
#include <string.h>

#include "ir/program.h"

/* --- the control-flow graph --- */

typedef struct graph {
  const plumb_function *f;
  plumb_arena *arena;
  uint32_t **successors; /* [0] is the number */
} graph;

static void add_successor(uint32_t *list, uint32_t to) {
  for (uint32_t k = 1; k <= list[0]; k++)
    if (list[k] == to) return;
  list[++list[0]] = to;
}

static graph graph_create(plumb_arena *arena, const plumb_function *f) {
  graph g = {f, arena, PLUMB_NEW_ARRAY(arena, uint32_t *, f->block_count)};
  for (uint32_t b = 0; b < f->block_count; b++) {
    const plumb_block *block = &f->blocks[b];
    size_t most = 1;
    for (uint32_t k = 0; k < block->count; k++) {
      const plumb_inst *inst = &f->insts[block->first + k];
      most += inst->op == PLUMB_OP_SWITCH ? f->tables[inst->imm][0] + 1 : 2;
    }
    uint32_t *list = PLUMB_NEW_ARRAY(arena, uint32_t, most + 1);
    for (uint32_t k = 0; k < block->count; k++) {
      const plumb_inst *inst = &f->insts[block->first + k];
      if (inst->op == PLUMB_OP_BRA || inst->op == PLUMB_OP_CONDBR || inst->op == PLUMB_OP_SWITCH)
        add_successor(list, inst->target);
      if (inst->op == PLUMB_OP_CONDBR) add_successor(list, inst->target2);
      if (inst->op == PLUMB_OP_SWITCH)
        for (uint32_t t = 0; t < f->tables[inst->imm][0]; t++)
          add_successor(list, f->tables[inst->imm][t + 1]);
    }
    g.successors[b] = list;
  }
  return g;
}

/* --- order: Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993 ---
 * A recursive decomposition into strongly connected components in topological order:
 * the blocks of a loop are contiguous, and what follows a loop comes after it. */

typedef struct wto {
  graph *g;
  uint32_t *number; /* depth-first number, 0 unvisited, UINT32_MAX placed */
  uint32_t *stack;
  size_t depth;
  uint32_t next_number;
  uint32_t *reversed; /* blocks, last placed first */
  size_t placed;
} wto;

/* The recursion runs on a stack of its own: a hostile program has deep graphs. */
typedef struct wto_frame {
  uint32_t block, next_successor, head;
  bool loop, in_component;
} wto_frame;

static void wto_visit(wto *w, uint32_t root) {
  size_t capacity = 0, top = 0;
  wto_frame *frames = NULL;
  uint32_t returned = 0;
  bool have_result = false;
#define PUSH(b) \
  do { \
    frames = plumb_arena_grow(w->g->arena, frames, &capacity, top + 1, sizeof *frames); \
    w->stack[w->depth++] = (b); \
    w->number[b] = ++w->next_number; \
    frames[top++] = (wto_frame){(b), 1, w->next_number, false, false}; \
  } while (0)
  PUSH(root);
  while (top) {
    wto_frame *frame = &frames[top - 1];
    const uint32_t *list = w->g->successors[frame->block];
    if (have_result && !frame->in_component && returned <= frame->head) {
      frame->head = returned;
      frame->loop = true;
    }
    have_result = false;
    if (frame->next_successor <= list[0]) {
      uint32_t s = list[frame->next_successor++];
      if (w->number[s] == 0) {
        PUSH(s);
      } else if (!frame->in_component && w->number[s] <= frame->head) {
        frame->head = w->number[s];
        frame->loop = true;
      }
      continue;
    }
    uint32_t b = frame->block;
    if (!frame->in_component) {
      if (frame->head != w->number[b]) { /* inside a component that another block heads */
        returned = frame->head;
        have_result = true;
        top--;
        continue;
      }
      w->number[b] = UINT32_MAX;
      uint32_t popped = w->stack[--w->depth];
      if (frame->loop) {
        while (popped != b) {
          w->number[popped] = 0;
          popped = w->stack[--w->depth];
        }
        frame->in_component = true;
        frame->next_successor = 1;
        continue;
      }
    }
    w->reversed[w->placed++] = b;
    returned = UINT32_MAX;
    have_result = top > 1;
    top--;
  }
#undef PUSH
}

static void compute_order(plumb_function *f, graph *g) {
  size_t n = f->block_count;
  wto w = {.g = g,
           .number = PLUMB_NEW_ARRAY(g->arena, uint32_t, n),
           .stack = PLUMB_NEW_ARRAY(g->arena, uint32_t, n + 1),
           .reversed = PLUMB_NEW_ARRAY(g->arena, uint32_t, n)};
  wto_visit(&w, 0);
  for (size_t i = 0; i < n; i++) f->blocks[i].order = UINT32_MAX;
  for (size_t i = 0; i < w.placed; i++) f->blocks[w.reversed[w.placed - 1 - i]].order = (uint32_t)i;
  uint32_t next = (uint32_t)w.placed; /* unreachable blocks come last */
  for (size_t i = 0; i < n; i++)
    if (f->blocks[i].order == UINT32_MAX) f->blocks[i].order = next++;
}

/* --- reconvergence: Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm", on
 * the reversed graph with one virtual exit (index n) --- */

static void compute_reconvergence(plumb_function *f, graph *g) {
  uint32_t n = (uint32_t)f->block_count, none = UINT32_MAX;
  uint32_t *by_order = PLUMB_NEW_ARRAY(g->arena, uint32_t, n);
  uint32_t *idom = PLUMB_NEW_ARRAY(g->arena, uint32_t, n + 1);
  for (uint32_t b = 0; b < n; b++) by_order[f->blocks[b].order] = b;
  for (uint32_t b = 0; b < n; b++) idom[b] = none;
  idom[n] = n;
  /* The walk goes up the tree by order: the exit is the last. */
  bool changed = true;
  for (uint32_t round = 0; changed && round < n + 2; round++) {
    changed = false;
    for (uint32_t i = n; i-- > 0;) {
      uint32_t b = by_order[i], meet = none;
      const uint32_t *list = g->successors[b];
      for (uint32_t k = 0; k <= list[0]; k++) {
        if (k == 0 && list[0]) continue;
        uint32_t s = list[0] ? list[k] : n;
        if (s != n && idom[s] == none) continue;
        uint32_t a = s, c = meet == none ? s : meet;
        for (uint32_t steps = 0; a != c && steps < 4 * n + 8; steps++) {
          uint32_t oa = a == n ? n : f->blocks[a].order, oc = c == n ? n : f->blocks[c].order;
          if (oa < oc)
            a = idom[a];
          else
            c = idom[c];
        }
        meet = a == c ? a : n;
      }
      if (meet != idom[b]) {
        idom[b] = meet;
        changed = true;
      }
    }
  }
  for (uint32_t b = 0; b < n; b++)
    f->blocks[b].reconverge = idom[b] == none || idom[b] == n ? UINT32_MAX : idom[b];
}

/* --- liveness and slots --- */

typedef struct liveness {
  size_t words;
  uint64_t *live_in, *use, *def; /* block_count * words */
} liveness;

static void set_bit(uint64_t *bits, uint32_t i) {
  bits[i / 64] |= 1ull << (i % 64);
}
static bool get_bit(const uint64_t *bits, uint32_t i) {
  return bits[i / 64] >> (i % 64) & 1;
}

static void note_use(liveness *l, size_t block, plumb_reg r) {
  if (r == PLUMB_NO_REG || plumb_reg_is_const(r)) return;
  if (!get_bit(l->def + block * l->words, r)) set_bit(l->use + block * l->words, r);
}

static liveness compute_liveness(const plumb_function *f, graph *g) {
  liveness l = {.words = (f->reg_count + 63) / 64};
  l.live_in = PLUMB_NEW_ARRAY(g->arena, uint64_t, l.words * f->block_count);
  l.use = PLUMB_NEW_ARRAY(g->arena, uint64_t, l.words * f->block_count);
  l.def = PLUMB_NEW_ARRAY(g->arena, uint64_t, l.words * f->block_count);
  for (size_t b = 0; b < f->block_count; b++) {
    bool left = false; /* a guarded branch before: lanes leave without what is defined here */
    for (uint32_t k = 0; k < f->blocks[b].count; k++) {
      const plumb_inst *inst = &f->insts[f->blocks[b].first + k];
      note_use(&l, b, inst->guard);
      for (size_t o = 0; o < inst->operands; o++) note_use(&l, b, plumb_inst_operands(f, inst)[o]);
      for (size_t o = 0; o < inst->results; o++) {
        plumb_reg r = plumb_inst_results(f, inst)[o];
        /* A guarded definition keeps the old value in the other lanes. */
        if (inst->guard != PLUMB_NO_REG)
          note_use(&l, b, r);
        else if (!left && !get_bit(l.use + b * l.words, r))
          set_bit(l.def + b * l.words, r);
      }
      left |= inst->op == PLUMB_OP_BRA && inst->guard != PLUMB_NO_REG;
    }
  }
  memcpy(l.live_in, l.use, l.words * f->block_count * sizeof(uint64_t));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = f->block_count; b-- > 0;)
      for (uint32_t s = 1; s <= g->successors[b][0]; s++) {
        const uint64_t *in = l.live_in + g->successors[b][s] * l.words;
        for (size_t w = 0; w < l.words; w++) {
          uint64_t now = l.live_in[b * l.words + w] | (in[w] & ~l.def[b * l.words + w]);
          changed |= now != l.live_in[b * l.words + w];
          l.live_in[b * l.words + w] = now;
        }
      }
  }
  return l;
}

typedef struct interval {
  plumb_reg reg;
  uint32_t from, to; /* positions in scheduling order, both included */
} interval;

static void extend(interval *i, uint32_t from, uint32_t to) {
  if (from < i->from) i->from = from;
  if (to > i->to || i->to == UINT32_MAX) i->to = to;
}

/* Intervals over the blocks in scheduling order. Strands of one block are at different
 * positions at once, so an interval covers whole blocks wherever the register lives
 * across a block's edge, and the whole of a loop that it is live into. */
static interval *compute_intervals(const plumb_function *f, graph *g, const liveness *l) {
  interval *all = PLUMB_NEW_ARRAY(g->arena, interval, f->reg_count);
  uint32_t *start = PLUMB_NEW_ARRAY(g->arena, uint32_t, f->block_count + 1);
  uint32_t *by_order = PLUMB_NEW_ARRAY(g->arena, uint32_t, f->block_count);
  for (uint32_t r = 0; r < f->reg_count; r++) all[r] = (interval){r, UINT32_MAX, UINT32_MAX};
  for (uint32_t b = 0; b < f->block_count; b++) by_order[f->blocks[b].order] = b;
  for (uint32_t i = 0; i < f->block_count; i++)
    start[i + 1] = start[i] + f->blocks[by_order[i]].count + 1;
  for (size_t i = 0; i < f->param_count; i++)
    if (f->params[i].reg != PLUMB_NO_REG) extend(&all[f->params[i].reg], 0, start[1]);
  for (uint32_t b = 0; b < f->block_count; b++) {
    uint32_t o = f->blocks[b].order, first = start[o], last = start[o + 1] - 1;
    for (uint32_t k = 0; k < f->blocks[b].count; k++) {
      const plumb_inst *inst = &f->insts[f->blocks[b].first + k];
      const plumb_reg *regs = f->regs_used + inst->first;
      for (uint32_t n = 0; n < (uint32_t)inst->results + inst->operands; n++)
        if (!plumb_reg_is_const(regs[n])) extend(&all[regs[n]], first + k, first + k);
      if (inst->guard != PLUMB_NO_REG && !plumb_reg_is_const(inst->guard))
        extend(&all[inst->guard], first + k, first + k);
    }
    for (uint32_t r = 0; r < f->reg_count; r++)
      if (get_bit(l->live_in + b * l->words, r)) extend(&all[r], first, first);
    for (uint32_t s = 1; s <= g->successors[b][0]; s++) {
      uint32_t to = g->successors[b][s];
      for (uint32_t r = 0; r < f->reg_count; r++)
        if (get_bit(l->live_in + to * l->words, r)) {
          extend(&all[r], last, last);
          /* An edge back: everything from the target to here may run again. */
          if (f->blocks[to].order <= o) extend(&all[r], start[f->blocks[to].order], last);
        }
    }
  }
  return all;
}

static bool is_param(const plumb_function *f, plumb_reg r) {
  for (size_t i = 0; i < f->param_count; i++)
    if (f->params[i].reg == r) return true;
  return false;
}

static int by_start(const void *a, const void *b) {
  const interval *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->reg < y->reg ? -1 : x->reg > y->reg;
}

/* Linear scan (Poletto, Sarkar 1999) without spilling: one free list a storage size. */
static void assign_slots(plumb_function *f, graph *g) {
  liveness l = compute_liveness(f, g);
  interval *all = compute_intervals(f, g, &l);
  f->reg_slots = PLUMB_NEW_ARRAY(f->program->arena, uint32_t, f->reg_count);
  for (uint32_t r = 0; r < f->reg_count; r++)
    if (get_bit(l.live_in, r) && !is_param(f, r)) f->reads_unwritten = true;
  qsort(all, f->reg_count, sizeof *all, by_start);
  interval *active = PLUMB_NEW_ARRAY(g->arena, interval, f->reg_count);
  uint32_t *free_slots[17] = {0};
  size_t free_count[17] = {0}, active_count = 0;
  for (int s = 1; s <= 16; s *= 2)
    free_slots[s] = PLUMB_NEW_ARRAY(g->arena, uint32_t, f->reg_count);
  uint32_t bytes = 0;
  for (size_t i = 0; i < f->reg_count; i++) {
    interval now = all[i];
    unsigned size = plumb_dtype_bytes(f->reg_types[now.reg]);
    if (now.from == UINT32_MAX) continue; /* never mentioned: no instruction asks for its slot */
    size_t kept = 0;
    for (size_t a = 0; a < active_count; a++) {
      unsigned old = plumb_dtype_bytes(f->reg_types[active[a].reg]);
      if (active[a].to < now.from)
        free_slots[old][free_count[old]++] = f->reg_slots[active[a].reg];
      else
        active[kept++] = active[a];
    }
    active_count = kept;
    if (free_count[size]) {
      f->reg_slots[now.reg] = free_slots[size][--free_count[size]];
    } else {
      bytes = (bytes + size - 1) / size * size;
      f->reg_slots[now.reg] = bytes;
      bytes += size;
    }
    active[active_count++] = now;
  }
  f->slot_bytes = (bytes + 15) / 16 * 16;
}

/* --- order between blocks of a launch --- */

static bool orders_globally(const plumb_inst *inst) {
  const uint32_t strong = PLUMB_FLAG_VOLATILE | PLUMB_FLAG_RELAXED | PLUMB_FLAG_ACQUIRE |
                          PLUMB_FLAG_RELEASE | PLUMB_FLAG_SEQ_CST;
  if (inst->op == PLUMB_OP_FENCE) return true;
  bool global = inst->space == PLUMB_SPACE_GLOBAL || inst->space == PLUMB_SPACE_GENERIC;
  if (inst->op == PLUMB_OP_ATOMIC) return global;
  return (inst->op == PLUMB_OP_LOAD || inst->op == PLUMB_OP_STORE) && global &&
         (inst->flags & strong);
}

static void find_global_order(plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++) {
    plumb_function *f = p->functions[i];
    for (size_t k = 0; k < f->inst_count; k++)
      if (orders_globally(&f->insts[k]) || f->insts[k].op == PLUMB_OP_CALL_INDIRECT)
        f->uses_global_order = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < p->function_count; i++) {
      plumb_function *f = p->functions[i];
      for (size_t k = 0; k < f->inst_count && !f->uses_global_order; k++)
        if (f->insts[k].op == PLUMB_OP_CALL && p->functions[f->insts[k].target]->uses_global_order)
          changed = f->uses_global_order = true;
    }
  }
}

void plumb_program_analyse(plumb_program *p) {
  for (size_t i = 0; i < p->function_count; i++) {
    plumb_function *f = p->functions[i];
    if (f->external || !f->block_count) continue;
    plumb_arena *scratch = plumb_arena_create();
    graph g = graph_create(scratch, f);
    compute_order(f, &g);
    compute_reconvergence(f, &g);
    assign_slots(f, &g);
    plumb_arena_destroy(scratch);
  }
  find_global_order(p);
}
