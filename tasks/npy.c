#include "tasks/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  plumb_dtype type;
  const char *descr;
} descrs[] = {
    {PLUMB_I1, "|b1"},   {PLUMB_I8, "|i1"},   {PLUMB_I8, "|u1"},  {PLUMB_I16, "<i2"},
    {PLUMB_I16, "<u2"},  {PLUMB_I32, "<i4"},  {PLUMB_I32, "<u4"}, {PLUMB_I64, "<i8"},
    {PLUMB_I64, "<u8"},  {PLUMB_F16, "<f2"},  {PLUMB_F32, "<f4"}, {PLUMB_F64, "<f8"},
    {PLUMB_BF16, "<u2"}, {PLUMB_TF32, "<f4"},
};

/* The text after `key` in the header's dictionary. */
static const char *value_of(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == ' ' || *at == ':') at++;
  return at;
}

static plumb_status parse_shape(plumb_arena *arena, const char *path, const char *text,
                                plumb_array *out, plumb_diag *diag) {
  int64_t dims[32];
  out->count = 1;
  for (text++; *text && *text != ')';) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || errno || value < 0 || out->rank == 32 ||
        __builtin_mul_overflow(out->count, (size_t)value, &out->count))
      return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "the shape in its header is no shape");
    dims[out->rank++] = value;
    text = end;
    while (*text == ',' || *text == ' ') text++;
  }
  out->dims = PLUMB_NEW_ARRAY(arena, int64_t, out->rank);
  memcpy(out->dims, dims, out->rank * sizeof *dims);
  return PLUMB_OK;
}

static plumb_status parse_header(plumb_arena *arena, const char *path, const char *header,
                                 plumb_array *out, plumb_diag *diag) {
  const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
  const char *shape = value_of(header, "'shape'");
  if (!descr || !order || !shape || *shape != '(')
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "its header lacks descr, order or shape");
  if (strncmp(order, "False", 5) != 0)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0,
                      "is in Fortran order; save it in C order");
  out->type = PLUMB_DTYPE_COUNT;
  for (size_t i = sizeof descrs / sizeof *descrs; i-- > 0;)
    if (strncmp(descr + 1, descrs[i].descr, 3) == 0 && descr[4] == descr[0])
      out->type = descrs[i].type;
  if (out->type == PLUMB_DTYPE_COUNT)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0, "element type %.8s is not read", descr);
  return parse_shape(arena, path, shape, out, diag);
}

plumb_status plumb_npy_read(plumb_arena *arena, const char *path, plumb_array *out_array,
                            plumb_diag *diag) {
  char *text;
  size_t length;
  PLUMB_TRY(plumb_file_read(arena, path, &text, &length, diag));
  if (length < 12 || memcmp(text, "\x93NUMPY", 6) != 0)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "is no .npy file");
  const unsigned char *bytes = (const unsigned char *)text;
  bool first = bytes[6] == 1;
  size_t start = first ? 10 : 12;
  size_t header_bytes = bytes[8] | (size_t)bytes[9] << 8;
  if (!first) header_bytes |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (header_bytes > length - start)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "is truncated in its header");
  const char *header = plumb_arena_copy_text(arena, text + start, header_bytes);
  *out_array = (plumb_array){0};
  PLUMB_TRY(parse_header(arena, path, header, out_array, diag));
  size_t data_bytes;
  if (__builtin_mul_overflow(out_array->count, (size_t)plumb_dtype_bytes(out_array->type),
                             &data_bytes) ||
      data_bytes > length - start - header_bytes)
    return plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0,
                      "is truncated: its shape needs more bytes");
  out_array->data = plumb_arena_alloc(arena, data_bytes);
  memcpy(out_array->data, text + start + header_bytes, data_bytes);
  return PLUMB_OK;
}

plumb_status plumb_npy_write(const char *path, const plumb_array *array, plumb_diag *diag) {
  const char *descr = "|u1";
  for (size_t i = sizeof descrs / sizeof *descrs; i-- > 0;)
    if (descrs[i].type == array->type) descr = descrs[i].descr;
  char header[1024];
  int n =
      snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (size_t d = 0; d < array->rank && n < 900; d++)
    n += snprintf(header + n, sizeof header - (size_t)n, "%lld,", (long long)array->dims[d]);
  n += snprintf(header + n, sizeof header - (size_t)n, "), }");
  size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64;
  while (10 + (size_t)n + 1 < total) header[n++] = ' ';
  header[n++] = '\n';
  unsigned char magic[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  size_t bytes = array->count * plumb_dtype_bytes(array->type);
  FILE *file = fopen(path, "wb");
  bool ok = file && fwrite(magic, 1, 10, file) == 10 &&
            fwrite(header, 1, (size_t)n, file) == (size_t)n &&
            fwrite(array->data, 1, bytes, file) == bytes;
  if (file && fclose(file) != 0) ok = false;
  return ok ? PLUMB_OK
            : plumb_fail(diag, PLUMB_BAD_INPUT, path, 0, 0, "cannot write: %s", strerror(errno));
}
