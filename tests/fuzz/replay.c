/* Replays a corpus through a fuzz entry: every file, whole and cut short, so that each
 * also stands for its truncations, and in mutants (tests/fuzz/mutate.h). For compilers
 * without libFuzzer.
 *     fuzz_ptx [--mutants N] [--seed S] [--keep FILE] FOLDER|FILE... */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/base/arena.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long mutants = 20; /* of every file */
static unsigned long inputs;
static uint64_t seed = 1;
static const char *keep; /* where the input that broke something goes */
static const uint8_t *running;
static size_t running_bytes;

static void keep_running(void) {
  fprintf(stderr, "stopped at input %lu\n", inputs);
  FILE *file = keep && running ? fopen(keep, "wb") : NULL;
  if (!file) return;
  fwrite(running, 1, running_bytes, file);
  fclose(file);
}

static void on_signal(int number) {
  keep_running();
  signal(number, SIG_DFL);
  raise(number);
}

/* Of ASan's and UBSan's run time, where the build has one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* A copy of exactly `size` bytes, so that a sanitizer sees a read past the end. */
static void run_bytes(const char *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) abort();
  if (size) memcpy(copy, data, size);
  running = copy;
  running_bytes = size;
  inputs++;
  LLVMFuzzerTestOneInput(copy, size);
  running = NULL;
  free(copy);
}

static void run_mutant(const char *text, size_t length) {
  size_t mutant_length;
  char *mutant = plumb_mutate(text, length, &seed, &mutant_length);
  run_bytes(mutant, mutant_length);
  free(mutant);
}

static int replay_file(const char *path) {
  plumb_arena *arena = plumb_arena_create();
  char *text;
  size_t length;
  plumb_diag diag;
  if (plumb_file_read(arena, path, &text, &length, &diag) != PLUMB_OK) {
    fprintf(stderr, "%s: %s\n", path, diag.message);
    plumb_arena_destroy(arena);
    return 0;
  }
  run_bytes(text, length);
  enum { CUTS = 16 };
  for (size_t i = 0; i < CUTS; i++) run_bytes(text, length * i / CUTS);
  for (unsigned long i = 0; i < mutants; i++) run_mutant(text, length);
  plumb_arena_destroy(arena);
  return 1;
}

static int replay_folder(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return 0;
  int count = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    char file[4096];
    int length = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    if (length > 0 && (size_t)length < sizeof file) count += replay_file(file);
  }
  closedir(folder);
  return count;
}

int main(int argc, char **argv) {
  int count = 0;
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_running);
  signal(SIGABRT, on_signal);
  signal(SIGSEGV, on_signal);
  for (int i = 1; i < argc; i++) {
    struct stat info;
    if (strcmp(argv[i], "--mutants") == 0 && i + 1 < argc) {
      mutants = strtoul(argv[++i], NULL, 10);
      continue;
    }
    if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc) {
      keep = argv[++i];
      continue;
    }
    if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      seed = strtoull(argv[++i], NULL, 10);
      continue;
    }
    if (stat(argv[i], &info) == 0)
      count += S_ISDIR(info.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
  }
  printf("%d files replayed, each with %lu mutants: %lu inputs\n", count, mutants, inputs);
  return count == 0; /* an empty corpus tests nothing */
}
