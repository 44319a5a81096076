/* Copies in flight, mbarriers and the blocks of a cluster, inside the executor.
 *
 * An asynchronous copy is issued by a lane and done later by nobody that runs: it reads
 * and writes at some time before what waits for it goes on. Here it is done at the last
 * moment, when a lane waits for its group or when its bytes complete a phase that a lane
 * asks for. Until then its source and destination carry marks, and an access that touches
 * them is a race, whatever the schedule. Its own accesses then get tags of an agent, a
 * number beyond those of lanes, which only a wait makes known (race.h).
 *
 * Proxies (PTX ISA 9.0, 8.6 and 8.10): what was written through the generic proxy is
 * seen by a copy of the asynchronous proxy only if a fence.proxy.async lies between, on
 * the path from the write to the copy. What a copy did needs no fence: waiting for it
 * implies one.
 */
#ifndef PLUMB_TARGETS_CPU_ASYNC_H
#define PLUMB_TARGETS_CPU_ASYNC_H

#include "targets/cpu/race.h"

#define PLUMB_MARK_BYTES 64u
#define PLUMB_GLOBAL_MARKS 4096u

typedef struct plumb_async_op plumb_async_op;

/* Bytes of one granule that something in flight reads or writes, or an mbarrier (op NULL). */
typedef struct plumb_mark {
  uint64_t granule; /* generic address / PLUMB_MARK_BYTES; shared: without a rank */
  uint64_t bytes;   /* a bit each */
  bool write;
  plumb_async_op *op;
  struct plumb_mark *next, **link;
  plumb_async *home; /* whose table it is in */
} plumb_mark;

/* Bytes that are moved. from 0: filled with the op's pattern; to 0: read, not written. */
typedef struct plumb_segment {
  uint64_t to, from; /* generic; shared ones with a rank unless the issuer's own */
  uint32_t size_bytes;
} plumb_segment;

/* What one cp.async copies for several lanes: row i of `row_bytes` for lanes[i], which are
 * ascending. */
typedef struct plumb_cp_rows {
  plumb_lanes set;
  uint32_t count, row_bytes, capacity;
  uint16_t *lanes;
  uint64_t *to, *from; /* generic; from 0: zeros */
  plumb_mark *marks;   /* room for two a row */
} plumb_cp_rows;

typedef struct plumb_mbarrier_object plumb_mbarrier_object;

struct plumb_async_op {
  plumb_block_run *br; /* the issuer */
  plumb_async_op *next, **link;
  uint32_t lane, pc; /* pc: program-wide */
  uint32_t agent;
  bool generic_proxy; /* cp.async */
  bool product;       /* wgmma: it only reads; `group` is of the warp */
  bool own;           /* it ends as accesses of the lane itself */
  bool has_read;      /* the source is in `data` */
  bool done;          /* of rows that are about to go */
  uint8_t reduce;     /* 1 + plumb_atomic, 0: copies */
  uint8_t type;       /* of what is reduced, and of the fill */
  bool nan_fill;
  bool round_tf32; /* f32 is rounded to tf32 on its way */
  uint64_t serial;
  uint64_t group;              /* of the lane; UINT64_MAX: it ends at an mbarrier */
  plumb_mbarrier_object *ends; /* in `owner`'s shared memory */
  plumb_block_run *owner;
  uint32_t tx_bytes;
  uint64_t size_bytes; /* of all segments */
  uint8_t *data, *state;
  plumb_cp_rows *rows; /* in place of segments: it is of several lanes */
  plumb_mark *marks;
  uint32_t mark_count, segment_count, segment_room;
  plumb_mark few_marks[2]; /* of a copy of one row: its marks and its data need no more room */
  uint8_t few_bytes[32];
  plumb_segment segments[];
};

/* A cp.async.mbarrier.arrive that has not happened yet. */
typedef struct plumb_cp_arrival {
  plumb_block_run *br;
  uint32_t lane;
  uint64_t serial; /* of the lane's last cp.async before it */
} plumb_cp_arrival;

/* PTX ISA 9.0, 9.7.13.15.1 to 9.7.13.15.5. */
struct plumb_mbarrier_object {
  uint32_t offset; /* in its block's shared memory */
  bool live;
  uint32_t expected, pending;
  int32_t tx_bytes;
  uint64_t phase;
  uint64_t asked;      /* by the instruction of that number, while copies could complete it */
  uint64_t init_block; /* who made it: every user must come after */
  uint32_t init_tag;
  plumb_clock arrived, complete; /* released in this phase; in all complete ones */
  plumb_mark mark;
  plumb_async_op **ops; /* that end here, in the order of issue */
  size_t op_count, op_capacity;
  plumb_cp_arrival *arrivals;
  size_t arrival_count, arrival_capacity;
  plumb_mbarrier_object *next;
};

/* One lane's copies, in the order of issue, and the number of the group that it fills. */
typedef struct plumb_lane_async {
  uint64_t cp_group, bulk_group;
  uint64_t cluster_arrivals; /* 1 + the phase of barrier.cluster that it arrived in last */
  plumb_async_op *first, **end;
} plumb_lane_async;

/* One warp's groups of wgmma, numbered from 1. */
typedef struct plumb_warp_async {
  uint32_t open, complete; /* the one that is being filled; the last that was waited for */
  bool fenced;             /* some wgmma.fence was executed */
} plumb_warp_async;

struct plumb_async {
  plumb_mark **shared; /* a granule of the block's shared memory */
  uint32_t granules, shared_count;
  plumb_mark **global; /* by a hash of the granule */
  uint32_t global_count;
  plumb_mbarrier_object *barriers;
  plumb_lane_async *lanes;
  plumb_warp_async *warps;
  plumb_async_op *rows, **rows_end;   /* of several lanes, in the order of issue */
  plumb_async_op *spare, *spare_rows; /* ended ones, for the next */
  uint32_t next_agent[2];
  uint64_t serial;
};

/* Blocks that run together and see each other's shared memory. */
struct plumb_cluster {
  plumb_block_run *blocks; /* by rank; of a block alone NULL */
  uint32_t count;
  uint32_t slot;  /* among the clusters that are resident */
  uint64_t phase; /* of barrier.cluster */
  plumb_clock arriving, complete;
};

/* --- async.c --- */

void plumb_async_create(plumb_block_run *br);
void plumb_async_destroy(plumb_block_run *br);
void plumb_async_begin(plumb_block_run *br);
/* The block has ended: what it copies to global memory is done. */
void plumb_async_finish(plumb_block_run *br);

/* An op of `br`'s lane with room for `segments`; the caller fills it and starts it. */
plumb_async_op *plumb_async_op_create(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                                      uint32_t segments);
/* One of several lanes, with its rows, as yet none. */
plumb_async_op *plumb_async_rows_create(plumb_block_run *br, const plumb_strand *s);
/* Becomes an op a lane, each in the lane's order of issue. */
void plumb_async_rows_split(plumb_async_op *op);
/* Checks bounds and order of its accesses, and marks them. False after a trap: it is gone. */
bool plumb_async_start(plumb_block_run *br, plumb_strand *s, plumb_async_op *op);
/* An op that was not started is gone. */
void plumb_async_drop(plumb_async_op *op);
/* Values that the op writes instead of a source's. */
void plumb_async_give(plumb_async_op *op, const uint8_t *values, uint64_t size_bytes);
/* Reads the source; then nothing that is written there matters. */
void plumb_async_read(plumb_async_op *op);
/* Reads, if that is still to do, writes, and ends the op; what it did is known to whoever
 * joins `to` (NULL: to nobody). A cp.async that ends at its own lane's wait leaves its
 * accesses in `own` (NULL: it ends elsewhere), which are the lane's. */
typedef struct plumb_async_own {
  struct plumb_async_touch {
    uint64_t address;
    uint32_t size_bytes;
    uint16_t lane;
    uint8_t how; /* PLUMB_TOUCH_* */
  } *items;
  size_t count, capacity;
} plumb_async_own;
void plumb_async_finish_op(plumb_async_op *op, plumb_async_own *own, plumb_clock *to);
/* Notes them, with no other access in between, and empties the list. False after a race trap. */
bool plumb_async_touch_own(plumb_block_run *br, const plumb_strand *s, plumb_async_own *own);

/* A copy took companions along; of what was rounded or reduced in floats nothing is known. */
void plumb_async_companions(plumb_async_op *op, uint32_t lane, const plumb_segment *g,
                            const plumb_place *to, const uint8_t *data);

/* --- mark.c --- */

void plumb_mark_put(plumb_async *home, plumb_mark *mark);
void plumb_mark_remove(plumb_mark *mark);
/* The bits of the bytes from `address` on, up to `end` or the end of its granule. */
static inline uint64_t plumb_mark_bits(uint64_t address, uint64_t end) {
  uint64_t first = address % PLUMB_MARK_BYTES, room = PLUMB_MARK_BYTES - first;
  uint64_t bytes = end - address < room ? end - address : room;
  return (bytes == 64 ? UINT64_MAX : (1ull << bytes) - 1) << first;
}
/* The first mark that the bytes of a granule, or [address, address + size_bytes), meet;
 * `write`: any, else only one that writes. Two reductions may meet. */
const plumb_mark *plumb_mark_meet(plumb_async *a, uint64_t granule, uint64_t bytes, bool write,
                                  bool reduces);
const plumb_mark *plumb_mark_find(plumb_async *a, uint64_t address, uint64_t size_bytes, bool write,
                                  bool reduces);
/* Whose table has the marks of an address, and the address there. NULL: nobody's. */
plumb_async *plumb_mark_home(plumb_block_run *br, uint64_t address, uint64_t *out_local);
/* Traps: an access of [address, address + size_bytes) by `lane` meets the mark. False. */
bool plumb_mark_trap(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                     uint64_t size_bytes, const plumb_mark *m, const char *what);

/* --- cp_async.c --- */

bool plumb_exec_cp_async(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on);
bool plumb_exec_cp_group(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on);
/* From now on every copy in flight is of one lane. */
void plumb_cp_async_split(plumb_block_run *br);

/* --- mbarrier.c --- */

bool plumb_exec_mbarrier(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on);
/* The live mbarrier at a generic address, for `lane`; NULL after a trap. */
plumb_mbarrier_object *plumb_mbarrier_find(plumb_block_run *br, const plumb_strand *s,
                                           uint32_t lane, uint64_t address,
                                           plumb_block_run **out_owner);
void plumb_mbarrier_add_op(plumb_mbarrier_object *m, plumb_async_op *op);
void plumb_mbarrier_destroy(plumb_mbarrier_object *m);

/* --- bulk.c, tma.c --- */

/* Every operation of this header that acts lane by lane. */
bool plumb_exec_async(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on);

/* Operand i of one lane; whether none is undefined; alignment and window of an address. False
 * after a trap. */
uint64_t plumb_async_operand(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                             uint32_t i, uint32_t lane);
bool plumb_async_check_operands(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                                const plumb_lanes *on);
bool plumb_async_check_align(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                             uint64_t address, uint64_t align);
bool plumb_async_check_window(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                              uint64_t address, unsigned window);

bool plumb_exec_tensor_copy(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                            const plumb_lanes *on);
bool plumb_exec_tensormap_replace(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                                  const plumb_lanes *on);

/* The op ends at the mbarrier at generic address `barrier`, of the block of rank `rank`
 * when it is sent to several (UINT32_MAX: as the address says). */
bool plumb_async_ends_at(plumb_block_run *br, const plumb_strand *s, plumb_async_op *op,
                         uint64_t barrier, uint32_t rank, uint64_t tx_bytes);

/* --- wgmma.c --- */

/* The product of one warp, whose 32 lanes from `first` up are all there; its fences and
 * groups. False after a trap. */
bool plumb_exec_wgmma(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first);
bool plumb_exec_wgmma_group(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                            uint32_t first);
/* --- flight.c --- */

/* The registers of one warp's product. */
typedef struct plumb_flight_use {
  uint32_t warp; /* of the block */
  const plumb_reg *d, *a;
  unsigned d_count, a_count; /* a_count 0: A lies in shared memory */
} plumb_flight_use;

/* Whether a product may use them now; false after a trap. */
bool plumb_flight_check(plumb_block_run *br, plumb_strand *s, const plumb_flight_use *use);
/* They belong to the group that the warp is filling. */
void plumb_flight_put(plumb_block_run *br, plumb_strand *s, const plumb_flight_use *use);
/* wgmma.fence: what was computed before it is known to products. */
void plumb_flight_fence(plumb_block_run *br, plumb_frame *frame, uint32_t warp);
/* Before any other instruction of a frame with registers in flight: false if it touches one. */
bool plumb_wgmma_watch(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on);
/* What a call copies from one frame to another stays in flight. */
void plumb_flight_copy(plumb_block_run *br, plumb_frame *to, plumb_reg result, plumb_frame *from,
                       plumb_reg value, const plumb_lanes *on);
void plumb_flight_destroy(plumb_frame *f);

/* --- cluster.c --- */

/* Whose shared memory a generic shared address lies in; NULL: of no block of the cluster,
 * or of one that has ended. */
plumb_block_run *plumb_shared_owner(plumb_block_run *br, uint64_t address);
bool plumb_exec_map_block(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                          const plumb_lanes *on); /* MAP_BLOCK, BLOCK_RANK */
bool plumb_exec_cluster_barrier(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst);
void plumb_cluster_begin(plumb_cluster *c);
/* Linear number of the block of that rank. */
void plumb_cluster_block(const plumb_grid *g, uint64_t cluster, uint32_t rank, uint64_t *out);
/* Sets g->cluster from the launch and the kernel.
 * PLUMB_BAD_INPUT  they differ, or the grid is not made of such clusters */
plumb_status plumb_cluster_size(plumb_grid *g, plumb_diag *diag);

/* The same byte of the block of that rank. */
static inline uint64_t plumb_shared_of_rank(uint64_t address, uint32_t rank) {
  return (address & ~((uint64_t)PLUMB_RANK_MASK << PLUMB_RANK_SHIFT)) | (uint64_t)(rank + 1)
                                                                            << PLUMB_RANK_SHIFT;
}
static inline uint32_t plumb_shared_offset(uint64_t address) {
  return (uint32_t)(address & ((1u << PLUMB_RANK_SHIFT) - 1));
}

#endif
