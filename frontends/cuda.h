/* CUDA C to stage 0: runs the user's compilers as child processes (no shell) and
 * returns what they write: clang's LLVM IR before any LLVM pass, and nvcc's PTX.
 * It reads no CUDA C itself.
 *
 *     plumb_cuda_options o = {.arch = "sm_90", .flags = flags, .flag_count = n};
 *     PLUMB_TRY(plumb_cuda_to_llvm(arena, &o, "k.cu", &ir, &length, diag));
 */
#ifndef PLUMB_FRONTENDS_CUDA_H
#define PLUMB_FRONTENDS_CUDA_H

#include <stdbool.h>

#include "ir/base/arena.h"
#include "ir/base/status.h"

typedef struct plumb_cuda_options {
  const char *arch; /* "sm_90"; NULL: sm_90 */
  /* The task's `compile: flags`, in clang's or nvcc's spelling: both are understood
   * and rewritten for the compiler that runs. */
  const char *const *flags;
  size_t flag_count;
  const char *toolkit; /* root of the CUDA Toolkit; NULL: found by plumb_cuda_toolkit */
} plumb_cuda_options;

/* What the flags say about arithmetic, in nvcc's words (CUDA C++ Programming Guide,
 * -use_fast_math). For the code generator that follows clang's IR: prec_div false is
 * -nvptx-prec-divf32=0. */
typedef struct plumb_cuda_numerics {
  bool ftz;
  bool prec_div;
  bool prec_sqrt;
  bool fmad;
  bool fast_intrinsics; /* expf becomes __expf and so on */
} plumb_cuda_numerics;
plumb_cuda_numerics plumb_cuda_read_numerics(const plumb_cuda_options *options);

/* The toolkit's root: CUDA_HOME, nvcc on PATH, /usr/local/cuda, /opt/cuda, then
 * build/cuda/nvidia/cu13 (or build/cuda/lib/python*'s) under the current folder, and
 * cuda/nvidia/cu13 beside the executable's build folder. NULL if there is none. */
const char *plumb_cuda_toolkit(plumb_arena *arena);

/* The path of the toolkit's libdevice.10.bc; NULL without a toolkit. */
const char *plumb_cuda_libdevice(plumb_arena *arena);

/* The first line of `nvcc --version`'s release or clang's version, for the report;
 * NULL where the compiler is absent. */
const char *plumb_cuda_clang_version(plumb_arena *arena);
const char *plumb_cuda_nvcc_version(plumb_arena *arena, const char *toolkit);

/* Device code as LLVM IR text, terminated, in `arena`; optimisation flags shape the
 * front end's output only (-disable-llvm-passes), debug lines are kept.
 * When prec_sqrt is off the module flag "nvvm-reflect-prec-sqrt" = 0 says so, for
 * plumb_llvm_resolve_reflect.
 * PLUMB_BAD_INPUT    the source does not compile: the compiler's own message
 * PLUMB_UNSUPPORTED  no toolkit or no clang 22: the message names the remedy
 * PLUMB_LIMIT        the compiler ran longer than 60 s or wrote more than 256 MiB */
plumb_status plumb_cuda_to_llvm(plumb_arena *arena, const plumb_cuda_options *options,
                                const char *source, char **out_ir, size_t *out_length,
                                plumb_diag *diag);

/* nvcc's PTX with -lineinfo; statuses as above. */
plumb_status plumb_cuda_to_ptx(plumb_arena *arena, const plumb_cuda_options *options,
                               const char *source, char **out_ptx, size_t *out_length,
                               plumb_diag *diag);

#endif
