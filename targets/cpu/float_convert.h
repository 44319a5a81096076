/* Floats of every type in one exact form, and the one rounding back: the slow and sure
 * path of conversions and of arithmetic in types below f32. Vector loops for the common
 * conversions are in alu_convert.c; both must agree (tests/numerics/convert.c).
 *
 *     plumb_unpacked u = plumb_unpack(PLUMB_F16, bits);
 *     uint64_t r = plumb_pack(PLUMB_E4M3, &u, PLUMB_RN, true);
 */
#ifndef PLUMB_TARGETS_CPU_FLOAT_CONVERT_H
#define PLUMB_TARGETS_CPU_FLOAT_CONVERT_H

#include "ir/program.h"

typedef enum plumb_float_kind {
  PLUMB_ZERO,
  PLUMB_FINITE,
  PLUMB_INFINITE,
  PLUMB_IS_NAN
} plumb_float_kind;

/* FINITE: (-1)^negative * significand * 2^(exponent - 63), bit 63 of significand set;
 * `sticky` says that a nonzero tail below the significand was cut off. */
typedef struct plumb_unpacked {
  uint64_t significand;
  int32_t exponent;
  uint8_t kind;
  bool negative;
  bool sticky;
} plumb_unpacked;

plumb_unpacked plumb_unpack(plumb_dtype type, uint64_t bits);
plumb_unpacked plumb_unpack_double(double value);
/* The integer (negative ? -magnitude : magnitude); 0 is +0. */
plumb_unpacked plumb_unpack_int(bool negative, unsigned __int128 magnitude);

/* Rounds once to `type` (any float type; RS is read as RZ). Overflow: infinity or the
 * largest finite value as the mode says (IEEE 754-2019, 7.4); in e4m3 its NaN; with
 * `satfinite` and in fp4 and fp6 the largest finite value, infinite sources too. NaN:
 * canonical 0x7fffffff, 0x7fff, 0x7f, f64 0x7ff8 << 48; ue8m0 0xff; fp4 and fp6 the
 * largest value (PTX ISA 9.0, 9.7.9.21). ue8m0 takes the magnitude. */
uint64_t plumb_pack(plumb_dtype type, const plumb_unpacked *value, plumb_round round,
                    bool satfinite);

/* Rounds to an integer and clamps to [low, high] of `width` bits (128 at most). NaN is
 * `nan_bits`. The bits are those of the low `width` bits of the result. */
unsigned __int128 plumb_pack_int(const plumb_unpacked *value, plumb_round round, unsigned width,
                                 bool is_signed, unsigned __int128 nan_bits);

/* The largest finite encoding without sign, and where the sign bit is (0: no sign). */
uint64_t plumb_float_largest(plumb_dtype type);
uint64_t plumb_float_sign_bit(plumb_dtype type);
bool plumb_float_has_infinity(plumb_dtype type);
/* The canonical NaN of the type, or the largest value where it has none. */
uint64_t plumb_float_nan(plumb_dtype type);
bool plumb_float_is_subnormal(plumb_dtype type, uint64_t bits);

/* As plumb_pack to nearest even of a double that is exact or rounded to odd, fast. */
uint64_t plumb_pack_double(plumb_dtype type, double value, plumb_round round);

/* Results rounded to odd in double: with at least two spare bits a second rounding to a
 * narrower type in any mode gives what one rounding of the exact value gives (Boldo and
 * Melquiond, Emulation of FMA and correctly rounded sums, 2008). Exact where the
 * intermediate neither overflows nor falls below the normal doubles, as for operands of
 * every type up to 16 bits and tf32. */
double plumb_odd_add(double a, double b);
double plumb_odd_fma(double a, double b, double c); /* a * b must be exact in double */
double plumb_odd_div(double a, double b);
double plumb_odd_sqrt(double a);

#endif
