/* What a fault looks like on stderr, and the names that allocations get for it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"

/* Where in the host program: "main+0x5c in ./vectorAdd", or the offset to give to addr2line
 * where the symbol is not exported. */
static void describe_site(const void *site, char *room, size_t room_bytes) {
  Dl_info info;
  if (!site || !dladdr(site, &info) || !info.dli_fname) {
    room[0] = 0;
    return;
  }
  const char *file =
      strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : info.dli_fname;
  /* The byte before the return address lies in the call. */
  size_t in_file = (size_t)((const char *)site - (const char *)info.dli_fbase) - 1;
  if (info.dli_sname)
    snprintf(room, room_bytes, " in %.80s+0x%zx of %.80s", info.dli_sname,
             (size_t)((const char *)site - (const char *)info.dli_saddr), file);
  else
    snprintf(room, room_bytes, " in %.80s+0x%zx", file, in_file);
}

const char *driver_memory_describe(const char *call, uint64_t number, uint64_t size_bytes,
                                   const void *site, char *room, size_t room_bytes) {
  char where[200];
  (void)size_bytes;
  describe_site(site, where, sizeof where);
  snprintf(room, room_bytes, "allocation %llu (%s%s)", (unsigned long long)number, call, where);
  return room;
}

/* Line `number` of the module's text, without its indentation. */
static void print_line(const char *text, int number) {
  while (text && *text && number > 1) {
    text = strchr(text, '\n');
    if (text) text++;
    number--;
  }
  if (!text || !*text) return;
  text += strspn(text, " \t");
  fprintf(stderr, ": %.*s", (int)strcspn(text, "\n"), text);
}

static void print_place(const driver_module *module, const char *what, const plumb_loc *l) {
  if (!l->file && !l->stage_line) return;
  fprintf(stderr, "  %s", what);
  if (l->file) fprintf(stderr, " %s:%d", l->file, l->line);
  if (l->stage_line) {
    fprintf(stderr, "%s line %d of the PTX", l->file ? "," : "", l->stage_line);
    print_line(module->text, l->stage_line);
  }
  fputc('\n', stderr);
}

static void print_lane(const char *what, const plumb_launch *l, const int64_t block[3], int lane) {
  if (block[0] < 0 || lane < 0) return;
  unsigned x = l->block[0], y = l->block[1], t = (unsigned)lane;
  fprintf(stderr, "  %s block (%lld, %lld, %lld), thread (%u, %u, %u), lane %u of warp %u\n", what,
          (long long)block[0], (long long)block[1], (long long)block[2], t % x, t / x % y,
          t / x / y, t % 32, t / 32);
}

void driver_report(const driver_module *module, const plumb_launch *launch, const plumb_trap *t) {
  fflush(stdout); /* what the program printed before comes before */
  fprintf(stderr, "plumb: kernel '%s' stopped: %s\n", t->function ? t->function : "?",
          plumb_trap_text(t->kind));
  if (t->message && *t->message) fprintf(stderr, "  %s\n", t->message);
  print_lane("in", launch, t->block, t->lane);
  if (t->address) fprintf(stderr, "  address 0x%llx\n", (unsigned long long)t->address);
  print_place(module, "at", &t->location);
  print_place(module, "the other place:", &t->location2);
  print_lane("the other access in", launch, t->block2, t->lane2);
}
