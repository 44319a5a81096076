#include "ir/base/parallel.h"

#include <pthread.h>
#include <unistd.h>

#define MAX_WORKERS 64

typedef struct job {
  void (*work)(void *user);
  void *user;
} job;

static void *start(void *argument) {
  const job *j = argument;
  j->work(j->user);
  return NULL;
}

size_t plumb_core_count(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? (size_t)cores : 1;
}

void plumb_parallel(size_t workers, void (*work)(void *user), void *user) {
  job j = {work, user};
  pthread_t threads[MAX_WORKERS];
  size_t started = 0;
  if (workers > MAX_WORKERS) workers = MAX_WORKERS;
  while (started + 1 < workers && pthread_create(&threads[started], NULL, start, &j) == 0)
    started++;
  work(user);
  for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
