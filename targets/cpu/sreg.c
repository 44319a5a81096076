/* The special registers (PTX ISA 9.0, 10): what a lane reads of its place in the launch. */
#include "targets/cpu/exec.h"

/* Bytes of the block's variables. */
static uint64_t shared_used(const plumb_grid *g) {
  uint64_t used = 0;
  for (uint32_t i = PLUMB_SHARED_BASE; i < g->shared_bytes; i++)
    used += g->shared_state[i] != PLUMB_BYTE_GAP;
  return used;
}

/* The same in all lanes, or false for what differs. */
static bool uniform_sreg(const plumb_block_run *br, plumb_sreg which, uint64_t *out) {
  const plumb_launch *l = &br->grid->launch;
  switch (which) {
    case PLUMB_SREG_NTID_X:
    case PLUMB_SREG_NTID_Y:
    case PLUMB_SREG_NTID_Z:
      *out = l->block[which - PLUMB_SREG_NTID_X];
      return true;
    case PLUMB_SREG_CTAID_X:
    case PLUMB_SREG_CTAID_Y:
    case PLUMB_SREG_CTAID_Z:
      *out = br->block[which - PLUMB_SREG_CTAID_X];
      return true;
    case PLUMB_SREG_NCTAID_X:
    case PLUMB_SREG_NCTAID_Y:
    case PLUMB_SREG_NCTAID_Z:
      *out = l->grid[which - PLUMB_SREG_NCTAID_X];
      return true;
    case PLUMB_SREG_CLUSTERID_X:
    case PLUMB_SREG_CLUSTERID_Y:
    case PLUMB_SREG_CLUSTERID_Z:
      which -= PLUMB_SREG_CLUSTERID_X;
      *out = br->block[which] / br->grid->cluster[which];
      return true;
    case PLUMB_SREG_NCLUSTERID_X:
    case PLUMB_SREG_NCLUSTERID_Y:
    case PLUMB_SREG_NCLUSTERID_Z:
      which -= PLUMB_SREG_NCLUSTERID_X;
      *out = l->grid[which] / br->grid->cluster[which];
      return true;
    case PLUMB_SREG_CLUSTER_CTAID_X:
    case PLUMB_SREG_CLUSTER_CTAID_Y:
    case PLUMB_SREG_CLUSTER_CTAID_Z:
      which -= PLUMB_SREG_CLUSTER_CTAID_X;
      *out = br->block[which] % br->grid->cluster[which];
      return true;
    case PLUMB_SREG_CLUSTER_NCTAID_X:
    case PLUMB_SREG_CLUSTER_NCTAID_Y:
    case PLUMB_SREG_CLUSTER_NCTAID_Z:
      *out = br->grid->cluster[which - PLUMB_SREG_CLUSTER_NCTAID_X];
      return true;
    case PLUMB_SREG_CLUSTER_CTARANK:
      *out = br->rank;
      return true;
    case PLUMB_SREG_IS_EXPLICIT_CLUSTER: /* the launch or the kernel asks for one */
      *out = l->cluster[0] || br->grid->fn->required_cluster[0];
      return true;
    case PLUMB_SREG_CLUSTER_NCTARANK:
      *out = br->grid->cluster_blocks;
      return true;
    case PLUMB_SREG_NSMID:
      *out = 1;
      return true;
    case PLUMB_SREG_NWARPID:
      *out = br->grid->warps;
      return true;
    case PLUMB_SREG_WARP_LANES:
      *out = PLUMB_WARP_LANES;
      return true;
    case PLUMB_SREG_ENVREG1:
      *out = l->workspace >> 32;
      return true;
    case PLUMB_SREG_ENVREG2:
      *out = (uint32_t)l->workspace;
      return true;
    case PLUMB_SREG_DYNAMIC_SMEM_BYTES:
      *out = l->shared_bytes;
      return true;
    case PLUMB_SREG_TOTAL_SMEM_BYTES: /* in units of allocation (10.30), here those of sm_80 up */
      *out = br->grid->host ? 0 : (shared_used(br->grid) + 127) / 128 * 128;
      return true;
    case PLUMB_SREG_TID_X:
    case PLUMB_SREG_TID_Y:
    case PLUMB_SREG_TID_Z:
    case PLUMB_SREG_LANEID:
    case PLUMB_SREG_WARPID:
    case PLUMB_SREG_LANEMASK_EQ:
    case PLUMB_SREG_LANEMASK_LT:
    case PLUMB_SREG_LANEMASK_LE:
    case PLUMB_SREG_LANEMASK_GT:
    case PLUMB_SREG_LANEMASK_GE:
      return false;
    default:
      *out = 0;
      return true; /* smid, gridid */
  }
}

static uint32_t sreg_of_lane(const plumb_block_run *br, plumb_sreg which, uint32_t lane) {
  uint32_t bit = 1u << lane % PLUMB_WARP_LANES, below = bit - 1;
  switch (which) {
    case PLUMB_SREG_TID_X:
    case PLUMB_SREG_TID_Y:
    case PLUMB_SREG_TID_Z:
      return br->grid->thread[which - PLUMB_SREG_TID_X][lane];
    case PLUMB_SREG_LANEID:
      return lane % PLUMB_WARP_LANES;
    case PLUMB_SREG_WARPID:
      return lane / PLUMB_WARP_LANES;
    case PLUMB_SREG_LANEMASK_EQ:
      return bit;
    case PLUMB_SREG_LANEMASK_LT:
      return below;
    case PLUMB_SREG_LANEMASK_LE:
      return below | bit;
    case PLUMB_SREG_LANEMASK_GT:
      return ~(below | bit);
    default:
      return ~below;
  }
}

void plumb_exec_sreg(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on) {
  plumb_reg r = plumb_inst_results(s->frame->fn, inst)[0];
  uint8_t *lanes = plumb_reg_lanes(br, s->frame, r);
  unsigned bytes = plumb_dtype_bytes(s->frame->fn->reg_types[r]);
  plumb_sreg which = (plumb_sreg)inst->sub;
  uint64_t v = 0;
  bool uniform = true;
  if (plumb_sreg_is_clock(which))
    v = plumb_timer_read(br, s);
  else
    uniform = uniform_sreg(br, which, &v);
  const uint16_t *list = plumb_lanes_list(on, br->list_room);
  if (on->dense && uniform) {
    plumb_lanes_set(lanes, bytes, v, on->lo, on->hi);
  } else if (bytes == 4 && on->dense && which <= PLUMB_SREG_TID_Z) {
    memcpy(lanes + (size_t)on->lo * 4, br->grid->thread[which - PLUMB_SREG_TID_X] + on->lo,
           (size_t)on->count * 4);
  } else {
    for (uint32_t i = 0; i < on->count; i++) {
      if (!uniform) v = sreg_of_lane(br, which, list[i]);
      memcpy(lanes + (size_t)list[i] * bytes, &v, bytes);
    }
  }
  if (br->undef) plumb_undef_clear(s->frame, r, on);
  if (br->run->options.companions)
    for (uint32_t i = 0; i < on->count; i++) plumb_companion_set(br, s->frame, r, list[i], NULL);
}
