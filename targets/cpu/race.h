/* Happens-before, inside: tags (race.c, race_page.c, party.c), what lanes know of each other
 * (clock.c), regular accesses and irregular reads without tags (trail.c, reads.c), and accesses of
 * finished blocks (interval.c, conflict.c).
 *
 * Every block has a time that goes up when lanes meet or publish. An access is stamped
 * (lane, time). Lane l's next access comes after an access of lane k at time t when
 *   t < floor                   all lanes of the block have met since, or
 *   k == l, or
 *   t < warp_floor of both      their warp has met since, or
 *   t < what l's clock says of k: fences, acquire and release, barriers of a part.
 * Accesses of two blocks are ordered by clocks only. Strong ones do not conflict with each other;
 * a plain load that only guesses what a compare-and-swap will find counts as one (guess.c).
 */
#ifndef PLUMB_TARGETS_CPU_RACE_H
#define PLUMB_TARGETS_CPU_RACE_H

#include "targets/cpu/footprint.h"

/* What is known of one block: its accesses before `floor`, and of single lanes more. */
typedef struct plumb_clock_entry {
  uint64_t block;
  uint32_t floor;
  uint32_t lane_count, lane_capacity;
  struct plumb_clock_lane {
    uint32_t lane, time;
  } *lanes; /* ascending */
} plumb_clock_entry;
typedef struct plumb_clock {
  plumb_clock_entry *entries; /* ascending by block */
  uint32_t count, capacity;
  uint64_t version; /* goes up when something is joined in */
} plumb_clock;

void plumb_clock_join(plumb_clock *to, const plumb_clock *from);
void plumb_clock_know(plumb_clock *c, uint64_t block, uint32_t floor);
void plumb_clock_know_lane(plumb_clock *c, uint64_t block, uint32_t lane, uint32_t time);
/* The time before which accesses of `lane` of `block` are known. */
uint32_t plumb_clock_get(const plumb_clock *c, uint64_t block, uint32_t lane);
void plumb_clock_clear(plumb_clock *c);

/* Clocks that were published through an address. */
typedef struct plumb_clock_map {
  struct plumb_clock_slot {
    uint64_t address; /* 0: empty */
    plumb_clock clock;
  } *slots;
  size_t count, capacity;
} plumb_clock_map;
plumb_clock *plumb_clock_at(plumb_clock_map *map, uint64_t address, bool create);
void plumb_clock_map_destroy(plumb_clock_map *map);

/* A table of pages by key. */
typedef struct plumb_page_table {
  plumb_race_page **slots;
  size_t count, capacity;
  plumb_race_page **free;
  size_t free_count, free_capacity;
} plumb_page_table;

typedef struct plumb_lane_clocks {
  plumb_clock known;    /* acquired */
  plumb_clock pending;  /* read strongly; known after the next fence */
  plumb_clock released; /* known at the last fence; published by strong writes */
  bool has_fenced;
  uint64_t seen; /* where it acquired last; the version tells whether that clock grew */
  uint64_t seen_version;
  bool seen_acquired;
} plumb_lane_clocks;

typedef struct plumb_interval {
  uint64_t address;
  uint64_t block;
  uint32_t size_bytes;
  uint32_t pc;
  uint16_t who;
  uint8_t how;  /* PLUMB_TOUCH_* */
  uint8_t step; /* 1: the lane goes up with every word */
} plumb_interval;
typedef struct plumb_intervals {
  plumb_interval *items;
  size_t count, capacity;
} plumb_intervals;
void plumb_intervals_add(plumb_intervals *list, const plumb_interval *item);

/* A regular access: `rows` are at absolute addresses, from lane `lane` on, each lane
 * touching size_bytes. Where several lanes touch the same bytes, `reach` is the distance of
 * the highest from the lowest. A loop repeats it `stride` further on. */
typedef struct plumb_track {
  plumb_footprint rows;
  uint64_t size_bytes;
  uint64_t low, high; /* all of it lies in [low, high) */
  uint64_t stride;
  uint32_t repeats;
  uint32_t lane, reach, time, pc;
  bool write;
} plumb_track;

#define PLUMB_MAX_TRACKS 64u
typedef struct plumb_tracks {
  plumb_track items[PLUMB_MAX_TRACKS];
  uint32_t count;
} plumb_tracks;
typedef struct plumb_trail {
  plumb_tracks fresh, old; /* all of one time, when the floor was `floor`; before that */
  uint32_t floor;
  bool tagged; /* tags hold everything, the tracks nothing */
} plumb_trail;

/* A read of one lane, by an access that is no track. */
typedef struct plumb_read {
  uint64_t place; /* address << 8 | bytes */
  uint32_t pc, lane;
} plumb_read;

/* Those of one block, in their order. The ones from `old` on are of `time`, and lie in the spans,
 * one an allocation. */
#define PLUMB_MAX_SPANS 16u
typedef struct plumb_reads {
  plumb_read *items;
  size_t count, capacity, old;
  uint32_t time, span_count;
  uint32_t in_vain; /* blocks whose reads became tags */
  struct plumb_span {
    uint64_t low, high;
  } spans[PLUMB_MAX_SPANS];
} plumb_reads;

/* The accesses of finished blocks: intervals, irregular reads block after block, and tracks of so
 * many stretches that they are turned into intervals only where another block comes near. */
typedef struct plumb_finished {
  plumb_intervals intervals;
  plumb_read *reads;
  struct plumb_reads_block {
    uint64_t index;
    size_t end; /* of its reads */
  } *blocks;
  struct plumb_block_track {
    uint64_t block;
    plumb_track track;
  } *tracks;
  size_t read_count, read_capacity, block_count, block_capacity, track_count, track_capacity;
} plumb_finished;
void plumb_finished_destroy(plumb_finished *all);
/* `items` with room for `count` of them. */
void *plumb_grow(void *items, size_t *capacity, size_t count, size_t item_bytes);

struct plumb_race {
  uint32_t time, start; /* start: the block's first time; older tags are stale */
  uint32_t floor;
  uint32_t warp_floor[PLUMB_MAX_WARPS];
  plumb_race_page shared; /* one page of the window's whole size */
  plumb_trail trail;      /* global memory */
  plumb_reads reads;      /* the same, as long as the trail has no tags */
  plumb_page_table pages; /* the same, unless the grid keeps them online */
  plumb_race_page *cache[64];
  plumb_intervals own;       /* room for the accesses of one block */
  plumb_lane_clocks *clocks; /* a lane; NULL until a fence or a partial barrier */
  plumb_clock block_clock;   /* known by all lanes */
  plumb_clock_map published; /* shared memory */
};

/* Kept by an ordered grid: tags of all its blocks, checked while they run. */
typedef struct plumb_online {
  plumb_page_table pages;
  plumb_clock_map published;
} plumb_online;

static inline uint32_t low(uint64_t tag) {
  return (uint32_t)tag;
}
static inline uint32_t time_of(uint32_t tag) {
  return tag & PLUMB_TAG_TIME;
}
static inline uint32_t who_of(uint32_t tag) {
  return tag >> PLUMB_TAG_TIME_BITS & 0x7ff;
}

/* --- party.c: who, and when, behind a tag that says several --- */

/* Lanes and agents, each with the time of its last access. Kept where lanes are ordered one
 * by one (plumb_grid.parts); elsewhere the tag is enough. */
typedef struct plumb_party {
  uint32_t count, capacity;
  struct plumb_party_part {
    uint32_t group; /* who / 32 */
    uint32_t mask;  /* bit who % 32 */
    uint32_t time;
  } parts[];
} plumb_party;

/* The party behind the tag of unit i; NULL: the tag itself says it. */
static inline const plumb_party *plumb_party_of(const plumb_race_page *p, bool write, size_t i,
                                                uint64_t tag) {
  plumb_party **all = write ? p->writers : p->readers;
  bool several = who_of(low(tag)) >= PLUMB_WHO_WARP && who_of(low(tag)) <= PLUMB_WHO_MANY;
  return all && several ? all[i] : NULL;
}
/* `who` joins those of the tag of unit i, of a page of `units`, at time `now`. */
void plumb_party_join(plumb_race_page *p, size_t units, bool write, size_t i, uint64_t tag,
                      uint32_t who, uint32_t now, uint32_t floor);
/* The same, for a tag that says several, where a lane of its warp has joined at time `now`;
 * false: none has. */
bool plumb_party_join_mates(const plumb_race_page *p, bool write, size_t i, uint32_t who,
                            uint32_t now);
/* Whether is_so(context, who, time) for any whom a tag, or `party` if not NULL, names. */
bool plumb_party_any(const plumb_block_run *br, uint32_t tag, const plumb_party *party,
                     bool (*is_so)(const void *context, uint32_t who, uint32_t time),
                     const void *context);
/* The parties of words become those of their bytes. */
void plumb_party_spread(plumb_party ***parties, size_t words);
void plumb_party_destroy(plumb_party **parties, size_t units);

/* One access that is being noted. */
typedef struct plumb_touch {
  plumb_block_run *br;
  const plumb_strand *s;
  uint32_t floor, now;
  uint64_t pc; /* in the high half */
  uint32_t strong;
  bool write;
} plumb_touch;
/* `size_bytes` of global memory from `address` on, by one lane; false: a race. */
bool plumb_race_touch_span(const plumb_touch *t, uint32_t lane, uint64_t address,
                           uint64_t size_bytes);
plumb_touch plumb_race_touch_of(plumb_block_run *br, const plumb_strand *s, unsigned how);
/* The page of a global address. */
plumb_race_page *plumb_race_page_find(plumb_block_run *br, uint64_t address);
#define PLUMB_NO_SHIFT 31u
/* Lanes `first` to `last`, or some of them and at least these two. */
uint32_t plumb_who_between(uint32_t first, uint32_t last);
/* Notes an access as tags; false if lane by lane has to decide (see footprint.h). */
bool plumb_race_tag_rows(const plumb_touch *t, const plumb_track *a, bool shared);

/* Whether the instructions of two numbers store the same constant, whose order cannot show. */
bool plumb_stores_one_constant(const plumb_run *run, uint32_t pc,
                               uint32_t other_pc); /* same_store.c */

/* --- trail.c --- */

void plumb_trail_begin(plumb_block_run *br); /* a fresh block */
/* False if it cannot be seen that the access is in order, or if there are too many. */
bool plumb_trail_add(plumb_race *r, const plumb_track *a);
/* Whether a read of [low, high) conflicts with no track and no tags are kept. */
bool plumb_trail_allows(plumb_race *r, uint64_t low, uint64_t high);
/* From now on tags are kept. */
void plumb_trail_to_tags(plumb_block_run *br);
/* Gives a finished block's tracks to the grid. */
void plumb_trail_end(const plumb_block_run *br, plumb_finished *out);
void plumb_track_to_intervals(uint64_t block, const plumb_track *t, plumb_intervals *out);

/* --- reads.c --- */

void plumb_reads_begin(plumb_reads *list);  /* a fresh block */
void plumb_reads_retire(plumb_reads *list); /* what was read is in order with what comes */
/* False if it is not seen to be in order, or tags are kept, or there are too many. */
bool plumb_reads_add(plumb_race *r, const uint16_t *lanes, uint32_t count, uint64_t base,
                     const uint64_t *offsets, uint64_t size_bytes, uint32_t pc);
/* Whether some that are not old may lie in [low, high). */
bool plumb_reads_meet(const plumb_reads *list, uint64_t low, uint64_t high);
/* The tags of the old ones, or of the others. */
void plumb_reads_to_tags(plumb_block_run *br, bool old);
/* Gives the block's reads to the grid; false: there are too many. */
bool plumb_reads_end(plumb_block_run *br);
/* One after another, from a cursor of zeros on; false: no more. */
typedef struct plumb_reads_cursor {
  size_t block, item;
} plumb_reads_cursor;
bool plumb_reads_next(const plumb_finished *all, plumb_reads_cursor *at, plumb_interval *out);

/* Nonzero if any of n words was touched since the floor. */
uint64_t plumb_race_busy(const uint64_t *w, const uint64_t *r, uint32_t n, uint32_t floor);
/* Gives the pages back; their tags are stale from the next block on. */
void plumb_race_release(plumb_page_table *t);
void plumb_race_split_block(const plumb_grid *g, uint64_t block, int64_t out[3]);
/* Whether lane `lane` of br comes after the accesses of `block` with this tag and party. */
bool plumb_clock_ordered(const plumb_block_run *br, uint32_t lane, uint64_t block, uint32_t tag,
                         const plumb_party *party);
void plumb_race_page_by_byte(plumb_race_page *page);
static inline size_t plumb_race_units(const plumb_race_page *p) {
  return p->words * (p->by_byte ? 4 : 1);
}
/* Frees what the page holds. */
void plumb_race_page_empty(plumb_race_page *p);
void plumb_page_table_destroy(plumb_page_table *t);

/* The page that holds the tags of a generic address, which byte of it that is, and how
 * many bytes it covers. */
plumb_race_page *plumb_race_page_at(plumb_block_run *br, uint64_t address, size_t *out_offset,
                                    size_t *out_bytes);
/* Shared memory of a cluster has tags in the grid's table, at addresses of its own; there
 * *window becomes global. A block alone keeps its own: the address without a rank. */
uint64_t plumb_race_shared(plumb_block_run *br, uint64_t address, unsigned *window);

/* Time goes up: what is published next holds what was done before. */
void plumb_clock_tick(plumb_block_run *br);
/* All that `lane` knows, its own past included, joins `out`. */
void plumb_clock_publish(plumb_block_run *br, uint32_t lane, plumb_clock *out);
/* `lane` knows what `from` does. */
void plumb_clock_acquire(plumb_block_run *br, uint32_t lane, const plumb_clock *from);
/* What the lane's last fence released joins `out`. */
void plumb_clock_publish_fenced(plumb_block_run *br, uint32_t lane, plumb_clock *out);

/* --- proxy.c --- */

/* fence.proxy.async of the lanes: what they know is from now on known to the asynchronous
 * proxy, of memory in `space` (GENERIC: all). */
void plumb_proxy_fence(plumb_block_run *br, const plumb_lanes *on, const plumb_inst *inst);
/* An access of the asynchronous proxy (or, `generic`, of cp.async), issued by `lane`, comes
 * after all that touched [address, address + size_bytes): false after a race trap. */
bool plumb_proxy_follows(plumb_block_run *br, const plumb_strand *s, uint32_t lane,
                         uint64_t address, uint64_t size_bytes, unsigned how, bool generic);
/* Whether all that touched the bytes, which lie in one page, did so before the lanes of the
 * block met last; then any lane's access follows it. `write`: the access writes. */
bool plumb_proxy_is_quiet(plumb_block_run *br, uint64_t address, uint64_t size_bytes, bool write);
/* Gives the bytes the tag of an agent of `br`. */
void plumb_proxy_stamp(plumb_block_run *br, uint32_t agent, uint32_t pc, uint64_t address,
                       uint64_t size_bytes, unsigned how);

/* "lane 5", "several of lanes 32 to 63", ...: who a tag names, in a block of `lanes`. */
const char *plumb_race_party(uint32_t who, uint32_t lanes, char out[64]);

#endif
