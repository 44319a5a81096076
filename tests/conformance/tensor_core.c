/* Recorded results of matrix units against the models: `tensor_core DIR` runs every file
 * <gpu>_<input>_<output>.txt of a folder. A line is
 *
 *     a_0 .. a_{K-1} | b_0 .. b_{K-1} | c | d
 *
 * all as f32 bit patterns in hexadecimal, of values that the named types hold. Each becomes
 * one element of an mma.sync in PTX text, which is decoded and executed with the model that
 * the file's name says. Prints each file's and the total `N passed, M failed`; exits 0 if
 * none failed, 2 for a folder or a file that cannot be run. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/mma.h"
#include "ir/ptx/ptx.h"
#include "targets/cpu/cpu.h"

enum { MAX_K = 64, MAX_LINES = 100000 };

typedef struct vector {
  uint32_t a[MAX_K], b[MAX_K], c, d;
  unsigned k;
} vector;

typedef struct suite {
  const char *path;
  plumb_arena *arena;
  plumb_model model;
  plumb_mma mma;
  bool without_c;
  vector *vectors;
  size_t count;
} suite;

static float f32_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* --- files --- */

/* The next hexadecimal numbers up to `end`; false if something else stands there. */
static bool read_numbers(const char **at, char end, uint32_t *out, unsigned *count) {
  for (*count = 0;;) {
    while (**at == ' ') ++*at;
    if (**at == end) {
      ++*at;
      return true;
    }
    char *after;
    unsigned long v = strtoul(*at, &after, 16);
    if (after == *at || *count == MAX_K || v > UINT32_MAX) return false;
    out[(*count)++] = (uint32_t)v;
    *at = after;
  }
}

static bool read_line(const char **at, vector *v) {
  unsigned k, c, d;
  uint32_t one[MAX_K];
  if (!read_numbers(at, '|', v->a, &v->k) || !read_numbers(at, '|', v->b, &k)) return false;
  if (!read_numbers(at, '|', one, &c) || c != 1) return false;
  v->c = one[0];
  if (!read_numbers(at, '\n', one, &d) || d != 1) return false;
  v->d = one[0];
  return v->k == k && k > 0;
}

static plumb_status read_vectors(suite *s, plumb_diag *diag) {
  char *bytes, *text;
  size_t length;
  PLUMB_TRY(plumb_file_read(s->arena, s->path, &bytes, &length, diag));
  text = plumb_arena_printf(s->arena, "%s\n", bytes);
  s->vectors = PLUMB_NEW_ARRAY(s->arena, vector, MAX_LINES);
  for (const char *at = text; *at;) {
    if (*at == '\n' || *at == '\r') {
      at++;
      continue;
    }
    if (s->count == MAX_LINES || !read_line(&at, &s->vectors[s->count]) ||
        s->vectors[s->count].k != s->vectors[0].k)
      return plumb_fail(diag, PLUMB_BAD_INPUT, s->path, (int)s->count + 1, 0,
                        "expected `a .. | b .. | c | d` in hexadecimal, K numbers each in a and b");
    s->count++;
  }
  return s->count ? PLUMB_OK : plumb_fail(diag, PLUMB_BAD_INPUT, s->path, 0, 0, "no vectors");
}

/* "fp16" is PTX's f16. */
static bool type_of(const char *name, plumb_mma_type *out) {
  char text[16];
  snprintf(text, sizeof text, "%s", name);
  if (strncmp(text, "fp", 2) == 0) memmove(text + 1, text + 2, strlen(text + 1));
  return plumb_mma_type_find(text, out);
}

/* Model and types from the name, the shape from K. */
static plumb_status identify(suite *s, const char *file, plumb_diag *diag) {
  plumb_mma_type in, out;
  char *gpu = plumb_arena_copy_text(s->arena, file, strlen(file) - strlen(".txt"));
  char *output = strrchr(gpu, '_'), *input = NULL;
  if (output) *output++ = 0;
  if (output) input = strrchr(gpu, '_');
  if (!input)
    return plumb_fail(diag, PLUMB_BAD_INPUT, s->path, 0, 0,
                      "the name is not <gpu>_<input>_<output>.txt");
  *input++ = 0;
  if (!plumb_model_find(gpu, &s->model) || s->model == PLUMB_MODEL_REFERENCE)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, s->path, 0, 0, "no model of a GPU `%s`; known: %s",
                      gpu, plumb_model_names());
  if (!type_of(input, &in) || !type_of(output, &out))
    return plumb_fail(diag, PLUMB_UNSUPPORTED, s->path, 0, 0, "no element type `%s` or `%s`", input,
                      output);
  unsigned k = s->vectors[0].k;
  s->mma = (plumb_mma){.m = 16,
                       .n = 8,
                       .k = (uint16_t)k,
                       .a = (uint8_t)in,
                       .b = (uint8_t)in,
                       .c = (uint8_t)out,
                       .d = (uint8_t)out};
  if (in == PLUMB_MMA_F16 && k == 4) s->mma.m = 8;
  if (!plumb_mma_valid(&s->mma))
    return plumb_fail(diag, PLUMB_UNSUPPORTED, s->path, 0, 0,
                      "no mma.sync multiplies %u %s to %s at a time", k, input, output);
  s->without_c = s->model == PLUMB_MODEL_HOPPER && out == PLUMB_MMA_F32 &&
                 (in == PLUMB_MMA_E4M3 || in == PLUMB_MMA_E5M2);
  plumb_product p = {
      .model = s->model, .a = (uint8_t)in, .b = (uint8_t)in, .c = (uint8_t)out, .d = (uint8_t)out};
  return plumb_product_check(&p, diag);
}

/* --- the kernel --- */

static void append_regs(plumb_text *t, char letter, unsigned count) {
  for (unsigned i = 0; i < count; i++) plumb_text_printf(t, "%s%%%c%u", i ? ", " : "{", letter, i);
  plumb_text_printf(t, "}");
}

/* Lane l of block n loads its registers from p + ((n * 32 + l) * registers + r) * 4, and
 * stores D at q in the same way. */
static const char *kernel_text(const suite *s) {
  const plumb_mma *mma = &s->mma;
  plumb_text t = plumb_text_create(s->arena);
  unsigned regs[4], all = 0, at = 0;
  for (int w = 0; w < 4; w++) {
    regs[w] = plumb_mma_regs(mma, (plumb_mma_matrix)w);
    if (w < 3) all += regs[w];
  }
  bool f32 = mma->d == PLUMB_MMA_F32;
  plumb_text_printf(
      &t,
      ".version 8.7\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
      ".reg .b32 %%t<4>, %%a<8>, %%b<8>; .reg .b64 %%x<4>; .reg %s %%c<8>, %%d<8>;\n"
      "mov.u32 %%t0, %%tid.x; mov.u32 %%t1, %%ctaid.x; mad.lo.u32 %%t0, %%t1, 32, %%t0;\n"
      "ld.param.u64 %%x0, [p]; mul.wide.u32 %%x1, %%t0, %u; add.u64 %%x0, %%x0, %%x1;\n"
      "ld.param.u64 %%x2, [q]; mul.wide.u32 %%x3, %%t0, %u; add.u64 %%x2, %%x2, %%x3;\n",
      f32 ? ".f32" : ".b32", all * 4, regs[3] * 4);
  for (int w = 0; w < 3; w++)
    for (unsigned i = 0; i < regs[w]; i++, at += 4)
      plumb_text_printf(&t, "ld.global.%s %%%c%u, [%%x0+%u];\n", w == 2 && f32 ? "f32" : "b32",
                        "abc"[w], i, at);
  plumb_text_printf(&t, "mma.sync.aligned.m%un%uk%u.row.col.%s.%s.%s.%s ", mma->m, mma->n, mma->k,
                    plumb_mma_type_table[mma->d].text, plumb_mma_type_table[mma->a].text,
                    plumb_mma_type_table[mma->b].text, plumb_mma_type_table[mma->c].text);
  for (int w = 0; w < 4; w++) {
    append_regs(&t, "dabc"[w], regs[w ? w - 1 : 3]);
    plumb_text_printf(&t, w < 3 ? ", " : ";\n");
  }
  for (unsigned i = 0; i < regs[3]; i++)
    plumb_text_printf(&t, "st.global.%s [%%x2+%u], %%d%u;\n", f32 ? "f32" : "b32", i * 4, i);
  plumb_text_printf(&t, "ret;\n}\n");
  return plumb_arena_copy_text(s->arena, t.data, t.length);
}

/* --- running --- */

static uint32_t bits_of(plumb_mma_type type, uint32_t f32_bits) {
  static const uint8_t types[PLUMB_MMA_TYPE_COUNT] = {[PLUMB_MMA_F16] = PLUMB_F16,
                                                      [PLUMB_MMA_BF16] = PLUMB_BF16,
                                                      [PLUMB_MMA_E4M3] = PLUMB_E4M3,
                                                      [PLUMB_MMA_E5M2] = PLUMB_E5M2};
  if (type == PLUMB_MMA_TF32 || type == PLUMB_MMA_F32) return f32_bits;
  return (uint32_t)plumb_dtype_from_double((plumb_dtype)types[type], (double)f32_of(f32_bits));
}

/* Where element (row, column) of block `block` is among the words of fragments. */
static uint32_t *word_of(const suite *s, uint32_t *words, size_t block, plumb_mma_matrix which,
                         unsigned product, unsigned row, unsigned column, unsigned *out_shift) {
  unsigned before = 0, all = 0;
  for (int w = 0; w < 3; w++) {
    if (w < (int)which) before += plumb_mma_regs(&s->mma, (plumb_mma_matrix)w);
    all += plumb_mma_regs(&s->mma, (plumb_mma_matrix)w);
  }
  if (which == PLUMB_MMA_D) before = 0, all = plumb_mma_regs(&s->mma, PLUMB_MMA_D);
  plumb_mma_place p = plumb_mma_place_of(&s->mma, which, product, row, column);
  *out_shift = p.shift;
  return &words[(block * 32 + p.lane) * all + before + p.reg];
}

/* Vector i is row i of A, column i of B and element (i, i) of C, eight a product. */
static void pack(const suite *s, uint32_t *words, size_t per_block) {
  for (size_t n = 0; n < s->count; n++) {
    const vector *v = &s->vectors[n];
    size_t block = n / per_block;
    unsigned product = (unsigned)(n % per_block / 8), i = (unsigned)(n % 8), shift;
    for (unsigned k = 0; k < v->k; k++) {
      uint32_t *a = word_of(s, words, block, PLUMB_MMA_A, product, i, k, &shift);
      *a |= bits_of((plumb_mma_type)s->mma.a, v->a[k]) << shift;
      uint32_t *b = word_of(s, words, block, PLUMB_MMA_B, product, k, i, &shift);
      *b |= bits_of((plumb_mma_type)s->mma.b, v->b[k]) << shift;
    }
    uint32_t *c = word_of(s, words, block, PLUMB_MMA_C, product, i, i, &shift);
    *c |= (s->without_c ? 0 : bits_of((plumb_mma_type)s->mma.c, v->c)) << shift;
  }
}

static bool equal(plumb_mma_type type, uint32_t got, uint32_t expected) {
  uint32_t infinity = type == PLUMB_MMA_F16 ? 0x7c00 : 0x7f800000;
  uint32_t magnitude = 2 * infinity - 1;
  if (type == PLUMB_MMA_F16) magnitude = 0x7fff;
  bool nan = (got & magnitude) > infinity, nan2 = (expected & magnitude) > infinity;
  return got == expected || (nan && nan2);
}

static size_t compare(const suite *s, uint32_t *words, size_t per_block) {
  size_t passed = 0, told = 0;
  for (size_t n = 0; n < s->count; n++) {
    unsigned product = (unsigned)(n % per_block / 8), i = (unsigned)(n % 8), shift;
    const uint32_t *word = word_of(s, words, n / per_block, PLUMB_MMA_D, product, i, i, &shift);
    uint32_t got = *word >> shift;
    if (s->mma.d == PLUMB_MMA_F16) got &= 0xffff;
    uint32_t expected = bits_of((plumb_mma_type)s->mma.d, s->vectors[n].d);
    if (equal((plumb_mma_type)s->mma.d, got, expected))
      passed++;
    else if (told++ < 3)
      fprintf(stderr, "%s:%zu: d is 0x%x, expected 0x%x\n", s->path, n + 1, got, expected);
  }
  return passed;
}

static plumb_status execute(suite *s, size_t *out_passed, plumb_diag *diag) {
  const plumb_mma *mma = &s->mma;
  size_t per_block = 8 * plumb_mma_products(mma), blocks = (s->count + per_block - 1) / per_block;
  size_t in = 0, out = plumb_mma_regs(mma, PLUMB_MMA_D) * 32 * blocks;
  for (int w = 0; w < 3; w++) in += plumb_mma_regs(mma, (plumb_mma_matrix)w) * 32 * blocks;
  uint32_t *words = PLUMB_NEW_ARRAY(s->arena, uint32_t, in);
  uint32_t *results = PLUMB_NEW_ARRAY(s->arena, uint32_t, out);
  memset(words, 0, in * 4);
  pack(s, words, per_block);
  const char *text = kernel_text(s);
  plumb_program *program = plumb_program_create(s->arena, "tensor_core");
  PLUMB_TRY(plumb_ptx_decode(program, "mma.ptx", text, strlen(text), diag));
  PLUMB_TRY(plumb_program_finish(program, diag));
  plumb_machine *m = plumb_machine_create(s->arena);
  uint64_t params[2] = {plumb_machine_alloc(m, in * 4, 256, "fragments"),
                        plumb_machine_alloc(m, out * 4, 256, "results")};
  plumb_run_options options = plumb_run_options_default();
  options.model = s->model;
  plumb_run_result result;
  plumb_launch launch = {.grid = {(uint32_t)blocks, 1, 1}, .block = {32, 1, 1}};
  plumb_status status = plumb_machine_write(m, params[0], words, in * 4, diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, program, diag);
  if (status == PLUMB_OK)
    status = plumb_machine_launch(m, "k", &launch, params, sizeof params, &options, &result, diag);
  if (status == PLUMB_OK && result.trap.kind != PLUMB_TRAP_NONE)
    status = plumb_fail(diag, PLUMB_INTERNAL, s->path, 0, 0, "trapped: %s", result.trap.message);
  if (status == PLUMB_OK) status = plumb_machine_read(m, params[1], results, NULL, out * 4, diag);
  if (status == PLUMB_OK) *out_passed = compare(s, results, per_block);
  plumb_machine_destroy(m);
  return status;
}

/* False if the file could not be run. */
static bool run_file(const char *folder, const char *file, size_t *passed, size_t *failed) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  size_t good = 0;
  suite s = {.arena = arena, .path = plumb_arena_printf(arena, "%s/%s", folder, file)};
  plumb_status status = read_vectors(&s, &diag);
  if (status == PLUMB_OK) status = identify(&s, file, &diag);
  if (status == PLUMB_OK) status = execute(&s, &good, &diag);
  if (status == PLUMB_OK) {
    printf("%s: %zu passed, %zu failed%s\n", file, good, s.count - good,
           s.without_c ? " (C = 0: the recorded results do not contain their c)" : "");
    *passed += good;
    *failed += s.count - good;
  } else {
    fprintf(stderr, "%s: %s: %s\n", file, plumb_status_name(status), diag.message);
  }
  plumb_arena_destroy(arena);
  return status == PLUMB_OK;
}

static int by_name(const void *x, const void *y) {
  return strcmp(*(char *const *)x, *(char *const *)y);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: tensor_core DIR\n");
    return 2;
  }
  DIR *dir = opendir(argv[1]);
  if (!dir) {
    fprintf(stderr, "%s: cannot be read as a folder\n", argv[1]);
    return 2;
  }
  plumb_arena *arena = plumb_arena_create();
  char *files[1000];
  size_t count = 0, passed = 0, failed = 0, unknown = 0;
  for (struct dirent *e; (e = readdir(dir));) {
    size_t n = strlen(e->d_name);
    if (n > 4 && strcmp(e->d_name + n - 4, ".txt") == 0 && count < 1000)
      files[count++] = plumb_arena_copy_text(arena, e->d_name, n);
  }
  closedir(dir);
  qsort(files, count, sizeof *files, by_name);
  for (size_t i = 0; i < count; i++) unknown += !run_file(argv[1], files[i], &passed, &failed);
  printf("%zu passed, %zu failed\n", passed, failed);
  if (unknown) printf("%zu of %zu files could not be run\n", unknown, count);
  if (!count) fprintf(stderr, "%s: no .txt file\n", argv[1]);
  plumb_arena_destroy(arena);
  return failed ? 1 : unknown || !count ? 2 : 0;
}
