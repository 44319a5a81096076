/* The memory of a machine: allocations, their initialised maps, and the layout of
 * 64-bit addresses. It checks nothing by itself; the executor asks it.
 *
 * A generic address is  window (bits 56..63) | place (bits 0..55):
 *   window 0  global and const: allocation id << 32 | offset
 *   window 1  shared: offset in the block's shared memory
 *   window 2  local: offset in the lane's own local memory
 *   window 4  param: offset in the launch's param space
 *   window 5  functions (PLUMB_FUNCTION_WINDOW | function index)
 * An address in space SHARED, LOCAL or PARAM is the plain offset; in space GLOBAL and
 * CONST it is the generic address. Ids are odd, so that an access that runs off either
 * end of an allocation, by up to 4 GiB, never falls into another one.
 */
#ifndef PLUMB_TARGETS_CPU_MEMORY_H
#define PLUMB_TARGETS_CPU_MEMORY_H

#include <pthread.h>

#include "targets/cpu/cpu.h"

enum {
  PLUMB_WINDOW_GLOBAL = 0,
  PLUMB_WINDOW_SHARED = 1,
  PLUMB_WINDOW_LOCAL = 2,
  PLUMB_WINDOW_PARAM = 4,
  PLUMB_WINDOW_FUNCTION = 5
};
static inline uint64_t plumb_window_base(unsigned window) {
  return (uint64_t)window << 56;
}
static inline unsigned plumb_window_of(uint64_t address) {
  return (unsigned)(address >> 56);
}

/* What a byte of a state map says. */
enum { PLUMB_BYTE_UNINITIALISED = 0, PLUMB_BYTE_INITIALISED = 1, PLUMB_BYTE_GAP = 2 };
#define PLUMB_STATE_ONES 0x0101010101010101ull /* eight bytes that are initialised */

#define PLUMB_MAX_ALLOCATION_BYTES ((1ull << 32) - (1ull << 16))
#define PLUMB_MAX_MACHINE_BYTES (48ull << 30)

/* Whose memory holds an allocation's bytes. */
typedef enum plumb_backing {
  PLUMB_BACKING_OWN,   /* malloc */
  PLUMB_BACKING_TWIN,  /* mapped at the allocation's own address: the host can follow it */
  PLUMB_BACKING_CALLER /* somebody else's, who keeps it alive */
} plumb_backing;

typedef struct plumb_allocation {
  uint8_t *data;
  uint8_t *state; /* one PLUMB_BYTE_* a byte */
  uint64_t size_bytes;
  const char *name;
  plumb_backing backing;
  bool live;
  bool read_only;
  bool from_caller;      /* made by plumb_machine_alloc: the caller will read it */
  bool owned_by_program; /* a global of the loaded program */
  bool all_initialised;  /* every byte is initialised: state need not be read */
} plumb_allocation;

/* A hash from an address to the companion stored there (open addressing). */
typedef struct plumb_companion_entry {
  uint64_t address;    /* 0: empty */
  uint32_t size_bytes; /* 0: removed */
  plumb_companion value;
} plumb_companion_entry;
typedef struct plumb_companion_map {
  plumb_companion_entry *entries;
  size_t count, capacity;
  uint32_t sizes; /* of all entries so far, each a bit */
} plumb_companion_map;

#define PLUMB_ALLOCATION_CHUNK 4096u
#define PLUMB_ALLOCATION_CHUNKS 2048u

/* Allocations below this index lie at addresses below 2^47, which the host may map too. */
#define PLUMB_TWIN_INDEXES (1u << 14)

struct plumb_machine {
  plumb_arena *arena;
  const plumb_program *program;
  uint8_t *inst_facts;        /* an instruction of the program, in its order: plumb_inst_fact */
  uint64_t *global_addresses; /* generic address a program global; 0 for shared ones */
  plumb_allocation *chunks[PLUMB_ALLOCATION_CHUNKS]; /* index = id >> 1; never moved */
  uint32_t allocation_count;
  uint32_t *free_indexes; /* reused only when fresh ones have run out */
  size_t free_count, free_capacity;
  bool separate;       /* indexes below PLUMB_TWIN_INDEXES are for twins alone */
  uint32_t twin_index; /* the next one to try */
  uint64_t total_bytes;
  pthread_mutex_t lock;           /* allocation table */
  plumb_companion_map companions; /* of global memory */
};

static inline plumb_allocation *plumb_allocation_at(const plumb_machine *m, uint32_t index) {
  return &m->chunks[index / PLUMB_ALLOCATION_CHUNK][index % PLUMB_ALLOCATION_CHUNK];
}

/* False where the host may write unseen: there every byte stays initialised. */
static inline bool plumb_allocation_tracks(const plumb_allocation *a) {
  return a->backing == PLUMB_BACKING_OWN;
}

/* The live allocation that a window-0 address names by its id, or NULL. */
static inline plumb_allocation *plumb_allocation_of(const plumb_machine *m, uint64_t address) {
  uint64_t id = address >> 32;
  if (!(id & 1) || id >> 1 >= __atomic_load_n(&m->allocation_count, __ATOMIC_ACQUIRE)) return NULL;
  plumb_allocation *a = plumb_allocation_at(m, (uint32_t)(id >> 1));
  return a->live ? a : NULL;
}

/* A program in a machine: where its globals lie. */
struct plumb_module {
  const plumb_program *program;
  uint64_t *global_addresses; /* generic address a program global; 0 for shared ones */
  uint8_t *inst_facts;
};

/* As plumb_machine_alloc; `name` must live as long as the machine. Thread-safe. */
uint64_t plumb_memory_alloc(plumb_machine *m, uint64_t size_bytes, const char *name);
/* False if `address` is not the start of a live allocation. Thread-safe. */
bool plumb_memory_free(plumb_machine *m, uint64_t address);
/* Makes the entries of the twins' indexes; see plumb_machine_separate. */
void plumb_memory_separate(plumb_machine *m);
/* Backing TWIN; see plumb_machine_alloc_twin. */
uint64_t plumb_memory_alloc_twin(plumb_machine *m, uint64_t size_bytes, const char *name);
/* Backing CALLER: `data` holds the bytes. Thread-safe. */
uint64_t plumb_memory_borrow(plumb_machine *m, void *data, uint64_t size_bytes, const char *name);
/* For messages: the allocation nearest to an address that lies outside all, or NULL. */
const plumb_allocation *plumb_memory_nearest(const plumb_machine *m, uint64_t address,
                                             int64_t *out_offset);

void plumb_companion_map_put(plumb_companion_map *map, uint64_t address, uint32_t size_bytes,
                             const plumb_companion *value);
/* The companion stored at exactly this address, or NULL. */
const plumb_companion_entry *plumb_companion_map_get(const plumb_companion_map *map,
                                                     uint64_t address);
/* Whether a companion lies in some of the bytes. */
bool plumb_companion_map_meets(const plumb_companion_map *map, uint64_t address,
                               uint64_t size_bytes);
/* Drops whatever begins in [address, address + size_bytes). */
void plumb_companion_map_clear(plumb_companion_map *map, uint64_t address, uint64_t size_bytes);
void plumb_companion_map_destroy(plumb_companion_map *map);

#endif
