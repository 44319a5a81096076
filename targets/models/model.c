/* Names and matrix units (models.def), and the product of one tile. */
#include "targets/models/model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "targets/models/dot.h"

/* --- names --- */

static const struct {
  const char *name;
  plumb_model model;
} names[] = {
#define PLUMB_MODEL_ROW(name, architecture) {name, PLUMB_MODEL_##architecture},
#include "targets/models/models.def"
#undef PLUMB_MODEL_ROW
    {"reference", PLUMB_MODEL_REFERENCE},
};

/* Letters in any case; `-`, `_` and spaces do not count. */
static bool same_name(const char *x, const char *y) {
  for (;; x++, y++) {
    while (*x && strchr("-_ ", *x)) x++;
    while (*y && strchr("-_ ", *y)) y++;
    if (tolower((unsigned char)*x) != tolower((unsigned char)*y)) return false;
    if (!*x) return true;
  }
}

bool plumb_model_find(const char *name, plumb_model *out_model) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (same_name(names[i].name, name)) {
      *out_model = names[i].model;
      return true;
    }
  return false;
}

const char *plumb_model_names(void) {
  return "reference"
#define PLUMB_MODEL_ROW(name, architecture) ", " name
#include "targets/models/models.def"
#undef PLUMB_MODEL_ROW
      ;
}

/* --- units --- */

typedef enum inputs { INPUTS_NONE, INPUTS_F16, INPUTS_BF16, INPUTS_TF32, INPUTS_F8 } inputs;

static inputs inputs_of(plumb_mma_type a, plumb_mma_type b) {
  bool a8 = a == PLUMB_MMA_E4M3 || a == PLUMB_MMA_E5M2;
  bool b8 = b == PLUMB_MMA_E4M3 || b == PLUMB_MMA_E5M2;
  if (a8 && b8) return INPUTS_F8;
  if (a != b) return INPUTS_NONE;
  return a == PLUMB_MMA_F16    ? INPUTS_F16
         : a == PLUMB_MMA_BF16 ? INPUTS_BF16
         : a == PLUMB_MMA_TF32 ? INPUTS_TF32
                               : INPUTS_NONE;
}

static const struct {
  plumb_model model;
  plumb_product_instruction instruction;
  inputs inputs;
  plumb_mma_type result;
  plumb_unit unit;
} units[] = {
#define PLUMB_UNIT_ROW(arch, instruction, inputs, result, scheme, l, f, floor, rounding) \
  {PLUMB_MODEL_##arch, \
   PLUMB_PRODUCT_##instruction, \
   INPUTS_##inputs, \
   PLUMB_MMA_##result, \
   {PLUMB_UNIT_##scheme, l, f, floor, PLUMB_UNIT_##rounding}},
#include "targets/models/models.def"
#undef PLUMB_UNIT_ROW
};

static const plumb_unit *unit_of(const plumb_product *p) {
  inputs in = inputs_of(p->a, p->b);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (units[i].model == p->model && units[i].instruction == p->instruction &&
        units[i].inputs == in && units[i].result == p->d)
      return &units[i].unit;
  return NULL;
}

static bool is_float(plumb_mma_type t) {
  return plumb_mma_type_table[t].type_class == PLUMB_MMA_FLOAT;
}

static const char *model_text(plumb_model model) {
  static const char *const texts[] = {
      "the reference reading", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell",
      "RTX Blackwell"};
  return texts[model];
}

plumb_status plumb_product_check(const plumb_product *p, plumb_diag *diag) {
  bool known = true;
  if (p->a == PLUMB_MMA_F64)
    known = p->model == PLUMB_MODEL_REFERENCE || p->model >= PLUMB_MODEL_AMPERE;
  else if (is_float(p->a))
    known = p->model == PLUMB_MODEL_REFERENCE || unit_of(p);
  else
    known = p->model != PLUMB_MODEL_VOLTA;
  if (known) return PLUMB_OK;
  return plumb_fail(diag, PLUMB_UNSUPPORTED, NULL, 0, 0,
                    "%s has no known matrix unit for %s.%s.%s.%s (d, a, b, c)%s",
                    model_text(p->model), plumb_mma_type_table[p->d].text,
                    plumb_mma_type_table[p->a].text, plumb_mma_type_table[p->b].text,
                    plumb_mma_type_table[p->c].text,
                    p->instruction == PLUMB_PRODUCT_WGMMA ? " in wgmma" : "");
}

/* --- floats --- */

/* Infinities to the largest finite value, NaN to +0 (PTX ISA 9.0, 9.7.14.4.5). */
static uint64_t to_finite(plumb_mma_type type, uint64_t bits) {
  const plumb_mma_type_info *info = &plumb_mma_type_table[type];
  uint64_t infinity = ((1ull << info->exponent_bits) - 1) << info->fraction_bits;
  uint64_t magnitude = bits & ((1ull << (info->exponent_bits + info->fraction_bits)) - 1);
  if (magnitude > infinity) return 0;
  return magnitude == infinity ? bits - 1 : bits;
}

/* Elements of one operand, `vectors` rows or columns of k. */
typedef struct side {
  int32_t *significand, *exponent;
  uint8_t *flags;
  bool *special;
  unsigned k;
} side;

static size_t side_bytes(unsigned vectors, unsigned k) {
  return (size_t)vectors * k * (2 * sizeof(int32_t) + 1) + vectors * sizeof(bool);
}

static side side_of(plumb_mma_type type, const uint64_t *words, unsigned vectors, unsigned k,
                    void *room) {
  size_t count = (size_t)vectors * k;
  side s = {.significand = room, .k = k};
  s.exponent = s.significand + count;
  s.flags = (uint8_t *)(s.exponent + count);
  s.special = (bool *)(s.flags + count);
  for (unsigned v = 0; v < vectors; v++) {
    unsigned any = 0;
    for (unsigned i = 0; i < k; i++) {
      size_t at = (size_t)v * k + i;
      plumb_element e = plumb_element_of(type, words[at]);
      s.significand[at] = (int32_t)e.significand;
      s.exponent[at] = e.exponent;
      s.flags[at] = e.flags;
      any |= e.flags;
    }
    s.special[v] = any & (PLUMB_ELEMENT_INFINITE | PLUMB_ELEMENT_NAN);
  }
  return s;
}

static plumb_elements vector_of(const side *s, unsigned v) {
  size_t at = (size_t)v * s->k;
  return (plumb_elements){s->significand + at, s->exponent + at, s->flags + at, s->special[v]};
}

static uint64_t float_dot(const plumb_product *p, const plumb_unit *unit, plumb_elements a,
                          plumb_elements b, unsigned k, int fraction, uint64_t c) {
  plumb_element e = plumb_element_of(p->c, c);
  if (a.special || b.special || (e.flags & (PLUMB_ELEMENT_INFINITE | PLUMB_ELEMENT_NAN)))
    return plumb_dot_special(p->d, a, b, k, &e);
  return unit ? plumb_dot_unit(unit, p->d, a, b, k, fraction, p->c, c)
              : plumb_dot_exact(p->d, PLUMB_RN, a, b, k, fraction, p->c, &e);
}

static void float_tile(const plumb_product *p, unsigned m, unsigned n, unsigned k,
                       const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *d) {
  const plumb_unit *unit = p->model == PLUMB_MODEL_REFERENCE ? NULL : unit_of(p);
  if (!unit && plumb_tile_quick(p, m, n, k, a, b, c, d)) {
    for (size_t i = 0; p->satfinite && i < (size_t)m * n; i++) d[i] = to_finite(p->d, d[i]);
    return;
  }
  int fraction =
      plumb_mma_type_table[p->a].fraction_bits + plumb_mma_type_table[p->b].fraction_bits;
  size_t first = (side_bytes(m, k) + 15) / 16 * 16;
  char *room = malloc(first + side_bytes(n, k));
  if (!room) abort();
  side rows = side_of(p->a, a, m, k, room), columns = side_of(p->b, b, n, k, room + first);
  for (unsigned i = 0; i < m; i++)
    for (unsigned j = 0; j < n; j++) {
      uint64_t r = float_dot(p, unit, vector_of(&rows, i), vector_of(&columns, j), k, fraction,
                             c[(size_t)i * n + j]);
      d[(size_t)i * n + j] = p->satfinite ? to_finite(p->d, r) : r;
    }
  free(room);
}

static void f64_tile(const plumb_product *p, unsigned m, unsigned n, unsigned k, const uint64_t *a,
                     const uint64_t *b, const uint64_t *c, uint64_t *d) {
  for (unsigned i = 0; i < m; i++)
    for (unsigned j = 0; j < n; j++) {
      const uint64_t *x = a + (size_t)i * k, *y = b + (size_t)j * k;
      uint64_t sum = c[(size_t)i * n + j];
      if (p->model == PLUMB_MODEL_REFERENCE)
        sum = plumb_dot_exact_f64(p->round, x, y, k, sum);
      else /* fused multiply-adds in the order of k */
        for (unsigned q = 0; q < k; q++) sum = plumb_dot_exact_f64(p->round, x + q, y + q, 1, sum);
      d[(size_t)i * n + j] = sum;
    }
}

/* --- integers and bits --- */

static int64_t integer_of(plumb_mma_type type, uint64_t bits) {
  switch (type) {
    case PLUMB_MMA_S8:
      return (int8_t)bits;
    case PLUMB_MMA_U8:
      return (uint8_t)bits;
    case PLUMB_MMA_S4:
      return (int64_t)(((bits & 15) ^ 8)) - 8;
    case PLUMB_MMA_U4:
      return (int64_t)(bits & 15);
    case PLUMB_MMA_B1:
      return (int64_t)(bits & 1);
    default:
      return (int32_t)bits;
  }
}

static int64_t combine(const plumb_product *p, uint64_t a, uint64_t b) {
  int64_t x = integer_of(p->a, a), y = integer_of(p->b, b);
  switch (p->combine) {
    case PLUMB_MMA_XOR_POPC:
      return x ^ y;
    case PLUMB_MMA_AND_POPC:
      return x & y;
    default:
      return x * y;
  }
}

static void integer_tile(const plumb_product *p, unsigned m, unsigned n, unsigned k,
                         const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *d) {
  for (unsigned i = 0; i < m; i++)
    for (unsigned j = 0; j < n; j++) {
      int64_t sum = (int32_t)c[(size_t)i * n + j];
      for (unsigned q = 0; q < k; q++)
        sum += combine(p, a[(size_t)i * k + q], b[(size_t)j * k + q]);
      if (p->satfinite) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      d[(size_t)i * n + j] = (uint32_t)sum;
    }
}

void plumb_product_tile(const plumb_product *p, unsigned m, unsigned n, unsigned k,
                        const uint64_t *a, const uint64_t *b, const uint64_t *c, uint64_t *d) {
  if (p->a == PLUMB_MMA_F64)
    f64_tile(p, m, n, k, a, b, c, d);
  else if (is_float(p->a))
    float_tile(p, m, n, k, a, b, c, d);
  else
    integer_tile(p, m, n, k, a, b, c, d);
}
