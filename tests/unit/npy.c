/* .npy files: written and read back, headers of other writers, and broken files. */
#include "tasks/npy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char path[] = "/tmp/plumb-npy-XXXXXX";

static void put_file(const char *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(bytes, 1, length, file) == length, "cannot write %s", path);
  if (file) fclose(file);
}

static const plumb_dtype written[] = {PLUMB_I1,  PLUMB_I8,  PLUMB_I16, PLUMB_I32,
                                      PLUMB_I64, PLUMB_F16, PLUMB_F32, PLUMB_F64};

static void check_round_trip(plumb_arena *arena, plumb_dtype type) {
  int64_t dims[] = {2, 3};
  unsigned char data[48];
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)(type == PLUMB_I1 ? i & 1 : i * 7);
  plumb_array array = {type, 2, dims, 6, data}, back;
  plumb_diag diag = {0};
  CHECK(plumb_npy_write(path, &array, &diag) == PLUMB_OK, "%s", diag.message);
  plumb_status status = plumb_npy_read(arena, path, &back, &diag);
  CHECK(status == PLUMB_OK, "%s", diag.message);
  if (status != PLUMB_OK) return;
  CHECK(back.type == type && back.rank == 2 && back.count == 6, "%s", plumb_dtype_table[type].text);
  CHECK(back.dims[0] == 2 && back.dims[1] == 3, "%s", plumb_dtype_table[type].text);
  CHECK(memcmp(back.data, data, 6 * plumb_dtype_bytes(type)) == 0, "%s",
        plumb_dtype_table[type].text);
}

#define MAGIC "\x93NUMPY"
#define FILE_ROW(name, header, status, message) {name, header, sizeof header - 1, status, message}

/* Version 1.0 files unless the row says otherwise; header lengths are written out. */
static const struct {
  const char *name;
  const char *bytes;
  size_t length;
  plumb_status status;
  const char *message; /* NULL: two f32, 1 and 2 */
} files[] = {
    FILE_ROW("version 1",
             MAGIC "\1\0\x39\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
                   "\0\0\x80\x3f\0\0\0\x40",
             PLUMB_OK, NULL),
    FILE_ROW("version 2",
             MAGIC "\2\0\x39\0\0\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
                   "\0\0\x80\x3f\0\0\0\x40",
             PLUMB_OK, NULL),
    FILE_ROW("another order of keys",
             MAGIC "\1\0\x37\0{'shape': (2,), 'fortran_order': False, 'descr': '<f4'}"
                   "\0\0\x80\x3f\0\0\0\x40",
             PLUMB_OK, NULL),
    FILE_ROW("empty", "", PLUMB_BAD_INPUT, "is no .npy file"),
    FILE_ROW("text", "hello, world, this is text", PLUMB_BAD_INPUT, "is no .npy file"),
    FILE_ROW("short header", MAGIC "\1\0\xff\0{'descr': '<f4'", PLUMB_BAD_INPUT,
             "is truncated in its header"),
    FILE_ROW("no shape", MAGIC "\1\0\x28\0{'descr': '<f4', 'fortran_order': False}",
             PLUMB_BAD_INPUT, "its header lacks descr, order or shape"),
    FILE_ROW("short data",
             MAGIC "\1\0\x39\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\0\0\x80",
             PLUMB_BAD_INPUT, "is truncated: its shape needs more bytes"),
    FILE_ROW("big endian",
             MAGIC "\1\0\x39\0{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
             PLUMB_UNSUPPORTED, "element type '>f4', ' is not read"),
    FILE_ROW("Fortran order",
             MAGIC "\1\0\x38\0{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }",
             PLUMB_UNSUPPORTED, "is in Fortran order; save it in C order"),
    FILE_ROW("negative shape",
             MAGIC "\1\0\x3a\0{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
             PLUMB_BAD_INPUT, "the shape in its header is no shape"),
    FILE_ROW("shape that overflows",
             MAGIC "\1\0\x61\0{'descr': '<f4', 'fortran_order': False, "
                   "'shape': (9223372036854775807, 9223372036854775807,)}   ",
             PLUMB_BAD_INPUT, "the shape in its header is no shape"),
};

int main(void) {
  int descriptor = mkstemp(path);
  if (descriptor < 0) return 1;
  close(descriptor);
  plumb_arena *arena = plumb_arena_create();
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) check_round_trip(arena, written[i]);

  float one = 1;
  plumb_array scalar = {PLUMB_F32, 0, NULL, 1, &one}, back;
  plumb_diag diag = {0};
  CHECK(plumb_npy_write(path, &scalar, &diag) == PLUMB_OK, "%s", diag.message);
  CHECK(plumb_npy_read(arena, path, &back, &diag) == PLUMB_OK, "%s", diag.message);
  CHECK(back.rank == 0 && back.count == 1 && *(float *)back.data == 1, "a scalar");

  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    put_file(files[i].bytes, files[i].length);
    plumb_status status = plumb_npy_read(arena, path, &back, &diag);
    CHECK(status == files[i].status, "%s: status %d, %s", files[i].name, (int)status, diag.message);
    if (files[i].message) {
      CHECK(strcmp(diag.message, files[i].message) == 0, "%s: got \"%s\"", files[i].name,
            diag.message);
    } else if (status == PLUMB_OK) {
      const float *data = back.data;
      CHECK(back.type == PLUMB_F32 && back.rank == 1 && back.count == 2, "%s", files[i].name);
      CHECK(data[0] == 1 && data[1] == 2, "%s: %g %g", files[i].name, (double)data[0],
            (double)data[1]);
    }
  }
  unlink(path);
  CHECK(plumb_npy_read(arena, path, &back, &diag) == PLUMB_BAD_INPUT, "a missing file");
  plumb_arena_destroy(arena);
  return check_finish();
}
