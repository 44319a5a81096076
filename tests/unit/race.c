/* Races of random kernels, judged by a model that looks at every byte of every lane: the
 * executor keeps rows of lanes and loops whole, and must come to the same answer, at the
 * same instruction. */
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"

enum { LANES = 64, BYTES = 1 << 14, MOST_STEPS = 7, KERNELS = 6000 };

typedef enum barrier { NONE, BLOCK, WARP } barrier;

/* Lane l of turn t touches size bytes at offset + l % width * x + l / width * y +
 * l / 16 * z + t * stride + block * apart. A write stores 1, or l / alike + 1. */
typedef struct step {
  bool write;
  unsigned alike; /* lanes that store one value */
  barrier before, inside;
  unsigned size, x, y, z, offset, apart;
  int stride;
  unsigned turns;
  int line;
} step;

typedef struct kernel {
  bool shared;
  unsigned width, blocks, step_count;
  step steps[MOST_STEPS];
} kernel;

static uint64_t state;
static unsigned pick(unsigned count) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % count;
}

static kernel random_kernel(uint64_t seed) {
  state = seed;
  kernel k = {.shared = pick(3) == 0, .width = 4u << pick(5), .blocks = 1 + (pick(4) > 0)};
  k.step_count = 1 + pick(MOST_STEPS);
  bool words = pick(2);     /* then steps fit together more often, */
  bool own = pick(4) > 0;   /* each lane mostly keeps to itself, */
  bool rows = pick(4) == 0; /* or in a row of its own, */
  unsigned apart = pick(4); /* and blocks do too */
  for (unsigned i = 0; i < k.step_count; i++) {
    step *s = &k.steps[i];
    s->size = words ? 4 : 1u << pick(4);
    unsigned row = s->size * k.width;
    const unsigned xs[] = {s->size, s->size, s->size, 0, 2 * s->size},
                   ys[] = {row, row, row, 0, 128, s->size};
    s->write = pick(5) == 0;
    s->alike = pick(3) ? LANES : 1u << pick(5);
    s->before = pick(2) ? NONE : (barrier)pick(3);
    s->inside = pick(2) ? NONE : (barrier)pick(3);
    bool plain = own && pick(8);
    s->x = plain ? s->size : xs[pick(5)];
    s->y = plain ? row : ys[pick(6)];
    s->offset = 2048 + (plain || pick(2) ? 0 : pick(8)) * 64;
    s->z = plain || pick(4) ? 0 : 32;
    const unsigned aparts[] = {4096, s->size * LANES, s->size * LANES / 2, 0};
    s->apart = aparts[apart];
    s->turns = 1 + pick(4) * pick(2);
    s->stride = (int)(row * (LANES / k.width));
    if (pick(3) == 0) s->stride = (int)(s->size * (1 + pick(4)));
    if (rows ? pick(8) : !pick(8)) { /* a row a lane */
      s->x = 64;
      s->y = 64 * k.width;
      s->z = 0;
      s->stride = (int)(pick(4) ? s->size * (1 + pick(2)) : 32);
      s->offset = 2048 + (pick(3) ? 0 : 32 * pick(3));
      s->write = pick(3) == 0;
    }
    if (pick(6) == 0) { /* a place a row */
      s->x = s->z = 0;
      s->y = s->size;
      s->stride = (int)(s->size * LANES);
      s->write = pick(4) > 0;
      s->alike = pick(4) ? k.width : 32;
    }
    if (pick(4) == 0) s->stride = -s->stride;
  }
  return k;
}

/* --- as PTX --- */

static char *print(kernel *k) {
  static const char *const barriers[] = {"", " bar.sync 0;", " bar.warp.sync -1;"};
  size_t room = 1 << 14, n = 0;
  char *text = calloc(1, room);
#define ADD(...) n += (size_t)snprintf(text + n, room - n, __VA_ARGS__)
  ADD(".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 p) { .reg .b64 %%rd<9>; .reg .b32 %%r<9>; .reg .b8 %%v1;"
      " .reg .b16 %%v2, %%w2; .reg .b32 %%v4, %%w4; .reg .b64 %%v8, %%w8; .reg .pred %%q;"
      " .shared .align 16 .b8 tile[%d];"
      " mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; and.b32 %%r3, %%r1, %u;"
      " div.u32 %%r4, %%r1, %u; shr.u32 %%r7, %%r1, 4;",
      BYTES, k->width - 1, k->width);
  ADD(k->shared ? " mov.u64 %%rd1, tile;" : " ld.param.u64 %%rd1, [p];");
  int line = 4;
  for (unsigned i = 0; i < k->step_count; i++) {
    step *s = &k->steps[i];
    ADD("%s", barriers[s->before]);
    ADD(" mad.lo.u32 %%r5, %%r3, %u, %u; mad.lo.u32 %%r5, %%r4, %u, %%r5;"
        " mad.lo.u32 %%r5, %%r2, %u, %%r5; mad.lo.u32 %%r5, %%r7, %u, %%r5; cvt.u64.u32 %%rd2, "
        "%%r5; add.u64 %%rd3, %%rd1, %%rd2;"
        " shr.u32 %%w4, %%r1, %u; add.u32 %%w4, %%w4, 1; cvt.u16.u32 %%w2, %%w4;"
        " cvt.u64.u32 %%w8, %%w4; mov.u32 %%r6, 0; L%u:\n",
        s->x, s->offset, s->y, k->shared ? 0 : s->apart, s->z, (unsigned)__builtin_ctz(s->alike),
        i);
    s->line = ++line;
    if (s->write)
      ADD("st%s.b%u [%%rd3], %%w%u;", k->shared ? ".shared" : ".global", s->size * 8,
          s->size == 1 ? 2 : s->size);
    else
      ADD("ld%s.b%u %%v%u, [%%rd3];", k->shared ? ".shared" : ".global", s->size * 8, s->size);
    ADD("%s", barriers[s->inside]);
    ADD(" add.s64 %%rd3, %%rd3, %d; add.u32 %%r6, %%r6, 1; setp.lt.u32 %%q, %%r6, %u;"
        " @%%q bra L%u;",
        s->stride, s->turns, i);
  }
  ADD(" ret; }\n");
#undef ADD
  return text;
}

/* --- the model --- */

typedef struct byte {
  uint64_t writers, readers;           /* lanes since the last barrier of the block */
  uint64_t warp_writers, warp_readers; /* and since the last barrier of their warp */
  bool wrote[2], touched[2];
  unsigned turn; /* when it was last written, and then by whom, and what */
  uint64_t turn_writers;
  uint8_t value;
} byte;

static unsigned shares; /* writes of what a lane of the same warp writes in the same turn */

static bool touch(byte *b, const step *s, unsigned lane, unsigned block, unsigned turn,
                  uint8_t value) {
  uint64_t warp = 0xffffffffull << lane / 32 * 32, self = 1ull << lane;
  uint64_t unordered = (b->warp_writers & warp) | (b->writers & ~warp);
  if (s->write) {
    if (b->turn != turn) b->turn_writers = 0;
    if (b->turn_writers & warp && b->value == value) {
      unordered &= ~warp; /* what these lanes wrote before is gone either way */
      shares++;
    }
    b->turn = turn;
    b->turn_writers |= self;
    b->value = value;
  }
  if (s->write) unordered |= (b->warp_readers & warp) | (b->readers & ~warp);
  *(s->write ? &b->writers : &b->readers) |= self;
  *(s->write ? &b->warp_writers : &b->warp_readers) |= self;
  b->wrote[block] |= s->write;
  b->touched[block] = true;
  return unordered & ~self;
}

static void meet(byte *bytes, barrier kind) {
  for (int i = 0; kind != NONE && i < BYTES; i++) {
    bytes[i].warp_writers = bytes[i].warp_readers = 0;
    if (kind == BLOCK) bytes[i].writers = bytes[i].readers = 0;
  }
}

/* The line of the first race inside a block; -1 for one between blocks; 0 for none. */
static int model(const kernel *k, byte *bytes) {
  unsigned instruction = 0;
  memset(bytes, 0, BYTES * sizeof *bytes);
  for (unsigned block = 0; block < k->blocks; block++) {
    meet(bytes, BLOCK);
    for (unsigned i = 0; i < k->step_count; i++) {
      const step *s = &k->steps[i];
      meet(bytes, s->before);
      for (unsigned turn = 0; turn < s->turns; turn++) {
        instruction++;
        for (unsigned l = 0; l < LANES; l++) {
          unsigned at = s->offset + l % k->width * s->x + l / k->width * s->y + l / 16 * s->z +
                        (k->shared ? 0 : block * s->apart) + (unsigned)((int)turn * s->stride);
          for (unsigned n = 0; n < s->size; n++)
            if (touch(&bytes[at + n], s, l, k->shared ? 0 : block, instruction,
                      (uint8_t)(n == 0 ? l / s->alike + 1 : 0)))
              return s->line;
        }
        meet(bytes, s->inside);
      }
    }
  }
  for (int i = 0; !k->shared && i < BYTES; i++)
    if ((bytes[i].wrote[0] && bytes[i].touched[1]) || (bytes[i].wrote[1] && bytes[i].touched[0]))
      return -1;
  return 0;
}

/* --- */

/* `message` of 512 bytes: what the trap says. */
static int execute(const char *text, unsigned blocks, unsigned lanes, bool companions,
                   char *message) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  plumb_program *p = plumb_program_create(arena, "race");
  plumb_machine *m = plumb_machine_create(arena);
  plumb_status status = plumb_ptx_decode(p, "race.ptx", text, strlen(text), &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  uint64_t address = plumb_machine_alloc(m, BYTES, 256, "p");
  uint8_t *zeros = calloc(1, BYTES);
  plumb_machine_write(m, address, zeros, BYTES, &diag);
  plumb_launch launch = {.grid = {blocks, 1, 1}, .block = {lanes, 1, 1}};
  plumb_run_options options = plumb_run_options_default();
  options.companions = companions;
  plumb_run_result result = {0};
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, &address, 8, &options, &result, &diag);
  CHECK(status == PLUMB_OK, "%d: %s", diag.line, diag.message);
  bool raced = result.trap.kind == PLUMB_TRAP_RACE;
  CHECK(raced || result.trap.kind == PLUMB_TRAP_NONE, "trap %s: %s",
        plumb_trap_text(result.trap.kind), result.trap.message);
  bool between = raced && memcmp(result.trap.block, result.trap.block2, sizeof result.trap.block);
  int line = !raced ? 0 : between ? -1 : result.trap.location.stage_line;
  snprintf(message, 512, "%s", raced ? result.trap.message : "");
  free(zeros);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
  return line;
}

/* Lanes that store to one place; of three blocks where the name says so. `saying`: NULL, or part
 * of the trap. */
static const struct {
  const char *name, *body, *saying;
} rows[] = {
    {"blocks, one constant", "st.global.u32 [%rd1], 7;", NULL},
    {"blocks, one constant that some store twice",
     "@%p1 st.global.u32 [%rd1], 8; bar.sync 0; st.global.u32 [%rd1], 7;", NULL},
    {"blocks, one value that is no constant",
     "mul.lo.u32 %r3, %r1, 0; @%p1 st.global.u32 [%rd1], %r3;",
     "write by block (0, 0, 0) and write"},
    {"blocks, two constants",
     "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p0, %r3, 0; @!%p1 bra E; @%p0 st.global.u32 [%rd1], 8;"
     " @!%p0 st.global.u32 [%rd1], 7;",
     "are not ordered"},
    {"blocks, a constant that another block reads",
     "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p0, %r3, 0; @!%p1 bra E; @%p0 ld.global.u32 %r4, [%rd1];"
     " @!%p0 st.global.u32 [%rd1], 7;",
     "are not ordered"},
    {"blocks, a constant over one's own value that another block stores too",
     "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p2, %r3, 0; @%p2 bra E; mul.wide.u32 %rd2, %r1, 4;"
     " add.u64 %rd2, %rd1, %rd2; setp.eq.u32 %p2, %r3, 1; @!%p2 bra L; st.global.u32 [%rd2], 7;"
     " bar.sync 0; @%p1 st.global.u32 [%rd2], %r1; bra E; L: @%p1 st.global.u32 [%rd2], 7;",
     "write by block"},
    {"blocks, one constant in halves of a word",
     "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p0, %r3, 0; @!%p1 bra E; @%p0 st.global.u16 [%rd1 + 2], "
     "7;"
     " @!%p0 st.global.u16 [%rd1], 7;",
     NULL},
    {"a warp, one instruction, one value", "@!%p0 bra E; st.shared.u32 [tile], 7;", NULL},
    {"a warp, one instruction, two values", "@!%p0 bra E; st.shared.u32 [tile], %r1;",
     "write by lane 1 and write of another value by lane 0 of the same block are not ordered"},
    {"the last lane stores another value",
     "@!%p0 bra E; shr.u32 %r2, %r2, 4; st.shared.u32 [tile], %r2;",
     "write by lane 16 and write of another value by several of lanes 0 to 31"},
    {"a warp, one value, in global memory", "@!%p0 bra E; st.global.u16 [%rd1 + 6], 7;", NULL},
    {"a vector, its second element differs", "@!%p0 bra E; st.global.v2.u32 [%rd1], {7, %r1};",
     "write by lane 1 and write of another value by lane 0"},
    {"a pair of lanes a place",
     "and.b32 %r2, %r2, 62; shl.b32 %r3, %r2, 1; mov.u32 %r4, tile;"
     " add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r2;",
     NULL},
    {"two warps, one constant", "st.shared.u32 [tile], 7;", NULL},
    {"two warps, a constant that was moved", "mov.u32 %r3, 7; st.shared.u32 [tile], %r3;", NULL},
    {"two warps, the last of a register's values",
     "mov.u32 %r3, %r1; mov.u32 %r3, 7; st.shared.u32 [tile], %r3; mov.u32 %r3, %r1;", NULL},
    {"two warps, the lower bits of a constant",
     "{ .reg .b16 %h; mov.u16 %h, 0x107; st.shared.u8 [tile], 7; st.shared.u8 [tile], %h; }", NULL},
    {"two warps, other bits of a constant",
     "{ .reg .b16 %h; mov.u16 %h, 0x701; st.shared.u8 [tile], 7; st.shared.u8 [tile], %h; }",
     "are not ordered"},
    {"two warps, a constant that some lanes move",
     "mov.u32 %r3, 7; @%p0 mov.u32 %r3, 7; st.shared.u32 [tile], %r3;",
     "write by lane 32 and write by several of lanes 0 to 31"},
    {"two warps, one value that is no constant",
     "mul.lo.u32 %r3, %r1, 0; st.shared.u32 [tile], %r3;",
     "write by lane 32 and write by several of lanes 0 to 31 of the same block are not ordered"},
    {"two instructions, one constant",
     "@!%p0 bra E; st.shared.u32 [tile], 7; st.shared.u32 [tile], 7;", NULL},
    {"two instructions, two constants",
     "@!%p0 bra E; st.shared.u32 [tile], 7; st.shared.u32 [tile], 8;",
     "write by lane 0 and write by several of lanes 0 to 31"},
    {"one constant in two sizes", "@!%p0 bra E; st.shared.u32 [tile], 7; st.shared.u8 [tile], 7;",
     "are not ordered"},
    {"a constant that is read beside it",
     "@!%p0 bra E; st.shared.u32 [tile], 7; ld.shared.u32 %r3, [tile];",
     "read by lane 0 and write by several of lanes 0 to 31"},
    {"two instructions, with a barrier between",
     "@!%p0 bra E; st.shared.u32 [tile], 7; bar.warp.sync -1; st.shared.u32 [tile], 7;", NULL},
    {"a read of another lane's write",
     "@!%p0 bra E; st.shared.u32 [tile], 7;"
     " ld.shared.u32 %r3, [tile];",
     "read by lane 0 and write by several of lanes 0 to 31"},
    {"a lane has read before",
     "@%p1 ld.shared.u32 %r3, [tile]; @!%p0 bra E;"
     " st.shared.u32 [tile], 7;",
     "write by lane 0 and read by lane 3"},
    {"an undefined value",
     "@!%p0 bra E; ld.shared.u32 %r3, [tile + 4]; bar.warp.sync -1;"
     " st.shared.u32 [tile], %r3;",
     "write by lane 1 and write of an undefined value by lane 0"},
    {"a guess that a compare-and-swap checks",
     "ld.global.u32 %r3, [%rd1]; L: mov.u32 %r6, %r3; add.u32 %r4, %r6, 1;"
     " atom.global.cas.b32 %r3, [%rd1], %r6, %r4; setp.ne.u32 %p1, %r3, %r6; @%p1 bra L;",
     NULL},
    {"a guess, the address a sum",
     "ld.global.u32 %r3, [%rd1 + 8]; add.s64 %rd2, %rd1, 4; L: add.u32 %r4, %r3, 1;"
     " atom.global.cas.b32 %r5, [%rd2 + 4], %r3, %r4; setp.ne.u32 %p1, %r3, %r5;"
     " mov.u32 %r3, %r5; @%p1 bra L;",
     NULL},
    {"a guess about another place",
     "ld.global.u32 %r3, [%rd1 + 8]; red.global.add.u32 [%rd1 + 8], 1;"
     " atom.global.cas.b32 %r5, [%rd1], %r3, 1;",
     "write by lane 0 and read by"},
    {"a guess beside a plain write",
     "@%p1 st.global.u32 [%rd1], 5; ld.global.u32 %r3, [%rd1];"
     " atom.global.cas.b32 %r5, [%rd1], %r3, 1;",
     "read by lane 0 and write by lane 3"},
};

static void test_same_place(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int companions = 0; companions < 2; companions++) {
      char text[2048], message[512];
      snprintf(text, sizeof text,
               ".version 8.0\n.target sm_80\n.address_size 64\n"
               ".visible .entry k(.param .u64 p) { .reg .b64 %%rd<3>; .reg .b32 %%r<9>;"
               " .reg .pred %%p<3>; .shared .align 16 .b8 tile[%d]; ld.param.u64 %%rd1, [p];"
               " mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%r1; setp.lt.u32 %%p0, %%r1, 32;"
               " setp.eq.u32 %%p1, %%r1, 3; %s E: ret; }\n",
               BYTES, rows[i].body);
      unsigned blocks = strncmp(rows[i].name, "blocks", 6) == 0 ? 3 : 1;
      execute(text, blocks, LANES, companions, message);
      CHECK(rows[i].saying ? strstr(message, rows[i].saying) != NULL : !*message,
            "%s, companions %d: '%s'", rows[i].name, companions, message);
    }
}

/* Lanes 0 to 31 (R), 32 to 63 (S) and 64 to 95 (W) of 128. Lanes that READ and then
 * ARRIVE at m are before lane 64's write, whoever else there is. */
#define READ " ld.shared.u32 %r3, [tile];"
#define ARRIVE " mbarrier.arrive.shared.b64 %rd2, [m];"
#define WRITE \
  "setp.ne.u32 %p0, %r1, 64; @%p0 bra E;" \
  " W: mbarrier.test_wait.parity.shared.b64 %p0, [m], 0; @!%p0 bra W; st.shared.u32 [tile], 7;"
static const struct {
  const char *name, *r, *s, *w;
  unsigned arrivals;
  const char *saying;
} meetings[] = {
    {"one warp", READ ARRIVE, "", WRITE, 32, NULL},
    {"half a warp", "setp.gt.u32 %p1, %r1, 15; @%p1 bra E;" READ ARRIVE, "", WRITE, 16, NULL},
    {"two warps", READ ARRIVE, READ ARRIVE, WRITE, 64, NULL},
    {"a part of two warps", "setp.lt.u32 %p1, %r1, 3; @%p1 bra E;" READ ARRIVE,
     "setp.gt.u32 %p1, %r1, 55; @%p1 bra E;" READ ARRIVE, WRITE, 29 + 24, NULL},
    {"two warps, one after the other, not ordered",
     READ ARRIVE " bar.warp.sync -1; st.relaxed.cta.shared.u32 [flag], 1;",
     "L: ld.relaxed.cta.shared.u32 %r4, [flag]; setp.ne.u32 %p1, %r4, 1; @%p1 bra L;" READ ARRIVE,
     WRITE, 64, NULL},
    {"a warp that reads after it has arrived", READ ARRIVE, ARRIVE READ, WRITE, 64,
     "write by lane 64 and read by lanes of several warps"},
    {"half a warp that does not arrive", READ " setp.gt.u32 %p1, %r1, 15; @%p1 bra E;" ARRIVE, "",
     WRITE, 16, "write by lane 64 and read by several of lanes 0 to 31"},
    {"bytes, of which one is read by another warp too", READ ARRIVE,
     "ld.shared.u8 %r3, [tile + 1];" ARRIVE, WRITE, 64, NULL},
    {"bytes, of which one is read too late", READ ARRIVE, ARRIVE " ld.shared.u8 %r3, [tile + 1];",
     WRITE, 64, "write by lane 64 and read by lan"},
    {"atomics", "red.shared.add.u32 [tile], 1;" ARRIVE, "red.shared.add.u32 [tile], 1;" ARRIVE,
     WRITE, 64, NULL},
    {"an atomic too late", "red.shared.add.u32 [tile], 1;" ARRIVE,
     ARRIVE "red.shared.add.u32 [tile], 1;", WRITE, 64, "write by lane 64 and write by lan"},
    {"a barrier of three warps", "ld.global.u32 %r3, [%rd1]; barrier.sync 1, 96;",
     "ld.global.u32 %r3, [%rd1]; barrier.sync 1, 96;",
     "barrier.sync 1, 96; st.global.u32 [%rd1], 7;", 0, NULL},
    {"a barrier of two warps, and one that reads", "ld.global.u32 %r3, [%rd1]; barrier.sync 1, 64;",
     "ld.global.u32 %r3, [%rd1];", "barrier.sync 1, 64; st.global.u32 [%rd1], 7;", 0,
     "read by lan"},
};

static void test_meetings(void) {
  for (size_t i = 0; i < sizeof meetings / sizeof *meetings; i++) {
    char text[4096], message[512], init[64] = "";
    if (meetings[i].arrivals)
      snprintf(init, sizeof init, "@%%p0 mbarrier.init.shared.b64 [m], %u;", meetings[i].arrivals);
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry k(.param .u64 p) { .reg .b64 %%rd<3>; .reg .b32 %%r<9>;"
             " .reg .pred %%p<3>; .shared .align 8 .b64 m; .shared .b32 tile, flag;"
             " ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x; setp.eq.u32 %%p0, %%r1, 0;"
             " %s @%%p0 st.shared.u32 [tile], 0;"
             " @%%p0 st.shared.u32 [flag], 0; bar.sync 0;"
             " setp.lt.u32 %%p0, %%r1, 32; @%%p0 bra R; setp.lt.u32 %%p0, %%r1, 64; @%%p0 bra S;"
             " setp.lt.u32 %%p0, %%r1, 96; @!%%p0 bra E; %s bra E; R: %s bra E; S: %s E: ret; }\n",
             init, meetings[i].w, meetings[i].r, meetings[i].s);
    execute(text, 1, 128, false, message);
    CHECK(meetings[i].saying ? strstr(message, meetings[i].saying) != NULL : !*message, "%s: '%s'",
          meetings[i].name, message);
  }
}

/* Reads of many arrays at places without a rule, (7 t^2 + 3) mod 64 of lane t: 50 is read by
 * lanes 5, 27, 37 and 59, 63 by lane 6 and others, 1 by none. Lane 5 writes into the last array, or
 * all lanes write theirs. */
#define ONE "setp.ne.u32 %p0, %r1, 5; @%p0 bra E; st.global.u32 "
#define OWN "add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r1;"
static const struct {
  const char *name, *before, *between;
  unsigned arrays, blocks;
  const char *after, *saying;
} scattered[] = {
    {"reads alone", "", "", 3, 3, "", NULL},
    {"a place that others read", "", "", 1, 1, ONE "[%rd2+200], 7;", "same block"},
    {"that others read in the last array that is kept apart", "", "", 16, 1, ONE "[%rd2+200], 7;",
     "same block"},
    {"and in the first that is not", "", "", 17, 1, ONE "[%rd2+200], 7;", "same block"},
    {"and of many", "", "", 40, 1, ONE "[%rd2+200], 7;", "same block"},
    {"after a barrier", "", "bar.sync 0;", 17, 1, ONE "[%rd2+200], 7;", NULL},
    {"after a barrier, other blocks", "", "bar.sync 0;", 3, 3, ONE "[%rd2+200], 7;",
     "write by block"},
    {"after a barrier, many arrays, other blocks", "", "bar.sync 0;", 40, 3, ONE "[%rd2+200], 7;",
     "write by block"},
    {"every other word, what another block reads", "", "bar.sync 0;", 3, 3,
     "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p0, %r3, 0; @%p0 bra E; setp.gt.u32 %p0, %r1, 31;"
     " @%p0 bra E; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r1;",
     "block (0, 0, 0) and read by block"},
    {"a place that nobody reads", "", "", 3, 3, ONE "[%rd2+4], 7;", NULL},
    {"a byte beside one that is read", "", "", 3, 1,
     "setp.ne.u32 %p0, %r1, 5; @%p0 bra E; st.global.u8 [%rd2+7], 7;", NULL},
    {"a byte of one that others read", "", "", 3, 1,
     "setp.ne.u32 %p0, %r1, 5; @%p0 bra E; st.global.u8 [%rd2+203], 7;", "same block"},
    {"the last place", "", "", 3, 1, ONE "[%rd2+252], 7;", "same block"},
    {"other blocks, where tags are kept in the end", "",
     "bar.sync 0; ld.param.u64 %rd3, [p]; add.u64 %rd3, %rd3, %rd5; ld.global.u32 %r4, [%rd3];"
     " bar.warp.sync -1;",
     3, 3, ONE "[%rd2+200], 7;", "write by block"},
    {"own places, after a barrier", "", "bar.sync 0;", 2, 1, OWN, NULL},
    {"own places", "", "", 2, 1, OWN, "same block"},
    {"own places before", OWN, "", 2, 1, "", "same block"},
    {"own places before a barrier", OWN "bar.sync 0;", "", 2, 1, "", NULL},
    {"after a barrier of warps", "", "bar.warp.sync -1;", 2, 1, ONE "[%rd2+200], 7;", "same block"},
    {"read again after a barrier", "", "bar.sync 0; ld.global.u32 %r4, [%rd3];", 2, 1,
     ONE "[%rd2+200], 7;", "same block"},
};

static void test_scattered(void) {
  enum { MOST = 40, PLACES = 64 };
  for (size_t i = 0; i < sizeof scattered / sizeof *scattered; i++) {
    plumb_arena *arena = plumb_arena_create();
    plumb_text t = plumb_text_create(arena);
    unsigned n = scattered[i].arrays;
    plumb_text_printf(&t,
                      ".version 8.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry k(.param .align 8 .b8 p[%u]) { .reg .b64 %%rd<6>;"
                      " .reg .b32 %%r<9>; .reg .pred %%p<3>; mov.u32 %%r1, %%tid.x;"
                      " mul.lo.u32 %%r2, %%r1, %%r1; mad.lo.u32 %%r2, %%r2, 7, 3;"
                      " and.b32 %%r2, %%r2, 63; mul.wide.u32 %%rd3, %%r2, 4;"
                      " mul.wide.u32 %%rd4, %%r1, 4; mov.u64 %%rd5, %%rd3;"
                      " ld.param.u64 %%rd2, [p+%u]; %s\n",
                      8 * n, 8 * (n - 1), scattered[i].before);
    for (unsigned a = 0; a < n; a++)
      plumb_text_printf(&t,
                        " ld.param.u64 %%rd2, [p+%u]; add.u64 %%rd3, %%rd2, %%rd5;"
                        " ld.global.u32 %%r3, [%%rd3];\n",
                        8 * a);
    plumb_text_printf(&t, " mul.wide.u32 %%rd4, %%r1, 4;\n %s %s E: ret; }\n", scattered[i].between,
                      scattered[i].after);
    plumb_diag diag = {0};
    plumb_program *p = plumb_program_create(arena, "race");
    plumb_machine *m = plumb_machine_create(arena);
    plumb_status status = plumb_ptx_decode(p, "race.ptx", t.data, strlen(t.data), &diag);
    if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
    if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
    uint64_t params[MOST];
    for (unsigned a = 0; a < n; a++) {
      params[a] = plumb_machine_alloc(m, PLACES * 4, 256, "x");
      plumb_machine_fill(m, params[a], 0, 1, PLACES * 4, &diag);
    }
    plumb_launch launch = {.grid = {scattered[i].blocks, 1, 1}, .block = {LANES, 1, 1}};
    plumb_run_options options = plumb_run_options_default();
    plumb_run_result result = {0};
    if (status == PLUMB_OK)
      status = plumb_machine_launch(m, "k", &launch, params, 8 * n, &options, &result, &diag);
    bool raced = result.trap.kind == PLUMB_TRAP_RACE;
    CHECK(status == PLUMB_OK && (raced || result.trap.kind == PLUMB_TRAP_NONE), "%s: %s%s",
          scattered[i].name, diag.message, result.trap.message);
    CHECK(scattered[i].saying ? raced && strstr(result.trap.message, scattered[i].saying) : !raced,
          "%s: '%s'", scattered[i].name, raced ? result.trap.message : "");
    plumb_machine_destroy(m);
    plumb_arena_destroy(arena);
  }
}

int main(void) {
  byte *bytes = malloc(BYTES * sizeof *bytes);
  unsigned answers[3] = {0}, fine = 0;
  test_same_place();
  test_meetings();
  test_scattered();
  for (uint64_t seed = 1; seed <= KERNELS; seed++) {
    kernel k = random_kernel(seed * 7919);
    char *text = print(&k);
    char message[512];
    unsigned before = shares;
    int expected = model(&k, bytes), actual = execute(text, k.blocks, LANES, false, message);
    fine += expected == 0 && shares > before;
    answers[expected == 0 ? 0 : expected < 0 ? 1 : 2]++;
    CHECK(expected == actual, "kernel %llu: line %d, wanted %d:\n%s", (unsigned long long)seed,
          actual, expected, text);
    free(text);
    if (expected != actual) break;
  }
  for (int i = 0; i < 3; i++)
    CHECK(answers[i] > KERNELS / 20, "only %u kernels of kind %d", answers[i], i);
  CHECK(fine > 100, "only %u kernels without a race whose lanes write to one place", fine);
  printf(
      "%u without a race (%u of them with lanes that write to one place), %u between blocks, "
      "%u in a block\n",
      answers[0], fine, answers[1], answers[2]);
  free(bytes);
  return check_finish();
}
