#define _GNU_SOURCE /* pipe2 */

#include "frontends/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { OUTPUT_LIMIT_BYTES = 64 * 1024 };

static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Starts argv with both outputs on `write_end`, no input, and a group of its own. */
static int start(const char *const *argv, int write_end, pid_t *out_pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end, 1);
  posix_spawn_file_actions_adddup2(&actions, write_end, 2);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  int error =
      posix_spawnp(out_pid, argv[0], &actions, &attributes, (char *const *)(void *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/* Reads until the child closes its outputs or the deadline passes. */
static bool collect(int fd, long deadline, plumb_text *out) {
  char chunk[4096];
  for (;;) {
    long left = deadline - now_ms();
    if (left <= 0) return false;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = poll(&p, 1, (int)left);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    size_t room = OUTPUT_LIMIT_BYTES - out->length;
    plumb_text_append(out, chunk, (size_t)n < room ? (size_t)n : room);
  }
}

plumb_status plumb_child_run(plumb_arena *arena, const char *const *argv, int timeout_ms,
                             plumb_child *out_child, plumb_diag *diag) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return plumb_fail(diag, PLUMB_LIMIT, NULL, 0, 0, "no pipe for '%s': %s", argv[0],
                      strerror(errno));
  pid_t pid = 0;
  int error = start(argv, ends[1], &pid);
  close(ends[1]);
  if (error) {
    close(ends[0]);
    return plumb_fail(diag, PLUMB_UNSUPPORTED, NULL, 0, 0, "cannot start '%s': %s", argv[0],
                      strerror(error));
  }
  plumb_text text = plumb_text_create(arena);
  bool ended = collect(ends[0], now_ms() + timeout_ms, &text);
  close(ends[0]);
  if (!ended) kill(-pid, SIGKILL);
  int state = 0;
  while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
  out_child->timed_out = !ended;
  out_child->exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  out_child->output = text.data;
  out_child->output_length = text.length;
  return PLUMB_OK;
}
