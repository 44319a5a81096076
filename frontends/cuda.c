#include "frontends/cuda.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontends/child.h"

enum { TIMEOUT_MS = 60000, MAX_ARGS = 256 };

typedef struct arg_list {
  const char *items[MAX_ARGS];
  size_t count;
} arg_list;

static void push(arg_list *a, const char *text) {
  if (a->count + 1 < MAX_ARGS) a->items[a->count++] = text;
}

/* --- flags --- */

/* "-name=value", "--name=value": true and the value when the flag has this name. */
static bool flag_value(const char *flag, const char *name, bool *out_value) {
  while (*flag == '-') flag++;
  size_t n = strlen(name);
  if (strncmp(flag, name, n) != 0 || flag[n] != '=') return false;
  *out_value = strcmp(flag + n + 1, "false") != 0 && strcmp(flag + n + 1, "0") != 0;
  return true;
}

static bool flag_is(const char *flag, const char *name) {
  while (*flag == '-') flag++;
  return strcmp(flag, name) == 0;
}

/* One flag's effect; false if the flag says nothing about arithmetic. */
static bool read_flag(const char *flag, plumb_cuda_numerics *n) {
  if (flag_is(flag, "use_fast_math") || flag_is(flag, "ffast-math") || flag_is(flag, "Ofast")) {
    n->ftz = true;
    n->prec_div = n->prec_sqrt = false;
    n->fmad = n->fast_intrinsics = true;
    return true;
  }
  if (flag_is(flag, "ffp-contract=off") || flag_is(flag, "ffp-contract=on")) {
    /* "on" fuses inside one expression only: clang's own reading is kept for it. */
    n->fmad = !flag_is(flag, "ffp-contract=off");
    return flag_is(flag, "ffp-contract=off");
  }
  if (flag_is(flag, "fgpu-flush-denormals-to-zero")) return n->ftz = true;
  if (flag_is(flag, "fgpu-approx-transcendentals")) return n->fast_intrinsics = true;
  return flag_value(flag, "ftz", &n->ftz) || flag_value(flag, "prec-div", &n->prec_div) ||
         flag_value(flag, "prec-sqrt", &n->prec_sqrt) || flag_value(flag, "fmad", &n->fmad);
}

static bool wants_fast_math(const char *flag) {
  return flag_is(flag, "use_fast_math") || flag_is(flag, "ffast-math") || flag_is(flag, "Ofast");
}

plumb_cuda_numerics plumb_cuda_read_numerics(const plumb_cuda_options *options) {
  plumb_cuda_numerics n = {.prec_div = true, .prec_sqrt = true, .fmad = true};
  for (size_t i = 0; i < options->flag_count; i++) read_flag(options->flags[i], &n);
  return n;
}

/* The arithmetic flags in clang's words (frontends.md, CUDA C). -ffast-math is passed
 * only when the task itself writes it: nvcc's -use_fast_math reassociates nothing, but
 * lets functions be approximated. What clang has no flag for is said in its IR below. */
static void push_clang_numerics(arg_list *a, const plumb_cuda_options *options) {
  plumb_cuda_numerics n = plumb_cuda_read_numerics(options);
  bool fast = false, contract_given = false;
  for (size_t i = 0; i < options->flag_count; i++) {
    if (flag_is(options->flags[i], "ffast-math") || flag_is(options->flags[i], "Ofast"))
      fast = true;
    if (strncmp(options->flags[i], "-ffp-contract=", 14) == 0) contract_given = true;
  }
  if (fast) push(a, "-ffast-math");
  if (n.ftz) push(a, "-fgpu-flush-denormals-to-zero");
  if (n.fast_intrinsics) push(a, "-fgpu-approx-transcendentals");
  if (!contract_given || !n.fmad) push(a, n.fmad ? "-ffp-contract=fast" : "-ffp-contract=off");
}

static void push_nvcc_numerics(plumb_arena *arena, arg_list *a, const plumb_cuda_options *options) {
  plumb_cuda_numerics n = plumb_cuda_read_numerics(options);
  bool fast = false;
  for (size_t i = 0; i < options->flag_count; i++) fast |= wants_fast_math(options->flags[i]);
  if (fast) push(a, "-use_fast_math");
  push(a, plumb_arena_printf(arena, "-ftz=%s", n.ftz ? "true" : "false"));
  push(a, plumb_arena_printf(arena, "-prec-div=%s", n.prec_div ? "true" : "false"));
  push(a, plumb_arena_printf(arena, "-prec-sqrt=%s", n.prec_sqrt ? "true" : "false"));
  push(a, plumb_arena_printf(arena, "-fmad=%s", n.fmad ? "true" : "false"));
}

/* Flags that say nothing about arithmetic pass through; optimisation levels reach
 * nvcc as such too. */
static void push_other_flags(arg_list *a, const plumb_cuda_options *options) {
  for (size_t i = 0; i < options->flag_count; i++) {
    plumb_cuda_numerics ignored = {0};
    const char *flag = options->flags[i];
    if (!read_flag(flag, &ignored)) push(a, flag);
  }
}

static bool has_level(const plumb_cuda_options *options) {
  for (size_t i = 0; i < options->flag_count; i++)
    if (strncmp(options->flags[i], "-O", 2) == 0 && !flag_is(options->flags[i], "Ofast"))
      return true;
  return false;
}

/* --- finding the compilers --- */

static bool exists(const char *path) {
  return access(path, R_OK) == 0;
}

static const char *if_toolkit(plumb_arena *arena, const char *root) {
  return exists(plumb_arena_printf(arena, "%s/include/cuda_runtime.h", root))
             ? plumb_arena_copy_string(arena, root)
             : NULL;
}

static const char *first_glob(plumb_arena *arena, const char *pattern) {
  glob_t g;
  const char *found = NULL;
  if (glob(pattern, 0, NULL, &g) == 0) {
    for (size_t i = 0; i < g.gl_pathc && !found; i++) found = if_toolkit(arena, g.gl_pathv[i]);
    globfree(&g);
  }
  return found;
}

/* PATH's nvcc, with symbolic links followed, less "/bin/nvcc". */
static const char *toolkit_on_path(plumb_arena *arena) {
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t n = strcspn(path, ":");
    char *nvcc = plumb_arena_printf(arena, "%.*s/nvcc", (int)n, path);
    char *real = access(nvcc, X_OK) == 0 ? realpath(nvcc, NULL) : NULL;
    if (real) {
      char *cut = strstr(real, "/bin/nvcc");
      if (cut) *cut = 0;
      const char *found = cut ? if_toolkit(arena, real) : NULL;
      free(real);
      if (found) return found;
    }
    path += n + (path[n] == ':');
  }
  return NULL;
}

const char *plumb_cuda_toolkit(plumb_arena *arena) {
  const char *home = getenv("CUDA_HOME");
  const char *found = home && *home ? if_toolkit(arena, home) : NULL;
  if (!found) found = toolkit_on_path(arena);
  if (!found) found = if_toolkit(arena, "/usr/local/cuda");
  if (!found) found = if_toolkit(arena, "/opt/cuda");
  if (!found) found = first_glob(arena, "build/cuda/nvidia/cu13");
  if (!found) found = first_glob(arena, "build/cuda/lib/python*/site-packages/nvidia/cu13");
  if (found) return found;
  /* The executable is build/<preset>/plumb or build/<preset>/tests/<test>. */
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return NULL;
  self[n] = 0;
  for (int up = 0; up < 4 && !found; up++) {
    char *slash = strrchr(self, '/');
    if (!slash) break;
    *slash = 0;
    found = if_toolkit(arena, plumb_arena_printf(arena, "%s/cuda/nvidia/cu13", self));
  }
  return found;
}

static bool is_clang22(plumb_arena *arena, const char *program, const char **out_version) {
  plumb_child child;
  const char *argv[] = {program, "--version", NULL};
  if (plumb_child_run(arena, argv, 10000, &child, NULL) != PLUMB_OK || child.exit_code != 0)
    return false;
  if (!strstr(child.output, "clang version 22.")) return false;
  child.output[strcspn(child.output, "\n")] = 0;
  *out_version = child.output;
  return true;
}

static const char *find_clang(plumb_arena *arena, const char **out_version) {
  static const char *const programs[] = {"clang-22", "clang", "/usr/lib/llvm-22/bin/clang"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
    if (is_clang22(arena, programs[i], out_version)) return programs[i];
  return NULL;
}

const char *plumb_cuda_clang_version(plumb_arena *arena) {
  const char *version = NULL;
  find_clang(arena, &version);
  return version;
}

const char *plumb_cuda_nvcc_version(plumb_arena *arena, const char *toolkit) {
  if (!toolkit) toolkit = plumb_cuda_toolkit(arena);
  if (!toolkit) return NULL;
  plumb_child child;
  const char *argv[] = {plumb_arena_printf(arena, "%s/bin/nvcc", toolkit), "--version", NULL};
  if (plumb_child_run(arena, argv, 10000, &child, NULL) != PLUMB_OK || child.exit_code != 0)
    return NULL;
  char *release = strstr(child.output, "release ");
  if (!release) return NULL;
  release[strcspn(release, "\n")] = 0;
  return plumb_arena_printf(arena, "nvcc %s", release);
}

/* --- running them --- */

/* The first "path:line:column: error: text" (clang) or "path(line): error: text"
 * (nvcc) gives the place; the message is what the compiler printed. */
static plumb_status compile_error(const char *source, const char *compiler,
                                  const plumb_child *child, plumb_diag *diag) {
  int line = 0, column = 0;
  const char *start = child->output;
  const char *error = strstr(start, "error");
  if (error) {
    while (error > start && error[-1] != '\n') error--;
    const char *place = strpbrk(error, ":(");
    if (place && sscanf(place, ":%d:%d", &line, &column) < 1) sscanf(place, "(%d)", &line);
    start = error;
  }
  if (!*start) start = "it printed nothing";
  return plumb_fail(diag, PLUMB_BAD_INPUT, source, line, column, "%s does not compile it: %.900s",
                    compiler, start);
}

static plumb_status compile(plumb_arena *arena, arg_list *a, const char *compiler,
                            const char *source, char **out_text, size_t *out_length,
                            plumb_diag *diag) {
  const char *tmp = getenv("TMPDIR");
  char *folder = plumb_arena_printf(arena, "%s/plumb-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder))
    return plumb_fail(diag, PLUMB_LIMIT, folder, 0, 0, "no temporary folder can be made here");
  const char *output = plumb_arena_printf(arena, "%s/out", folder);
  push(a, "-o");
  push(a, output);
  push(a, source);
  plumb_child child;
  plumb_status status = plumb_child_run(arena, a->items, TIMEOUT_MS, &child, diag);
  if (status == PLUMB_OK && child.timed_out)
    status = plumb_fail(diag, PLUMB_LIMIT, source, 0, 0, "%s ran longer than %d s", compiler,
                        TIMEOUT_MS / 1000);
  else if (status == PLUMB_OK && child.exit_code != 0)
    status = compile_error(source, compiler, &child, diag);
  if (status == PLUMB_OK) status = plumb_file_read(arena, output, out_text, out_length, diag);
  unlink(output);
  rmdir(folder);
  return status;
}

static plumb_status need_source(const char *source, plumb_diag *diag) {
  if (exists(source)) return PLUMB_OK;
  return plumb_fail(diag, PLUMB_BAD_INPUT, source, 0, 0, "there is no such file");
}

static plumb_status need_toolkit(plumb_arena *arena, const plumb_cuda_options *options,
                                 const char *source, const char **out_root, plumb_diag *diag) {
  *out_root = options->toolkit ? options->toolkit : plumb_cuda_toolkit(arena);
  if (*out_root) return PLUMB_OK;
  return plumb_fail(diag, PLUMB_UNSUPPORTED, source, 0, 0,
                    "CUDA C needs the CUDA Toolkit's headers and none was found: set CUDA_HOME, "
                    "or run tools/setup, which brings it into the build folder");
}

/* Adds the module flag that plumb_llvm_resolve_reflect reads (ir/llvm/llvm.h). */
static void append_prec_sqrt(plumb_arena *arena, char **text, size_t *length) {
  static const char list[] = "!llvm.module.flags = !{";
  char *at = strstr(*text, list);
  plumb_text out = plumb_text_create(arena);
  if (at) {
    at += sizeof list - 1;
    plumb_text_append(&out, *text, (size_t)(at - *text));
    plumb_text_printf(&out, "!1000000000, %s", at);
  } else {
    plumb_text_printf(&out, "%s\n%s!1000000000}\n", *text, list);
  }
  plumb_text_printf(&out, "\n!1000000000 = !{i32 4, !\"nvvm-reflect-prec-sqrt\", i32 0}\n");
  *text = out.data;
  *length = out.length;
}

/* The place after `fdiv` in an instruction that divides floats, or NULL. */
static const char *float_division(const char *line, const char *end) {
  static const char division[] = " = fdiv ";
  const char *at = line;
  while (*at == ' ') at++;
  if (at == line || *at != '%') return NULL; /* no instruction: it may be a string's text */
  const char *found = strstr(at, division);
  if (!found || found >= end || memchr(at, '"', (size_t)(found - at))) return NULL;
  found += sizeof division - 1;
  const char *type = strstr(found, "float"), *comma = strchr(found, ',');
  return type && comma && type < comma && comma < end ? found : NULL;
}

/* -prec-div=false: clang's own word for it, -nvptx-prec-divf32, is a switch of the whole
 * process. The instruction's flag `afn` makes NVPTX choose the same (NVPTXISelLowering,
 * getDivF32Level), for this module alone and from its source on. */
static void approximate_divisions(plumb_arena *arena, char **text, size_t *length) {
  plumb_text out = plumb_text_create(arena);
  for (const char *line = *text, *next; *line; line = next) {
    const char *end = strchr(line, '\n');
    next = end ? end + 1 : line + strlen(line);
    const char *flags = float_division(line, next);
    if (flags) {
      plumb_text_append(&out, line, (size_t)(flags - line));
      plumb_text_printf(&out, "afn ");
      line = flags;
    }
    plumb_text_append(&out, line, (size_t)(next - line));
  }
  *text = out.data;
  *length = out.length;
}

plumb_status plumb_cuda_to_llvm(plumb_arena *arena, const plumb_cuda_options *options,
                                const char *source, char **out_ir, size_t *out_length,
                                plumb_diag *diag) {
  const char *root = NULL, *version = NULL;
  PLUMB_TRY(need_source(source, diag));
  PLUMB_TRY(need_toolkit(arena, options, source, &root, diag));
  const char *clang = find_clang(arena, &version);
  if (!clang)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, source, 0, 0,
                      "CUDA C needs clang 22 and none is on PATH: run tools/setup");
  arg_list a = {0};
  push(&a, clang);
  push(&a, "-x");
  push(&a, "cuda");
  push(&a, "--cuda-device-only");
  push(&a,
       plumb_arena_printf(arena, "--cuda-gpu-arch=%s", options->arch ? options->arch : "sm_90"));
  push(&a, plumb_arena_printf(arena, "--cuda-path=%s", root));
  push(&a, "-Wno-unknown-cuda-version");
  push(&a, "-isystem");
  push(&a, plumb_arena_printf(arena, "%s/include/cccl", root));
  if (!has_level(options)) push(&a, "-O2");
  push_other_flags(&a, options);
  push_clang_numerics(&a, options);
  push(&a, "-Xclang");
  push(&a, "-disable-llvm-passes");
  push(&a, "-gline-tables-only");
  push(&a, "-S");
  push(&a, "-emit-llvm");
  PLUMB_TRY(compile(arena, &a, "clang", source, out_ir, out_length, diag));
  plumb_cuda_numerics n = plumb_cuda_read_numerics(options);
  if (!n.prec_sqrt) append_prec_sqrt(arena, out_ir, out_length);
  if (!n.prec_div) approximate_divisions(arena, out_ir, out_length);
  return PLUMB_OK;
}

plumb_status plumb_cuda_to_ptx(plumb_arena *arena, const plumb_cuda_options *options,
                               const char *source, char **out_ptx, size_t *out_length,
                               plumb_diag *diag) {
  const char *root = NULL;
  PLUMB_TRY(need_source(source, diag));
  PLUMB_TRY(need_toolkit(arena, options, source, &root, diag));
  const char *nvcc = plumb_arena_printf(arena, "%s/bin/nvcc", root);
  if (access(nvcc, X_OK) != 0)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, nvcc, 0, 0,
                      "the toolkit has no nvcc: install a whole CUDA Toolkit, or run tools/setup");
  arg_list a = {0};
  push(&a, nvcc);
  push(&a, "-ptx");
  push(&a, "-lineinfo");
  push(&a, plumb_arena_printf(arena, "-arch=%s", options->arch ? options->arch : "sm_90"));
  if (!has_level(options)) push(&a, "-O3");
  push_other_flags(&a, options);
  push_nvcc_numerics(arena, &a, options);
  return compile(arena, &a, "nvcc", source, out_ptx, out_length, diag);
}

const char *plumb_cuda_libdevice(plumb_arena *arena) {
  const char *toolkit = plumb_cuda_toolkit(arena);
  return toolkit ? plumb_arena_printf(arena, "%s/nvvm/libdevice/libdevice.10.bc", toolkit) : NULL;
}
