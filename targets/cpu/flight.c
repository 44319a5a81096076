/* Registers in flight: those of a wgmma.mma_async until a wgmma.wait_group (PTX ISA 9.0, 9.7.15).
 * Those of D must not be touched, those of A not be written. */
#include <stdlib.h>

#include "targets/cpu/async.h"

/* Registers of one frame: the number of the group that uses one, a warp. */
struct plumb_flight {
  uint32_t warps;
  uint32_t *write, *read; /* 0: of none */
  uint8_t *dirty;         /* computed since the warp's last wgmma.fence */
};

static void *take(size_t count, size_t bytes) {
  void *p = calloc(count, bytes);
  if (!p) abort();
  return p;
}

static struct plumb_flight *flight_of(plumb_block_run *br, plumb_frame *f) {
  if (f->flight) return f->flight;
  struct plumb_flight *t = take(1, sizeof *t);
  size_t cells = (f->fn->reg_count + 1) * (size_t)br->grid->warps;
  t->warps = br->grid->warps;
  t->write = take(cells, sizeof *t->write);
  t->read = take(cells, sizeof *t->read);
  t->dirty = take(cells, sizeof *t->dirty);
  return f->flight = t;
}

void plumb_flight_destroy(plumb_frame *f) {
  if (!f->flight) return;
  free(f->flight->write);
  free(f->flight->read);
  free(f->flight->dirty);
  free(f->flight);
  f->flight = NULL;
}

static bool trap_register(plumb_block_run *br, const plumb_strand *s, uint32_t warp,
                          const char *what) {
  return plumb_trap_at(br, PLUMB_TRAP_RACE, s->frame, s->pc, (int32_t)(warp * PLUMB_WARP_LANES),
                       "%s", what);
}

static bool in_flight(const plumb_block_run *br, uint32_t group, uint32_t warp) {
  return group > br->async->warps[warp].complete;
}

/* A call passes registers on, and takes results back, as they are. */
static bool passes_on(const plumb_inst *inst) {
  return inst->op == PLUMB_OP_CALL || inst->op == PLUMB_OP_RET ||
         inst->op == PLUMB_OP_CALL_INDIRECT;
}

void plumb_flight_copy(plumb_block_run *br, plumb_frame *to, plumb_reg result, plumb_frame *from,
                       plumb_reg value, const plumb_lanes *on) {
  if (plumb_reg_is_const(value)) return;
  struct plumb_flight *a = from->flight, *b = flight_of(br, to);
  for (uint32_t w = on->lo / PLUMB_WARP_LANES; w * PLUMB_WARP_LANES < on->hi; w++) {
    if (!plumb_lanes_warp(on, w)) continue;
    size_t x = (size_t)value * a->warps + w, y = (size_t)result * b->warps + w;
    b->write[y] = a->write[x];
    b->read[y] = a->read[x];
    b->dirty[y] = a->dirty[x];
  }
}

bool plumb_wgmma_watch(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on) {
  struct plumb_flight *t = s->frame->flight;
  if (!t || inst->op == PLUMB_OP_WGMMA || passes_on(inst)) return true;
  const plumb_reg *results = plumb_inst_results(s->frame->fn, inst);
  const plumb_reg *operands = plumb_inst_operands(s->frame->fn, inst);
  bool move = inst->op == PLUMB_OP_MOV;
  for (uint32_t w = on->lo / PLUMB_WARP_LANES; w * PLUMB_WARP_LANES < on->hi; w++) {
    if (!plumb_lanes_warp(on, w)) continue;
    /* A move gives the register another name, as compilers do: it stays in flight. */
    for (uint32_t i = 0; !move && i < inst->operands; i++)
      if (!plumb_reg_is_const(operands[i]) &&
          in_flight(br, t->write[(size_t)operands[i] * t->warps + w], w))
        return trap_register(br, s, w,
                             "a register is read that a wgmma.mma_async in flight writes: no "
                             "wgmma.wait_group lies between");
    for (uint32_t i = 0; i < inst->results; i++) {
      size_t at = (size_t)results[i] * t->warps + w;
      size_t from =
          move && !plumb_reg_is_const(operands[0]) ? (size_t)operands[0] * t->warps + w : SIZE_MAX;
      if (in_flight(br, t->write[at], w) || in_flight(br, t->read[at], w))
        return trap_register(br, s, w,
                             "a register is written that a wgmma.mma_async in flight uses: no "
                             "wgmma.wait_group lies between");
      t->write[at] = from == SIZE_MAX ? 0 : t->write[from];
      t->read[at] = 0;
      t->dirty[at] = move ? from != SIZE_MAX && t->dirty[from] : 1;
    }
  }
  return true;
}

/* 9.7.15.7.1: wgmma.fence orders what wrote the registers before the product. */
bool plumb_flight_check(plumb_block_run *br, plumb_strand *s, const plumb_flight_use *use) {
  struct plumb_flight *f = flight_of(br, s->frame);
  if (!br->async->warps[use->warp].fenced)
    return trap_register(br, s, use->warp, "no wgmma.fence precedes the first wgmma.mma_async");
  for (unsigned i = 0; i < use->d_count; i++) {
    size_t at = (size_t)use->d[i] * f->warps + use->warp;
    if (f->dirty[at])
      return trap_register(br, s, use->warp,
                           "a register of D was computed after the last wgmma.fence");
    if (in_flight(br, f->read[at], use->warp))
      return trap_register(br, s, use->warp, "a register of D is A of a product in flight");
  }
  for (unsigned i = 0; i < use->a_count; i++) {
    if (plumb_reg_is_const(use->a[i])) continue;
    size_t at = (size_t)use->a[i] * f->warps + use->warp;
    if (f->dirty[at])
      return trap_register(br, s, use->warp,
                           "a register of A was computed after the last wgmma.fence");
    if (in_flight(br, f->write[at], use->warp))
      return trap_register(br, s, use->warp, "a register of A is D of a product in flight");
  }
  return true;
}

void plumb_flight_put(plumb_block_run *br, plumb_strand *s, const plumb_flight_use *use) {
  struct plumb_flight *f = flight_of(br, s->frame);
  uint32_t group = br->async->warps[use->warp].open;
  for (unsigned i = 0; i < use->d_count; i++)
    f->write[(size_t)use->d[i] * f->warps + use->warp] = group;
  for (unsigned i = 0; i < use->a_count; i++)
    if (!plumb_reg_is_const(use->a[i])) f->read[(size_t)use->a[i] * f->warps + use->warp] = group;
}

void plumb_flight_fence(plumb_block_run *br, plumb_frame *frame, uint32_t warp) {
  struct plumb_flight *f = flight_of(br, frame);
  for (size_t r = 0; r < frame->fn->reg_count; r++) f->dirty[r * f->warps + warp] = 0;
}
