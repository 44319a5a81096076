#include "verify/compare.h"

#include <math.h>
#include <string.h>

static const char *const verdict_texts[] = {
#define X(name, text) text,
#include "verify/verdict.def"
#undef X
};

const char *plumb_verdict_text(plumb_verdict verdict) {
  return verdict_texts[verdict];
}

bool plumb_verdict_from_text(const char *text, plumb_verdict *out_verdict) {
  for (int i = 0; i < PLUMB_VERDICT_COUNT; i++)
    if (strcmp(verdict_texts[i], text) == 0) {
      *out_verdict = (plumb_verdict)i;
      return true;
    }
  return false;
}

/* Sign-magnitude bits to an integer that orders like the value; -0 and +0 coincide. */
static int64_t ordered(plumb_dtype type, uint64_t bits) {
  unsigned width = plumb_dtype_table[type].bits;
  if (type == PLUMB_TF32) width = 32;
  uint64_t sign = 1ull << (width - 1);
  int64_t magnitude = (int64_t)(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

double plumb_ulp_distance(plumb_dtype type, uint64_t a, uint64_t b) {
  if (!plumb_dtype_is_float(type))
    return fabs(plumb_dtype_to_double(type, a) - plumb_dtype_to_double(type, b));
  int64_t x = ordered(type, a), y = ordered(type, b);
  return x > y ? (double)((uint64_t)x - (uint64_t)y) : (double)((uint64_t)y - (uint64_t)x);
}

static uint64_t element_bits(plumb_dtype type, const void *data, size_t index) {
  unsigned bytes = plumb_dtype_bytes(type);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + index * bytes, bytes < 8 ? bytes : 8);
  return bits;
}

/* One element; the classes NaN and infinity are compared before any number. */
static plumb_verdict match(plumb_dtype type, uint64_t e, uint64_t a, const plumb_budget *budget,
                           const plumb_accept *accept, plumb_comparison *c) {
  if (e == a) return PLUMB_VERDICT_IDENTICAL;
  if (!plumb_dtype_is_float(type)) {
    if (accept->tolerance) {
      double distance = plumb_ulp_distance(type, e, a);
      if (distance <= accept->abs) return PLUMB_VERDICT_BOUNDED;
    }
    /* An integer that hangs on an uncertain comparison (an index of a maximum) has an
     * interval, which holds more than the legal values. */
    double av = plumb_dtype_to_double(type, a);
    bool open = budget && (isnan(budget->lo) ||
                           (budget->lo < budget->hi && budget->lo <= av && av <= budget->hi));
    return open ? PLUMB_VERDICT_UNDECIDED : PLUMB_VERDICT_DIVERGED;
  }
  double ev = plumb_dtype_to_double(type, e), av = plumb_dtype_to_double(type, a);
  if (isnan(ev) && isnan(av)) return PLUMB_VERDICT_IDENTICAL;
  bool unknown = budget && isnan(budget->lo) && !isnan(budget->shadow);
  if (isnan(ev) || isnan(av)) {
    c->nan_mismatches++;
    return unknown ? PLUMB_VERDICT_UNDECIDED : PLUMB_VERDICT_DIVERGED;
  }
  if (isinf(ev) || isinf(av)) {
    if (ev == av) return PLUMB_VERDICT_IDENTICAL;
    c->infinity_mismatches++;
    if (unknown) return PLUMB_VERDICT_UNDECIDED;
    /* An overflow that a legal order may or may not meet decides nothing. */
    if (budget && !isnan(budget->lo) && budget->lo <= av && av <= budget->hi)
      return PLUMB_VERDICT_UNDECIDED;
    return PLUMB_VERDICT_DIVERGED;
  }
  double ulp = plumb_ulp_distance(type, e, a), abs_error = fabs(av - ev);
  if (ulp > c->max_ulp) c->max_ulp = ulp;
  if (abs_error > c->max_abs) c->max_abs = abs_error;
  if (ev != 0 && abs_error / fabs(ev) > c->max_rel) c->max_rel = abs_error / fabs(ev);
  if (accept->tolerance)
    return abs_error <= accept->abs + accept->rel * fabs(ev) || ulp <= accept->ulp
               ? PLUMB_VERDICT_BOUNDED
               : PLUMB_VERDICT_DIVERGED;
  if (!budget) return PLUMB_VERDICT_DIVERGED;
  if (unknown || isinf(budget->lo) || isinf(budget->hi)) return PLUMB_VERDICT_UNDECIDED;
  /* A zero that no rounding has touched has one legal sign. */
  if (av == 0 && ev == 0 && budget->lo == budget->hi) return PLUMB_VERDICT_DIVERGED;
  return budget->lo <= av && av <= budget->hi ? PLUMB_VERDICT_BOUNDED : PLUMB_VERDICT_DIVERGED;
}

static bool is_written(plumb_dtype type, const unsigned char *initialised, size_t index) {
  unsigned bytes = plumb_dtype_bytes(type);
  return !initialised || !memchr(initialised + index * bytes, 0, bytes);
}

/* Elements from `index` on that are the same bits and initialised on both sides, looked at
 * in pieces: nearly all elements of nearly all stages are. */
enum { PIECE = 64 };
static size_t same_run(plumb_dtype type, size_t count, plumb_values e, plumb_values a,
                       size_t index) {
  size_t bytes = plumb_dtype_bytes(type), first = index;
  for (; count - index >= PIECE; index += PIECE) {
    size_t at = index * bytes, length = PIECE * bytes;
    if (memcmp((const char *)e.data + at, (const char *)a.data + at, length) != 0) break;
    if (e.initialised && memchr(e.initialised + at, 0, length)) break;
    if (a.initialised && memchr(a.initialised + at, 0, length)) break;
  }
  return index - first;
}

/* The same of one element of 4 bytes, cheaply; false may only mean that it needs a look. */
static bool same_word(plumb_dtype type, plumb_values e, plumb_values a, size_t index) {
  const uint32_t all = 0x01010101u;
  uint32_t words[4] = {0, 0, all, all};
  if (plumb_dtype_bytes(type) != 4) return false;
  memcpy(&words[0], (const char *)e.data + index * 4, 4);
  memcpy(&words[1], (const char *)a.data + index * 4, 4);
  if (e.initialised) memcpy(&words[2], e.initialised + index * 4, 4);
  if (a.initialised) memcpy(&words[3], a.initialised + index * 4, 4);
  return words[0] == words[1] && words[2] == all && words[3] == all;
}

plumb_comparison plumb_compare(plumb_dtype type, size_t count, plumb_values expected,
                               plumb_values actual, const plumb_budget *budgets,
                               const plumb_accept *accept) {
  plumb_comparison c = {.count = count, .worst = SIZE_MAX};
  double worst_ulp = -1;
  for (size_t i = 0; i < count; i++) {
    if (i % PIECE == 0) i += same_run(type, count, expected, actual, i);
    if (i == count) break;
    if (same_word(type, expected, actual, i)) continue;
    if (!is_written(type, expected.initialised, i)) {
      c.open++;
      continue;
    }
    uint64_t e = element_bits(type, expected.data, i), a = element_bits(type, actual.data, i);
    bool written = is_written(type, actual.initialised, i);
    plumb_verdict v = written ? match(type, e, a, budgets ? &budgets[i] : NULL, accept, &c)
                              : PLUMB_VERDICT_DIVERGED;
    c.undefined += !written;
    if (v == PLUMB_VERDICT_IDENTICAL) continue;
    c.different++;
    double ev = plumb_dtype_to_double(type, e), av = plumb_dtype_to_double(type, a);
    double ulp = isfinite(ev) && isfinite(av) ? plumb_ulp_distance(type, e, a) : (double)INFINITY;
    if (v > c.verdict || (v == c.verdict && ulp > worst_ulp)) {
      c.worst = i;
      c.worst_expected = ev;
      c.worst_actual = av;
      worst_ulp = ulp;
    }
    if (v > c.verdict) c.verdict = v;
  }
  return c;
}
