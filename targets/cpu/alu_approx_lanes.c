/* ex2, lg2, sin and cos of many lanes at once. In double, by polynomials whose error is below that
 * of their rounding; what lies so close to the middle between two floats that this could tell,
 * and everything out of the ordinary, is left to the C library, lane by lane. No operation here
 * can be fused, so that every machine gives the same bits. */
#include <math.h>

#include "targets/cpu/alu_approx.h"

enum { N = PLUMB_APPROX_CHUNK };

#define SHIFT 0x1.8p52 /* adding it rounds to an integer, which is then in the low bits */
#define LN2 0x1.62e42fefa39efp-1

/* 1 / k!, and with the sign of the sine's and cosine's series. */
#define F2 (1.0 / 2)
#define F3 (F2 / 3)
#define F4 (F3 / 4)
#define F5 (F4 / 5)
#define F6 (F5 / 6)
#define F7 (F6 / 7)
#define F8 (F7 / 8)
#define F9 (F8 / 9)
#define F10 (F9 / 10)
#define F11 (F10 / 11)
#define F12 (F11 / 12)
#define F13 (F12 / 13)
#define F14 (F13 / 14)
#define F15 (F14 / 15)
#define F16 (F15 / 16)
#define F17 (F16 / 17)

/* 2^a = 2^n e^(f ln 2), f in [-1/2, 1/2]. The sum's first omitted term is below 2^-56. */
PLUMB_CLONES
static void ex2_lanes(const double *a, double *r) {
  for (int i = 0; i < N; i++) {
    double x = a[i] < -200 ? -200 : a[i] > 200 ? 200 : a[i];
    double n = x + SHIFT, f = (x - (n - SHIFT)) * LN2;
    double sum = F12 + f * F13;
    sum = F11 + f * sum;
    sum = F10 + f * sum;
    sum = F9 + f * sum;
    sum = F8 + f * sum;
    sum = F7 + f * sum;
    sum = F6 + f * sum;
    sum = F5 + f * sum;
    sum = F4 + f * sum;
    sum = F3 + f * sum;
    sum = F2 + f * sum;
    sum = 1 + f * (1 + f * sum);
    r[i] = f64_of(bits_of_f64(sum) + (bits_of_f64(n) << 52));
  }
}

/* a = k pi / 2 + x, by pi / 2 in parts of 33 bits (Cody and Waite): below 2^19, k times a part is
 * exact. */
#define HALF_PI_1 0x1.921fb544p+0
#define HALF_PI_2 0x1.0b4611a6p-34
#define HALF_PI_3 0x1.3198a2e037073p-69

PLUMB_CLONES
static void sine_lanes(const double *a, double *r, uint64_t quarter) {
  for (int i = 0; i < N; i++) {
    double n = a[i] * 0x1.45f306dc9c883p-1 + SHIFT, k = n - SHIFT;
    double x = ((a[i] - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    uint64_t turn = bits_of_f64(n) + quarter;
    double q = x * x;
    double s = F15 - q * F17, c = F14 - q * F16;
    s = F13 - q * s;
    c = F12 - q * c;
    s = F11 - q * s;
    c = F10 - q * c;
    s = F9 - q * s;
    c = F8 - q * c;
    s = F7 - q * s;
    c = F6 - q * c;
    s = F5 - q * s;
    c = F4 - q * c;
    s = F3 - q * s;
    c = F2 - q * c;
    s = x - x * (q * s);
    c = 1 - q * c;
    uint64_t bits = turn & 1 ? bits_of_f64(c) : bits_of_f64(s);
    r[i] = f64_of(bits ^ (turn & 2) << 62);
  }
}

/* a = 2^e m, m in [sqrt(1/2), sqrt(2)); log2 m = 2 / ln 2 * artanh((m - 1) / (m + 1)). The
 * first omitted term is below 2^-60 of the first. */
#define TERM(k) (2 * 0x1.71547652b82fep+0 / (k))
PLUMB_CLONES
static void lg2_lanes(const double *a, double *r) {
  const uint64_t half_root = 0x3fe6a09e667f3bcdull; /* sqrt(1/2) */
  for (int i = 0; i < N; i++) {
    uint64_t bits = bits_of_f64(a[i]);
    uint64_t e = (bits - half_root) >> 52; /* modulo 2^12 */
    double m = f64_of(bits - (e << 52));
    double exponent = f64_of(bits_of_f64(SHIFT) + ((e ^ 0x800) - 0x800)) - SHIFT;
    double s = (m - 1) / (m + 1), q = s * s;
    double sum = TERM(19) + q * TERM(21);
    sum = TERM(17) + q * sum;
    sum = TERM(15) + q * sum;
    sum = TERM(13) + q * sum;
    sum = TERM(11) + q * sum;
    sum = TERM(9) + q * sum;
    sum = TERM(7) + q * sum;
    sum = TERM(5) + q * sum;
    sum = TERM(3) + q * sum;
    sum = TERM(1) + q * sum;
    r[i] = exponent + s * sum;
  }
}

typedef struct range {
  double low, high; /* of operands, both excluded */
} range;

/* Whether the float next to r is plain to see, of an operand in the range: r is not within SAFE
 * units in its last place of the middle between two floats, which below 2^-126 lies elsewhere. */
static inline bool is_plain(range within, double a, double r) {
  enum { SAFE = 64 };
  uint64_t low = bits_of_f64(r) & 0x1fffffff;
  return (low - (0x10000000 - SAFE) > 2 * SAFE) & (fabs(r) >= 0x1p-126) & (a > within.low) &
         (a < within.high);
}

PLUMB_CLONES
static uint64_t are_plain(range within, const double *a, const double *r) {
  uint64_t plain = 1;
  for (int i = 0; i < N; i++) plain &= is_plain(within, a[i], r[i]);
  return plain;
}

bool plumb_approx_lanes(plumb_approx which, const double *a, double *r) {
  double (*exactly)(double);
  range within = {-0x1p19, 0x1p19};
  switch (which) {
    case PLUMB_APPROX_EX2:
      exactly = exp2;
      within = (range){-200, 200};
      ex2_lanes(a, r);
      break;
    case PLUMB_APPROX_LG2:
      exactly = log2;
      within = (range){0, (double)INFINITY};
      lg2_lanes(a, r);
      break;
    case PLUMB_APPROX_SIN:
      exactly = sin;
      sine_lanes(a, r, 0);
      break;
    case PLUMB_APPROX_COS:
      exactly = cos;
      sine_lanes(a, r, 1);
      break;
    default:
      return false;
  }
  if (are_plain(within, a, r)) return true;
  for (int i = 0; i < N; i++)
    if (!is_plain(within, a[i], r[i])) r[i] = exactly(a[i]);
  return true;
}
