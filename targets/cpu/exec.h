/* The executor's inside: what a running block consists of, shared by exec.c (dispatch),
 * strand.c (scheduling), access.c (loads and stores), atomic.c, sync.c, undef.c
 * (undefined values), race.c and launch.c. Nobody else includes it.
 *
 * A block_run belongs to one thread and is used for one block after another. Lanes are
 * linear thread indexes in the block; a host function is a block of one lane.
 */
#ifndef PLUMB_TARGETS_CPU_EXEC_H
#define PLUMB_TARGETS_CPU_EXEC_H

#include <string.h>

#include "ir/base/clones.h"
#include "targets/cpu/memory.h"

#define PLUMB_MAX_LANES 1024u
#define PLUMB_WARP_LANES 32u
#define PLUMB_MAX_WARPS (PLUMB_MAX_LANES / PLUMB_WARP_LANES)
#define PLUMB_BARRIERS 16u
#define PLUMB_SHARED_BASE 1024u /* shared addresses below it belong to the system */
#define PLUMB_SHARED_GAP 16u    /* unaddressable bytes between shared variables */
#define PLUMB_LOCAL_BASE 64u    /* so that a null pointer is no local address */
#define PLUMB_MAX_SHARED_BYTES (227u * 1024u)
/* A shared address of the cluster's window holds 1 + the rank of its block in these bits;
 * 0: the block that uses it. */
#define PLUMB_RANK_SHIFT 24u
#define PLUMB_RANK_MASK 31u
#define PLUMB_MAX_CLUSTER_BLOCKS 16u

/* --- sets of lanes --- */

typedef struct plumb_lanes {
  uint64_t words[PLUMB_MAX_LANES / 64];
  uint32_t lo, hi; /* every lane of the set lies in [lo, hi); both ends are tight */
  uint32_t count;
  bool dense; /* count == hi - lo */
} plumb_lanes;

static inline bool plumb_lanes_has(const plumb_lanes *s, uint32_t lane) {
  return (s->words[lane / 64] >> (lane % 64)) & 1;
}
static inline void plumb_lanes_put(plumb_lanes *s, uint32_t lane) {
  s->words[lane / 64] |= 1ull << (lane % 64);
}
/* The 32 bits of one warp. */
static inline uint32_t plumb_lanes_warp(const plumb_lanes *s, uint32_t warp) {
  return (uint32_t)(s->words[warp / 2] >> (warp % 2 * 32));
}
/* Recomputes lo, hi, count and dense from the words. */
void plumb_lanes_settle(plumb_lanes *s);
void plumb_lanes_fill(plumb_lanes *s, uint32_t count); /* lanes 0 .. count - 1 */
void plumb_lanes_add(plumb_lanes *s, const plumb_lanes *other);
void plumb_lanes_remove(plumb_lanes *s, const plumb_lanes *other);
/* The members in ascending order: *out_count numbers, in static storage or in `room`. */
const uint16_t *plumb_lanes_list(const plumb_lanes *s, uint16_t *room);

/* --- frames and strands --- */

typedef struct plumb_frame plumb_frame;
struct plumb_frame {
  const plumb_function *fn;
  plumb_frame *caller;
  uint32_t call_pc; /* the CALL in the caller */
  uint32_t depth;
  uint32_t lane_count; /* lanes inside this frame or below it */
  uint32_t pc_base;    /* program-wide number of fn's instruction 0 */
  uint8_t *regs;
  size_t regs_bytes;
  uint32_t **origins;              /* a register: NULL (all lanes defined) or one word a lane:
                                      0 defined, else 1 + program-wide pc of the culprit */
  plumb_companion **companions;    /* a register: NULL (exact) or one a lane */
  struct plumb_flight *flight;     /* registers that wgmma uses (wgmma.c); NULL: none */
  uint64_t local_base;             /* byte 0 of the function's static local memory */
  uint64_t *saved_top;             /* a lane: its local top before the call */
  uint64_t serial;                 /* block in which the registers were last cleared */
  plumb_frame *children, *sibling; /* live callees; sibling also links free frames */
};

typedef enum plumb_strand_state {
  PLUMB_STRAND_READY,
  PLUMB_STRAND_AT_BARRIER, /* waits until the barrier is complete */
  PLUMB_STRAND_AT_WARP     /* waits for lanes of its warps at the same instruction */
} plumb_strand_state;

typedef struct plumb_strand {
  uint32_t pc;
  plumb_strand_state state;
  plumb_frame *frame;
  plumb_lanes lanes;
  uint32_t penalty; /* number of used-up budgets: lower goes first */
  uint32_t backs;   /* backward branches since the last budget */
  uint32_t barrier; /* while AT_BARRIER */
  uint64_t tie;     /* decides among equals; from the seed */
  bool ran;         /* has run since the last look for idleness */
  bool polled;      /* has read memory strongly since then */
  uint32_t poll_pc; /* 1 + program-wide pc of the last strong read */
  uint32_t wait_pc; /* 1 + program-wide pc of the clock that was read last, if it waits for time */
  uint64_t wait_from; /* what that clock showed when it was first read there */
} plumb_strand;

/* --- races --- */

/* An access tag: program-wide pc (high 32 bits), atomic bit, who (11 bits), time (20 bits).
 * `who` is a lane, or 1024 + warp: several lanes of that warp, or PLUMB_WHO_MANY, or an
 * agent: an asynchronous copy of the generic proxy, or of the asynchronous one. */
#define PLUMB_WHO_WARP 1024u
#define PLUMB_WHO_MANY 1056u
#define PLUMB_WHO_AGENT 1057u
#define PLUMB_WHO_ASYNC 1552u
#define PLUMB_WHO_END 2048u
#define PLUMB_TAG_TIME_BITS 20u
#define PLUMB_TAG_TIME ((1u << PLUMB_TAG_TIME_BITS) - 1)
#define PLUMB_TAG_ATOMIC 0x80000000u

#define PLUMB_RACE_PAGE_BYTES 1024u
#define PLUMB_RACE_PAGE_WORDS (PLUMB_RACE_PAGE_BYTES / 4)
#define PLUMB_RACE_GROUP_WORDS 16u

/* Tags of one stretch of memory, one a word, or one a byte once something narrower than
 * a word has been accessed in it. */
typedef struct plumb_race_page {
  uint64_t key; /* address / PLUMB_RACE_PAGE_BYTES + 1; 0: free */
  bool by_byte;
  size_t words;
  uint32_t groups; /* bit g: something in words [16 g, 16 g + 16) was touched (global) */
  uint64_t *write, *read;
  uint32_t *write_block, *read_block;      /* ordered grids: 1 + linear block, 0 none */
  struct plumb_party **writers, **readers; /* who, where a tag says several (party.c); or NULL */
} plumb_race_page;

typedef struct plumb_race plumb_race;       /* race.c */
typedef struct plumb_async plumb_async;     /* async.h */
typedef struct plumb_cluster plumb_cluster; /* async.h */

/* What is found out of every instruction once, when a program is loaded. */
typedef enum plumb_inst_fact {
  PLUMB_INST_EXECUTES = 1,    /* class ALU: plumb_exec_alu can execute it */
  PLUMB_INST_MAY_POISON = 2,  /* a shift, division or conversion with undefined results */
  PLUMB_INST_AWAITS_TIME = 4, /* reads a clock in a loop that does nothing but wait for it */
  PLUMB_INST_GUESSES = 8      /* a load that only guesses what a swap will find (guess.c) */
} plumb_inst_fact;
/* `used`: some instruction has one of its results as an operand. */
uint8_t plumb_inst_facts_of(const plumb_inst *inst, bool used); /* exec.c */
/* The only instruction that defines `r`; NULL: none, or several. */
const plumb_inst *plumb_single_definition(const plumb_function *f, plumb_reg r); /* guess.c */
/* The definition of `r` that `inst` finds: the last one before it in its block, else the only one
 * of the function; NULL: none, or which one is not plain to see. It may have a guard. */
const plumb_inst *plumb_definition_before(const plumb_function *f, const plumb_inst *inst,
                                          plumb_reg r);
/* Adds PLUMB_INST_GUESSES to the facts of the function's instructions, where it holds. */
void plumb_find_guesses(const plumb_function *f, uint8_t *facts);

/* --- a running block --- */

typedef struct plumb_run plumb_run;   /* one plumb_machine_call or _launch */
typedef struct plumb_grid plumb_grid; /* one launch of a kernel, or one host call */
typedef struct plumb_block_run plumb_block_run;

/* Where undefined values that lie in memory came from: an address (local memory: with
 * the lane in bits 32 and up) to an origin. Consulted for uninitialised bytes only. */
typedef struct plumb_origin_map {
  struct plumb_origin_entry {
    uint64_t address; /* 0: empty */
    uint32_t origin;  /* 0: dropped */
  } *entries;
  size_t count, capacity;
} plumb_origin_map;
void plumb_origin_map_destroy(plumb_origin_map *map);

/* An undefined value that a kernel stored where the caller will read. */
typedef struct plumb_leak {
  uint64_t address;
  uint64_t block;
  uint32_t size_bytes;
  uint32_t lane;
  uint32_t origin; /* 1 + program-wide pc */
  uint32_t store;  /* program-wide pc */
  int64_t block_index[3];
} plumb_leak;

struct plumb_run {
  plumb_machine *machine;
  const plumb_program *program;
  plumb_run_options options;
  plumb_counters counters; /* of finished blocks; under `lock` */
  uint64_t time;           /* of the device, at the end of the last launch */
  uint64_t steps;          /* atomic: lane-instructions of finished quanta */
  plumb_trap trap;
  char trap_message[512];
  plumb_status status; /* not OK: stopped as unsupported or at a limit; `diag` says why */
  plumb_diag diag;
  uint32_t *pc_bases; /* a function: program-wide number of its first instruction */
  pthread_mutex_t lock;
  uint64_t *results; /* as in plumb_run_result */
  bool *result_undefined;
  plumb_companion *result_companions;
  size_t result_count;
  plumb_origin_map origins; /* global memory; under `lock` */
  plumb_leak *leaks;
  size_t leak_count, leak_capacity;
};

/* Lane-instructions that a run may execute (launch.c). */
uint64_t plumb_step_limit(const plumb_run *run);
void plumb_counters_add(plumb_counters *to, const plumb_counters *from); /* block.c */

struct plumb_grid {
  plumb_run *run;
  const plumb_function *fn;
  plumb_launch launch;
  uint32_t lanes; /* a block */
  uint32_t warps;
  uint32_t *thread[3]; /* x, y, z of every lane */
  uint64_t block_count;
  bool host;
  const uint8_t *params; /* param space */
  const uint8_t *params_state;
  const uint64_t *args;     /* host: a word a parameter */
  uint32_t *shared_offsets; /* a global: its shared address, 0 if not laid out */
  uint32_t shared_bytes;    /* end of the window */
  bool has_shared;          /* some of it can be addressed */
  uint8_t *shared_state;    /* its state map at the start of a block */
  bool ordered;             /* blocks are interleaved on one thread */
  bool sequential;          /* blocks run on one thread, one after another */
  bool races;
  bool async;              /* asynchronous copies or mbarriers occur */
  uint32_t cluster[3];     /* blocks of a cluster */
  uint32_t cluster_blocks; /* their product */
  bool fences;             /* fences, acquire or release occur: keep clocks */
  bool parts;          /* lanes may be ordered one by one: by mbarriers, or barriers of a part */
  bool one_timer;      /* blocks follow one another: one time for all of them */
  uint64_t time;       /* at which a block starts or goes on */
  uint64_t end_time;   /* the latest at which one has ended; under the run's lock */
  uint64_t next_block; /* atomic */
  uint64_t trap_block; /* atomic: the lowest that trapped, UINT64_MAX none */
  struct plumb_finished *finished; /* global accesses of finished blocks (interval.c) */
  struct plumb_online *online;     /* ordered: tags of global memory (race.c) */
};

typedef struct plumb_barrier_state {
  uint32_t arrived;  /* lanes */
  uint32_t expected; /* 0: all lanes that live */
  uint32_t popc, anded, ored;
  plumb_lanes who;
  uint32_t sub; /* plumb_barrier of what is being done */
} plumb_barrier_state;

typedef enum plumb_block_end {
  PLUMB_BLOCK_YIELDED,
  PLUMB_BLOCK_FINISHED,
  PLUMB_BLOCK_TRAPPED /* or stopped as unsupported, or by another block's trap */
} plumb_block_end;

struct plumb_block_run {
  plumb_run *run;
  plumb_grid *grid;
  plumb_machine *machine;
  const plumb_program *program;
  uint32_t lanes;
  uint64_t index; /* linear block */
  uint32_t block[3];
  uint64_t serial; /* counts blocks run here: stamps of cleared frames */
  plumb_lanes live;

  plumb_strand **strands; /* strands[0 .. strand_count): in use */
  uint32_t strand_count, strand_capacity;
  plumb_strand *current;
  plumb_frame **free_frames; /* a function */
  uint64_t frame_bytes;
  uint64_t random;

  uint8_t **consts;    /* a constant: its lanes, or NULL */
  uint8_t *scratch[4]; /* results under a mask: lanes * 16 bytes each */
  uint64_t *addresses; /* a lane: effective generic address of the current access */
  uint64_t *offsets;   /* a list position: offset of the current access in its view */
  uint16_t *list_room;
  plumb_lanes guarded;
  const uint8_t *select_condition; /* a copy of the running SELECT's condition (undef.c) */

  uint8_t *shared, *shared_state;
  uint8_t *local, *local_state;   /* 8-byte granules of all lanes side by side */
  uint64_t local_bytes;           /* a lane */
  uint64_t *local_top;            /* a lane */
  plumb_companion_map companions; /* of shared and local memory */

  plumb_barrier_state barriers[PLUMB_BARRIERS];
  bool used_barriers;      /* `barriers` or `effects` are not all zero */
  uint32_t parked_aligned; /* lanes that wait at aligned barriers */
  uint32_t *effects;       /* a lane: 1 + pc of an effect made while a warp-mate waited */

  plumb_origin_map origins; /* shared and local memory */
  bool undef;               /* some value was undefined: origins are carried */
  bool watch;               /* compare before storing, to see whether anything changes */
  uint64_t changes;
  uint64_t *back_counts; /* a program-wide pc: backward branches taken, when counted */
  uint64_t quantum;      /* backward branches left before yielding */

  struct plumb_mma_layout *mma_layouts; /* a list: those of the MMAs that ran here */

  plumb_race *race;
  const struct plumb_access *storing; /* the running STORE, or NULL */
  plumb_async *async;                 /* NULL: the kernel has nothing asynchronous */
  plumb_cluster *cluster;             /* NULL: a block alone */
  uint32_t rank;                      /* in the cluster */
  plumb_counters counters;
  uint64_t steps_told;
  uint64_t time_offset; /* of the clock from counters.instructions */
  plumb_trap trap;
  char trap_message[512];
  bool trapped, unsupported;
  plumb_status unsupported_status; /* PLUMB_UNSUPPORTED or PLUMB_LIMIT */
  char unsupported_what[512];
  plumb_loc unsupported_loc;
};

/* --- small helpers --- */

static inline uint8_t *plumb_reg_lanes(const plumb_block_run *br, const plumb_frame *f,
                                       plumb_reg r) {
  return f->regs + (size_t)f->fn->reg_slots[r] * br->lanes;
}
/* Gives lanes [lo, hi) one value of 1, 2, 4 or 8 bytes. */
void plumb_lanes_set(uint8_t *lanes, unsigned bytes, uint64_t value, uint32_t lo, uint32_t hi);
uint8_t *plumb_const_lanes(plumb_block_run *br, uint32_t index);
/* Lanes of an operand, which may be a constant. */
static inline const uint8_t *plumb_operand(plumb_block_run *br, const plumb_frame *f, plumb_reg r) {
  if (plumb_reg_is_const(r)) {
    uint32_t index = plumb_reg_const_index(r);
    return br->consts[index] ? br->consts[index] : plumb_const_lanes(br, index);
  }
  return plumb_reg_lanes(br, f, r);
}
/* Lane `l` of an operand, zero-extended from its storage size (up to 8 bytes). */
static inline uint64_t plumb_lane_bits(const uint8_t *lanes, unsigned bytes, uint32_t l) {
  uint64_t v = 0;
  uint32_t word;
  switch (bytes) { /* whole loads: a copy of 4 bytes that is read back as 8 stalls */
    case 1:
      return lanes[l];
    case 4:
      memcpy(&word, lanes + (size_t)l * 4, 4);
      return word;
    default:
      memcpy(&v, lanes + (size_t)l * bytes, bytes);
      return v;
  }
}

/* Records a trap (the first one counts) and returns false, so that handlers can
 * `return plumb_trap_at(...)`. `inst` may be NULL. */
bool plumb_trap_at(plumb_block_run *br, plumb_trap_kind kind, const plumb_frame *f, uint32_t pc,
                   int32_t lane, const char *format, ...) PLUMB_PRINTF(6, 7);
bool plumb_unsupported_at(plumb_block_run *br, const plumb_frame *f, uint32_t pc, const char *what);
/* The instruction with a program-wide number. */
const plumb_inst *plumb_inst_at(const plumb_run *run, uint32_t program_pc,
                                const plumb_function **out_fn);

/* --- strand.c --- */

plumb_strand *plumb_strand_create(plumb_block_run *br, uint32_t pc, plumb_frame *frame,
                                  const plumb_lanes *lanes);
void plumb_strand_destroy(plumb_block_run *br, plumb_strand *s);
/* Splits `part` off `s` into a new ready strand at `pc`; `s` keeps the rest (not empty). */
plumb_strand *plumb_strand_split(plumb_block_run *br, plumb_strand *s, const plumb_lanes *part,
                                 uint32_t pc);
/* Merges `s` with the strands of the same state that stand at the same place. */
void plumb_strand_merge(plumb_block_run *br, plumb_strand *s);
/* Sets br->current to the strand that goes next; false if none is ready. */
bool plumb_strand_pick(plumb_block_run *br);
/* Ends lanes: they leave their frames and the block. `part` is all or some of s. */
bool plumb_lanes_exit(plumb_block_run *br, plumb_strand *s, const plumb_lanes *part);
/* Makes parked strands try again. */
void plumb_strand_wake(plumb_block_run *br);

plumb_frame *plumb_frame_create(plumb_block_run *br, const plumb_function *fn, plumb_frame *caller,
                                uint32_t call_pc, uint64_t local_base);
void plumb_frame_leave(plumb_block_run *br, plumb_frame *f, uint32_t lanes);

/* --- exec.c --- */

/* Runs the block until it ends or has taken `quantum` backward branches. */
plumb_block_end plumb_block_continue(plumb_block_run *br, uint64_t quantum);

/* --- sreg.c --- */

/* Executes an SREG for the lanes of `on`. */
void plumb_exec_sreg(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on);

/* --- timer.c --- */

static inline bool plumb_sreg_is_clock(plumb_sreg which) {
  return which == PLUMB_SREG_CLOCK || which == PLUMB_SREG_CLOCK64 ||
         which == PLUMB_SREG_GLOBALTIMER;
}

/* What a clock of the block shows. */
static inline uint64_t plumb_timer_now(const plumb_block_run *br) {
  return br->time_offset + br->counters.instructions;
}
/* The same for the instruction at s->pc, which reads it. */
uint64_t plumb_timer_read(plumb_block_run *br, plumb_strand *s);
/* Lets the clock show at least `time`. */
void plumb_timer_raise(plumb_block_run *br, uint64_t time);

/* --- place.c, local.c, access.c --- */

/* Memory that one lane accesses. */
typedef struct plumb_place {
  uint8_t *data, *state; /* of the first byte; NULL: local memory, not contiguous */
  uint64_t address;      /* generic address, for tags and messages */
  unsigned window;
  plumb_allocation *allocation;
} plumb_place;

/* Bytes of one window that lanes access: offset = address - base. */
typedef struct plumb_view {
  uint64_t base;
  uint64_t size_bytes;
  uint8_t *data, *state;
  plumb_allocation *allocation; /* window global */
  unsigned window;
  bool read_only;
  bool check_state;
} plumb_view;
/* The view that generic address lies in; false if there is none. Not for local memory. */
bool plumb_view_find(plumb_block_run *br, uint64_t address, plumb_view *out);
/* Whether rows at these generic addresses, aligned to their size (a power of two), all lie in
 * bounds of one view, of which what is set in *out then is known. */
bool plumb_rows_find(plumb_block_run *br, const uint64_t *rows, uint32_t count, uint64_t row_bytes,
                     bool write, plumb_view *out);
bool plumb_trap_bounds(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                       uint64_t size_bytes);
bool plumb_trap_misaligned(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                           uint64_t address, uint64_t size_bytes);
bool plumb_exec_load(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on);
bool plumb_exec_store(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on);
/* Finds [address, address + size_bytes) for one lane; false after a trap. */
bool plumb_place_find(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                      uint64_t size_bytes, bool write, plumb_place *out);
/* Copies bytes and states of one lane out of and into memory; the place was found. */
void plumb_place_read(const plumb_block_run *br, const plumb_place *place, uint32_t lane,
                      uint64_t size_bytes, uint8_t *data, uint8_t *state);
void plumb_place_write(plumb_block_run *br, const plumb_place *place, uint32_t lane,
                       uint64_t size_bytes, const uint8_t *data, const uint8_t *state);
/* Fills br->addresses with the generic addresses of operand 0 + imm in the lanes of `on`. */
bool plumb_addresses(plumb_block_run *br, const plumb_strand *s, const plumb_inst *inst,
                     const plumb_lanes *on);
/* Byte `off` of one lane's local memory (or of its state map); 8 bytes are contiguous. */
uint8_t *plumb_local_granule(const plumb_block_run *br, uint8_t *of, uint32_t lane, uint64_t off);
bool plumb_has_gap(const uint8_t *state, uint64_t size_bytes);
/* Moves elements between registers and one offset of every lane's local memory, `on`
 * being dense. False, and nothing is done, if it needs a closer look lane by lane. */
bool plumb_local_move(plumb_block_run *br, plumb_frame *f, const plumb_lanes *on,
                      const plumb_reg *regs, uint32_t elements, unsigned bytes, uint64_t offset,
                      bool write);
/* The highest end of local memory of these lanes; setting it for a call, which keeps what it
 * was in `saved`; and setting it back. `saved` has an entry a lane of the block. */
uint64_t plumb_local_highest(const plumb_block_run *br, const plumb_lanes *on);
void plumb_local_raise(plumb_block_run *br, const plumb_lanes *on, uint64_t *saved, uint64_t end);
void plumb_local_lower(plumb_block_run *br, const plumb_lanes *on, const uint64_t *saved);
/* Grows local memory to `bytes` a lane; a stack-overflow trap beyond the limit. */
bool plumb_local_reserve(plumb_block_run *br, const plumb_strand *s, uint64_t bytes);
void plumb_local_forget(plumb_block_run *br, const plumb_lanes *on, uint64_t from, uint64_t to);

/* --- memops.c --- */

/* MEMCPY, MEMSET, ADDRESS, FRAME, ALLOCA, TO_GENERIC, FROM_GENERIC, IS_SPACE, ALLOC, FREE. */
bool plumb_exec_memory(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on);

/* --- atomic.c --- */

bool plumb_exec_atomic(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       const plumb_lanes *on);
/* One step: the new value of `old` under operation `sub` of `type`. */
uint64_t plumb_atomic_apply(plumb_atomic sub, plumb_dtype type, uint64_t old, uint64_t value,
                            uint64_t swap);

/* --- sync.c --- */

/* Runs the SYNC instruction at s->pc for all lanes of s and moves pc on, or parks. */
bool plumb_exec_sync(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst);
/* After lanes ended: completes barriers that waited only for them. */
bool plumb_barriers_check(plumb_block_run *br);
/* Nothing is ready: says why. */
bool plumb_trap_stuck(plumb_block_run *br);
/* A strand makes an effect while warp-mates wait at an aligned barrier. */
void plumb_effect_note(plumb_block_run *br, const plumb_strand *s);
bool plumb_exit_check(plumb_block_run *br, const plumb_strand *s, const plumb_lanes *part);

/* --- matrix.c --- */

/* The MMA of one warp, whose 32 lanes from `first` up are all there; false after a trap. */
bool plumb_exec_mma(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst, uint32_t first);
void plumb_mma_layouts_destroy(plumb_block_run *br);
/* MATRIX_LOAD, MATRIX_STORE, MATRIX_MOVE of one warp; false after a trap. */
bool plumb_exec_matrix(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                       uint32_t first);

/* --- undef.c --- */

/* Gives the results the origins of the operands, after one ALU instruction. */
void plumb_undef_flow(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on);
void plumb_undef_copy(plumb_block_run *br, plumb_frame *to, plumb_reg result,
                      const plumb_frame *from, plumb_reg value, const plumb_lanes *on);
void plumb_undef_set(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane,
                     uint32_t origin);
void plumb_undef_clear(plumb_frame *f, plumb_reg r, const plumb_lanes *on);
static inline uint32_t plumb_undef_get(const plumb_frame *f, plumb_reg r, uint32_t lane) {
  if (plumb_reg_is_const(r) || r == PLUMB_NO_REG || !f->origins || !f->origins[r]) return 0;
  return f->origins[r][lane];
}
/* Traps if operand `r` is undefined in a lane of `on`; `use` completes "is used as ...". */
bool plumb_undef_check(plumb_block_run *br, const plumb_strand *s, plumb_reg r,
                       const plumb_lanes *on, const char *use);

/* Keeps the origin of an undefined value that is stored at `address`, and finds it again
 * when its bytes are loaded (`origin` otherwise). */
void plumb_undef_stored(plumb_block_run *br, uint32_t lane, uint64_t address, uint32_t origin);
uint32_t plumb_undef_loaded(plumb_block_run *br, uint32_t lane, uint64_t address, uint32_t origin);
/* Local memory [from, to) of the lanes is fresh again. */
void plumb_undef_forget(plumb_block_run *br, const plumb_lanes *on, uint64_t from, uint64_t to);
/* Notes that `bytes` of an undefined value went to global memory. */
void plumb_undef_leak(plumb_block_run *br, const plumb_strand *s, uint32_t lane, uint64_t address,
                      uint32_t size_bytes, uint32_t origin);
/* At the end of a run: a place of the caller's that still holds such a value is a trap. */
void plumb_undef_finish(plumb_run *run);

/* --- poison.c --- */

/* False: no result of this instruction can be poison on its own account. */
bool plumb_may_poison(const plumb_inst *inst);
/* The lanes in which the operands make the result poison; false if none. Called before it
 * executes, because a result may take an operand's place. *out is set where there are any,
 * its counts are not. */
bool plumb_poison_find(const plumb_block_run *br, const plumb_inst *inst,
                       const void *const *operands, const plumb_lanes *on, plumb_lanes *out);
/* Adds the lanes whose float result is what NNAN or NINF excludes to those that were
 * `found`: whether there are any. */
bool plumb_poison_results(const plumb_inst *inst, const void *result, const plumb_lanes *on,
                          bool found, plumb_lanes *out);

/* --- companion.c --- */

void plumb_companion_alu(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                         const plumb_lanes *on, const void *const *results,
                         const void *const *operands);
void plumb_companion_set(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane,
                         const plumb_companion *value); /* NULL: exact */
const plumb_companion *plumb_companion_get(const plumb_frame *f, plumb_reg r, uint32_t lane);
void plumb_companion_copy(plumb_block_run *br, plumb_frame *to, plumb_reg result,
                          const plumb_frame *from, plumb_reg value, const plumb_lanes *on);
/* Companions of what one lane loads and stores. */
void plumb_companion_load(plumb_block_run *br, plumb_frame *f, plumb_reg result, uint32_t lane,
                          const plumb_place *place, unsigned bytes);
void plumb_companion_store(plumb_block_run *br, const plumb_frame *f, plumb_reg value,
                           uint32_t lane, const plumb_place *place, unsigned bytes);
void plumb_companion_move(plumb_block_run *br, uint32_t lane, const plumb_place *to,
                          const plumb_place *from, uint64_t bytes);
void plumb_companion_drop(plumb_block_run *br, uint32_t lane, const plumb_place *to,
                          uint64_t bytes);
/* Of the element at a place; `out` stays as it is where that is exact. */
void plumb_companion_read(plumb_block_run *br, uint32_t lane, const plumb_place *place,
                          uint32_t bytes, plumb_companion *out);
/* What lies there may be anything. */
void plumb_companion_forget(plumb_block_run *br, uint32_t lane, const plumb_place *to,
                            uint32_t bytes);
/* Whether a companion lies in some of the bytes; whether a register has none, or a certain
 * one; a register that may hold anything. */
bool plumb_companion_uncertain_at(plumb_block_run *br, uint32_t lane, const plumb_place *place,
                                  uint64_t bytes);
bool plumb_companion_is_exact(const plumb_frame *f, plumb_reg r, uint32_t lane);
void plumb_companion_set_unknown(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane);
/* An element of a matrix, with bits `word`, in a register of a lane. A register that packs
 * several has no companion for each: an uncertain one says nothing of them. `put` follows
 * plumb_companion_set(..., NULL), which made the register exact. */
plumb_companion plumb_companion_element(const plumb_frame *f, plumb_reg r, uint32_t lane,
                                        plumb_mma_type type, uint64_t word);
plumb_companion plumb_companion_exact_element(plumb_mma_type type, uint64_t word);
void plumb_companion_put_element(plumb_block_run *br, plumb_frame *f, plumb_reg r, uint32_t lane,
                                 plumb_mma_type type, const plumb_companion *value);

/* --- race.c, clock.c, interval.c --- */

bool plumb_race_create(plumb_block_run *br);
void plumb_race_destroy(plumb_block_run *br);
void plumb_race_begin(plumb_block_run *br); /* a fresh block */
/* Ends the block: its global accesses go to the grid. */
bool plumb_race_end(plumb_block_run *br);
/* How memory is touched: strong accesses (atomic, volatile, relaxed) do not race with
 * each other. */
enum { PLUMB_TOUCH_READ = 0, PLUMB_TOUCH_WRITE = 1, PLUMB_TOUCH_STRONG = 2 };
/* Lane list[i] touches size_bytes at generic address base + offsets[i], which lies in
 * `window` (shared or global), for i in [0, count). False after a race trap. */
bool plumb_race_touch(plumb_block_run *br, const plumb_strand *s, const uint16_t *list,
                      uint32_t count, unsigned window, uint64_t base, const uint64_t *offsets,
                      uint64_t size_bytes, unsigned how);
/* The lanes have met: what each did before is ordered before what each does next. */
void plumb_race_meet(plumb_block_run *br, const plumb_lanes *who, bool whole_block);
void plumb_race_fence(plumb_block_run *br, const plumb_lanes *on);
/* A strong access (volatile, relaxed, atomic): publishes and acquires through `address`. */
void plumb_race_strong(plumb_block_run *br, uint32_t lane, unsigned window, uint64_t address,
                       uint32_t flags, bool reads, bool writes);
/* False, after a trap, where the access meets what is in flight. `base`: as race_touch. */
bool plumb_async_allows(plumb_block_run *br, const plumb_strand *s, const uint16_t *list,
                        uint32_t count, unsigned window, uint64_t base, const uint64_t *offsets,
                        uint64_t size_bytes, unsigned how);
/* After all blocks: conflicts between blocks. */
void plumb_race_finish(plumb_grid *grid);
void plumb_race_grid_destroy(plumb_grid *grid);

/* --- block.c --- */

void plumb_block_create_run(plumb_block_run *br, plumb_grid *grid);
void plumb_block_destroy_run(plumb_block_run *br);
/* Puts block `index` at its entry. */
void plumb_block_start(plumb_block_run *br, uint64_t index);
/* After FINISHED or TRAPPED: gives counters, trap and accesses to the run. */
void plumb_block_finish(plumb_block_run *br);

/* --- idle.c --- */

/* Whether the instruction reads a clock in a loop that computes nothing else but when to leave
 * it, by what the clock shows. */
bool plumb_awaits_time(const plumb_function *fn, uint32_t pc);

/* Looks for running blocks that only wait. */
typedef struct plumb_idle {
  uint64_t changes; /* seen at the last look */
  uint64_t loaded;  /* bytes of global memory, seen then too */
  uint64_t hash;    /* kept state */
  uint64_t looks, next_keep;
} plumb_idle;
/* Called when each of the blocks has taken its quantum. True: they wait for ever; the
 * trap is recorded in one of them, or the limit where `unstarted` blocks do not fit.
 * resident: no other blocks run, so nobody else writes global memory. */
bool plumb_idle_look(plumb_idle *idle, plumb_block_run *blocks, uint32_t count, bool resident,
                     uint64_t unstarted);

/* --- launch.c --- */

/* Runs `fn` over a grid; traps and counters go to `run`. */
plumb_status plumb_grid_run(plumb_run *run, const plumb_function *fn, const plumb_launch *launch,
                            const uint8_t *params, const uint8_t *params_state, plumb_diag *diag);
/* Runs a host function on one lane; results go to `run`. */
void plumb_host_run(plumb_run *run, const plumb_function *fn, const uint64_t *args);
bool plumb_exec_launch(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst);
/* Tells the run how many steps were taken; false when the limit is passed. */
bool plumb_steps_tell(plumb_block_run *br);

/* --- print.c --- */

bool plumb_exec_print(plumb_block_run *br, plumb_strand *s, const plumb_inst *inst,
                      const plumb_lanes *on);

#endif
