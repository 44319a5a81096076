/* `plumb run -- PROGRAM`: a program that uses CUDA, with the library of driver/ in the place
 * of CUDA's. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/freedom.h"
#include "tasks/verbs.h"

/* Where the library lies, seen from the command: in a build tree, then where it is installed
 * (CMakeLists.txt). */
static const char *const places[] = {"cuda", "../" PLUMB_LIBDIR "/plumb/cuda"};

static plumb_status find_library(plumb_arena *arena, const char **out, plumb_diag *diag) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0)
    return plumb_fail(diag, PLUMB_INTERNAL, NULL, 0, 0, "cannot find where the command lies: %s",
                      strerror(errno));
  self[length] = 0;
  char *slash = strrchr(self, '/');
  if (slash) *slash = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char *folder = plumb_arena_printf(arena, "%s/%s", self, places[i]);
    if (access(plumb_arena_printf(arena, "%s/libcuda.so.1", folder), R_OK) != 0) continue;
    char full[PATH_MAX];
    *out = plumb_arena_copy_string(arena, realpath(folder, full) ? full : folder);
    return PLUMB_OK;
  }
  return plumb_fail(diag, PLUMB_INTERNAL, NULL, 0, 0, "no libcuda.so.1 in %s/%s or %s/%s", self,
                    places[0], self, places[1]);
}

static void set_number(const char *name, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  if (value) setenv(name, text, 1);
}

plumb_status plumb_verb_run_program(plumb_arena *arena, const plumb_verb_options *o,
                                    plumb_diag *diag) {
  const char *folder;
  if (!o->program[0])
    return plumb_fail(diag, PLUMB_BAD_USAGE, NULL, 0, 0, "run -- needs a program");
  PLUMB_TRY(find_library(arena, &folder, diag));
  const char *before = getenv("LD_LIBRARY_PATH");
  char *path = before && *before ? plumb_arena_printf(arena, "%s:%s", folder, before)
                                 : plumb_arena_copy_string(arena, folder);
  setenv("LD_LIBRARY_PATH", path, 1);
  if (o->arch) setenv("PLUMB_ARCH", o->arch, 1);
  if (o->allow) setenv("PLUMB_ALLOW", o->allow, 1);
  setenv("PLUMB_FREEDOM", plumb_freedom_text(arena, o->freedom), 1);
  if (o->model_name) setenv("PLUMB_MODEL", o->model_name, 1);
  set_number("PLUMB_SEED", o->seed);
  set_number("PLUMB_STEP_LIMIT", o->steps);
  set_number("PLUMB_JOBS", (uint64_t)o->jobs);
  execvp(o->program[0], o->program);
  return plumb_fail(diag, PLUMB_BAD_INPUT, o->program[0], 0, 0, "cannot be run: %s",
                    strerror(errno));
}
