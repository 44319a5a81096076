#include "tasks/value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tasks/npy.h"
#include "verify/fill.h"

static plumb_status fail(plumb_diag *diag, const char *text, const char *what) {
  return plumb_fail(diag, PLUMB_BAD_INPUT, NULL, 0, 0, "value '%.60s': %s", text, what);
}

/* A number as bits of the type; `*at` moves past it. */
static bool read_number(const char **at, plumb_dtype type, uint64_t *out_bits) {
  const char *text = *at;
  char *end;
  errno = 0;
  size_t sign = *text == '-' || *text == '+';
  if (text[sign] == '0' && (text[sign + 1] | 0x20) == 'x') {
    if (sign) return false; /* a bit pattern has none; strtof would read a number */
    *out_bits = strtoull(text, &end, 16);
    unsigned bits = plumb_dtype_bytes(type) * 8;
    if (bits < 64 && *out_bits >> bits) return false;
  } else if (strncmp(text, "true", 4) == 0) {
    *out_bits = plumb_dtype_from_double(type, 1);
    end = (char *)(uintptr_t)text + 4;
  } else if (strncmp(text, "false", 5) == 0) {
    *out_bits = plumb_dtype_from_double(type, 0);
    end = (char *)(uintptr_t)text + 5;
  } else if (plumb_dtype_is_float(type)) {
    /* strtof rounds the decimal once; going through double would round twice. */
    if (type == PLUMB_F32) {
      float value = strtof(text, &end);
      uint32_t bits;
      memcpy(&bits, &value, sizeof bits);
      *out_bits = bits;
    } else {
      *out_bits = plumb_dtype_from_double(type, strtod(text, &end));
    }
  } else {
    bool negative = *text == '-';
    *out_bits = negative ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    if (errno) return false;
  }
  if (end == text) return false;
  *at = end;
  return true;
}

static void put(plumb_array *a, size_t index, uint64_t bits) {
  unsigned bytes = plumb_dtype_bytes(a->type);
  memcpy((char *)a->data + index * bytes, &bits, bytes < 8 ? bytes : 8);
}

/* `i64:` and `2x3:` before the value. */
static const char *read_prefix(const char *at, plumb_dtype *type, bool *typed, int64_t *dims,
                               size_t *rank, bool *shaped) {
  for (;;) {
    const char *colon = strchr(at, ':');
    const char *bracket = strpbrk(at, "[@");
    if (!colon || (bracket && bracket < colon)) return at;
    size_t length = (size_t)(colon - at);
    plumb_dtype named;
    if (plumb_dtype_from_text(at, length, &named)) {
      *type = named;
      *typed = true;
    } else if (isdigit((unsigned char)*at)) {
      *rank = 0;
      *shaped = true;
      for (const char *c = at; c < colon && *rank < 16;) {
        char *end;
        dims[(*rank)++] = strtoll(c, &end, 10);
        if (end == c || (*end != 'x' && end != colon)) return NULL;
        c = end + 1;
      }
    } else {
      return at;
    }
    at = colon + 1;
  }
}

static plumb_status allocate(plumb_arena *arena, const char *text, plumb_array *a,
                             plumb_diag *diag) {
  a->count = 1;
  for (size_t d = 0; d < a->rank; d++)
    if (a->dims[d] < 0 || __builtin_mul_overflow(a->count, (size_t)a->dims[d], &a->count) ||
        a->count > (1u << 30))
      return fail(diag, text, "its shape is unknown or too large; write it as 2x3:...");
  a->data = plumb_arena_alloc_array(arena, a->count, plumb_dtype_bytes(a->type));
  return PLUMB_OK;
}

static plumb_status read_list(plumb_arena *arena, const char *text, const char *at, bool shaped,
                              plumb_value *v, plumb_diag *diag) {
  size_t count = 0;
  for (const char *c = at + 1; *c && *c != ']'; c++) count += *c == ',';
  if (at[1] != ']') count++;
  size_t unknown = SIZE_MAX, known = 1;
  for (size_t d = 0; d < v->array.rank; d++) {
    if (v->array.dims[d] < 0 && unknown == SIZE_MAX)
      unknown = d;
    else if (v->array.dims[d] < 0)
      return fail(diag, text, "its shape is not known; write it as 2x3:[...]");
    else
      known *= (size_t)v->array.dims[d];
  }
  if (!v->array.rank && !shaped) {
    v->array.rank = 1;
    v->array.dims[0] = (int64_t)count;
  } else if (unknown != SIZE_MAX) {
    v->array.dims[unknown] = known ? (int64_t)(count / known) : 0;
  }
  PLUMB_TRY(allocate(arena, text, &v->array, diag));
  if (v->array.count != count)
    return fail(diag, text, "the number of elements does not fit the shape");
  at++;
  for (size_t i = 0; i < count; i++) {
    while (*at == ' ') at++;
    uint64_t bits;
    if (!read_number(&at, v->array.type, &bits))
      return fail(diag, text, "an element is no number of its type");
    put(&v->array, i, bits);
    while (*at == ' ') at++;
    if (*at == ',') at++;
  }
  while (*at == ' ') at++;
  return at[0] == ']' && !at[1] ? PLUMB_OK : fail(diag, text, "expected ']' at the end");
}

static plumb_status read_fill(plumb_arena *arena, const char *text, const char *at, plumb_value *v,
                              plumb_diag *diag) {
  char kind[32];
  const char *comma = strchr(at, ',');
  size_t length = comma ? (size_t)(comma - at) : strlen(at);
  if (length >= sizeof kind) return fail(diag, text, "unknown fill");
  memcpy(kind, at, length);
  kind[length] = 0;
  plumb_fill fill;
  if (!plumb_fill_from_text(kind, &fill))
    return fail(diag, text,
                "unknown fill (known: exact, normal, uniform, special, zeros, ones, iota)");
  PLUMB_TRY(allocate(arena, text, &v->array, diag));
  plumb_fill_write(&fill, v->array.type, comma ? strtoull(comma + 1, NULL, 10) : 0, v->array.count,
                   v->array.data);
  return PLUMB_OK;
}

plumb_status plumb_value_parse(plumb_arena *arena, const char *text, plumb_dtype type,
                               const int64_t *dims, size_t rank, plumb_value *out_value,
                               plumb_diag *diag) {
  plumb_value *v = out_value;
  bool shaped = dims != NULL;
  *v = (plumb_value){.array = {.type = type, .rank = dims ? rank : 0}};
  v->array.dims = PLUMB_NEW_ARRAY(arena, int64_t, 16);
  for (size_t d = 0; dims && d < rank && d < 16; d++) v->array.dims[d] = dims[d];
  const char *at =
      read_prefix(text, &v->array.type, &v->typed, v->array.dims, &v->array.rank, &shaped);
  if (!at) return fail(diag, text, "the shape before ':' is no shape");
  if (type != PLUMB_DTYPE_COUNT && v->array.type != type)
    return fail(diag, text, "its type is not that of the argument");
  if (*at == '@') {
    PLUMB_TRY(plumb_npy_read(arena, at + 1, &v->array, diag));
    if (type != PLUMB_DTYPE_COUNT && plumb_dtype_bytes(type) != plumb_dtype_bytes(v->array.type))
      return fail(diag, text, "the file's element type is not that of the argument");
    if (type != PLUMB_DTYPE_COUNT) v->array.type = type;
    return PLUMB_OK;
  }
  if (v->array.type == PLUMB_DTYPE_COUNT) {
    bool floating = strpbrk(at, ".") || strstr(at, "nan") || strstr(at, "inf");
    v->array.type = floating || strncmp(at, "fill:", 5) == 0 ? PLUMB_F32 : PLUMB_I32;
  }
  if (strncmp(at, "fill:", 5) == 0) return read_fill(arena, text, at + 5, v, diag);
  if (*at == '[') return read_list(arena, text, at, shaped, v, diag);
  v->is_scalar = true;
  v->array.rank = 0;
  PLUMB_TRY(allocate(arena, text, &v->array, diag));
  uint64_t bits;
  if (!read_number(&at, v->array.type, &bits) || *at)
    return fail(diag, text, "is no number, list, @file.npy or fill:KIND,seed");
  put(&v->array, 0, bits);
  return PLUMB_OK;
}

void plumb_value_print(const plumb_array *array, plumb_text *out) {
  int digits = array->type == PLUMB_F64 ? 17 : 9;
  unsigned bytes = plumb_dtype_bytes(array->type);
  if (array->rank) plumb_text_printf(out, "[");
  for (size_t i = 0; i < array->count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)array->data + i * bytes, bytes < 8 ? bytes : 8);
    plumb_text_printf(out, "%s", i ? ", " : "");
    if (plumb_dtype_is_float(array->type))
      plumb_text_printf(out, "%.*g", digits, plumb_dtype_to_double(array->type, bits));
    else if (array->type == PLUMB_I64)
      plumb_text_printf(out, "%lld", (long long)bits);
    else
      plumb_text_printf(out, "%.0f", plumb_dtype_to_double(array->type, bits));
  }
  if (array->rank) plumb_text_printf(out, "]");
}
