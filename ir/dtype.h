/* Element types: the one table (dtype.def) and what can be asked of a row. */
#ifndef PLUMB_IR_DTYPE_H
#define PLUMB_IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum plumb_dtype {
#define X(name, text, bits, bytes, class, exponent, fraction) PLUMB_##name,
#include "ir/dtype.def"
#undef X
  PLUMB_DTYPE_COUNT
} plumb_dtype;

typedef struct plumb_dtype_info {
  const char *text;
  uint8_t bits;
  uint8_t storage_bytes;
  uint8_t is_float;
  uint8_t exponent_bits;
  uint8_t fraction_bits;
} plumb_dtype_info;

extern const plumb_dtype_info plumb_dtype_table[PLUMB_DTYPE_COUNT];

static inline unsigned plumb_dtype_bytes(plumb_dtype type) {
  return plumb_dtype_table[type].storage_bytes;
}
static inline bool plumb_dtype_is_float(plumb_dtype type) {
  return plumb_dtype_table[type].is_float != 0;
}

/* The type with this name ("f32"); false if there is none. */
bool plumb_dtype_from_text(const char *text, size_t length, plumb_dtype *out_type);

/* The value of one element given by its bits (low bits of `bits`); every type
 * but I64/I128 fits a double exactly. Integers are read as signed; i1 as 0/1. */
double plumb_dtype_to_double(plumb_dtype type, uint64_t bits);

/* Rounds to nearest, ties to even (IEEE 754-2019, 4.3.1), once, to the type.
 * Overflow gives infinity, or the largest finite value in types that have no
 * infinity. Integers: truncated toward zero and clamped. */
uint64_t plumb_dtype_from_double(plumb_dtype type, double value);

#endif
