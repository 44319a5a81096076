/* What the tests of matrix instructions share: running a text, and elements of the types. */
#ifndef PLUMB_TESTS_UNIT_MMA_RUN_H
#define PLUMB_TESTS_UNIT_MMA_RUN_H

#include "ir/mma.h"

#include <string.h>

#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

#define HEAD ".version 8.8\n.target sm_90a\n.address_size 64\n"

static uint64_t state = 88172645463325252ull;
static inline int random_int(int low, int high) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return low + (int)(state % (uint64_t)(high - low + 1));
}

/* --- running a text --- */

typedef struct run {
  plumb_trap_kind trap;
  plumb_status status;
  char message[1024];
} run;

/* Launches k(p, q): p is `in`, q receives `out`; `threads` lanes, one block. */
static inline run launch(const char *text, const void *in, size_t in_bytes, void *out,
                         size_t out_bytes, uint32_t threads) {
  run r = {PLUMB_TRAP_NONE, PLUMB_OK, ""};
  plumb_diag diag = {0};
  plumb_arena *arena = plumb_arena_create();
  plumb_program *p = plumb_program_create(arena, "mma");
  plumb_machine *m = plumb_machine_create(arena);
  r.status = plumb_ptx_decode(p, "mma.ptx", text, strlen(text), &diag);
  if (r.status == PLUMB_OK) r.status = plumb_program_finish(p, &diag);
  if (r.status == PLUMB_OK) r.status = plumb_machine_load(m, p, &diag);
  if (r.status == PLUMB_OK) {
    uint64_t params[2] = {plumb_machine_alloc(m, in_bytes, 256, "in"),
                          plumb_machine_alloc(m, out_bytes, 256, "out")};
    plumb_machine_write(m, params[0], in, in_bytes, &diag);
    plumb_run_options options = plumb_run_options_default();
    plumb_launch l = {.grid = {1, 1, 1}, .block = {threads, 1, 1}};
    plumb_run_result result;
    r.status = plumb_machine_launch(m, "k", &l, params, sizeof params, &options, &result, &diag);
    if (r.status == PLUMB_OK) {
      r.trap = result.trap.kind;
      if (r.trap) snprintf(r.message, sizeof r.message, "%s", result.trap.message);
      if (!r.trap) plumb_machine_read(m, params[1], out, NULL, out_bytes, &diag);
    }
  }
  if (r.status != PLUMB_OK) snprintf(r.message, sizeof r.message, "%s", diag.message);
  plumb_machine_destroy(m);
  plumb_arena_destroy(arena);
  return r;
}

/* --- elements --- */

/* An integer as an element of the type, and back. */
static inline uint64_t encode(plumb_mma_type type, int v) {
  static const uint8_t dtypes[PLUMB_MMA_TYPE_COUNT] = {
      [PLUMB_MMA_F16] = PLUMB_F16,   [PLUMB_MMA_BF16] = PLUMB_BF16, [PLUMB_MMA_TF32] = PLUMB_F32,
      [PLUMB_MMA_F32] = PLUMB_F32,   [PLUMB_MMA_F64] = PLUMB_F64,   [PLUMB_MMA_E4M3] = PLUMB_E4M3,
      [PLUMB_MMA_E5M2] = PLUMB_E5M2,
  };
  if (dtypes[type]) return plumb_dtype_from_double((plumb_dtype)dtypes[type], v);
  unsigned bits = plumb_mma_type_table[type].bits;
  uint64_t mask = (1ull << bits) - 1; /* integers have 32 bits at most */
  return (uint64_t)(int64_t)v & mask;
}

static inline int random_element(plumb_mma_type type) {
  switch (type) {
    case PLUMB_MMA_B1:
      return random_int(0, 1);
    case PLUMB_MMA_U4:
      return random_int(0, 15);
    case PLUMB_MMA_S4:
      return random_int(-8, 7);
    case PLUMB_MMA_U8:
      return random_int(0, 255);
    case PLUMB_MMA_S8:
      return random_int(-128, 127);
    case PLUMB_MMA_E5M2:
      return random_int(-3, 3);
    default:
      return random_int(-4, 4);
  }
}

static inline int64_t times(const plumb_mma *mma, int a, int b) {
  return mma->combine == PLUMB_MMA_XOR_POPC   ? a ^ b
         : mma->combine == PLUMB_MMA_AND_POPC ? (a & b)
                                              : (int64_t)a * b;
}

/* Shape and types out of the text. */
static inline plumb_mma parse(const char *text, plumb_mma_kind kind) {
  plumb_mma mma = {.kind = (uint8_t)kind};
  unsigned m = 0, n = 0, k = 0, count = 0;
  sscanf(text, "m%un%uk%u", &m, &n, &k);
  mma.m = (uint16_t)m, mma.n = (uint16_t)n, mma.k = (uint16_t)k;
  char copy[160], *part;
  snprintf(copy, sizeof copy, "%s", text);
  uint8_t *types[4] = {&mma.d, &mma.a, &mma.b, &mma.c};
  for (part = strtok(copy, "."); part; part = strtok(NULL, ".")) {
    plumb_mma_type t;
    if (count < 4 && plumb_mma_type_find(part, &t)) *types[count++] = (uint8_t)t;
    if (strcmp(part, "xor") == 0) mma.combine = PLUMB_MMA_XOR_POPC;
    if (strcmp(part, "and") == 0) mma.combine = PLUMB_MMA_AND_POPC;
    if (strcmp(part, "satfinite") == 0) mma.satfinite = true;
  }
  return mma;
}

/* Puts element i of a lane, low to high in 32-bit (or 64-bit) registers. */
static inline void put(uint8_t *lane, plumb_mma_type type, unsigned i, uint64_t bits) {
  unsigned width = plumb_mma_type_table[type].bits;
  if (width >= 8) {
    memcpy(lane + (size_t)i * width / 8, &bits, width / 8);
  } else {
    lane[i * width / 8] = (uint8_t)(lane[i * width / 8] | bits << (i * width % 8));
  }
}

/* The matrices of the case at hand. */
static int A[32][256], B[256][32], C[32][32];

#endif
