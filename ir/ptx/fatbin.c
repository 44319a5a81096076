#include "ir/ptx/fatbin.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { KIND_PTX = 1 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };
enum { ENTRY_BYTES = 64 };

/* A module of 256 MiB is beyond every compiler; larger sizes are damage. */
#define MAX_TEXT_BYTES (256ull << 20)

typedef struct entry {
  uint16_t kind;
  uint32_t arch;
  uint64_t flags;
  const uint8_t *payload;
  uint64_t payload_bytes; /* without padding where the entry says so */
  uint64_t text_bytes;    /* 0: not compressed */
} entry;

typedef struct reader {
  const char *path;
  const uint8_t *data;
  size_t size;
  plumb_diag *diag;
} reader;

static uint16_t get16(const uint8_t *p) {
  return (uint16_t)(p[0] | p[1] << 8);
}
static uint32_t get32(const uint8_t *p) {
  return get16(p) | (uint32_t)get16(p + 2) << 16;
}
static uint64_t get64(const uint8_t *p) {
  return get32(p) | (uint64_t)get32(p + 4) << 32;
}

bool plumb_fatbin_is(const void *data, size_t size) {
  if (size < PLUMB_FATBIN_HEADER_BYTES) return false;
  return get32(data) == PLUMB_FATBIN_MAGIC || memcmp(data, ELFMAG, SELFMAG) == 0;
}

size_t plumb_fatbin_size(const void *header) {
  const uint8_t *h = header;
  if (get32(h) != PLUMB_FATBIN_MAGIC) return 0;
  uint64_t bytes = get64(h + 8);
  return bytes > SIZE_MAX / 2 ? 0 : (size_t)bytes + get16(h + 6);
}

static plumb_status bad(const reader *r, const char *what) {
  return plumb_fail(r->diag, PLUMB_BAD_INPUT, r->path, 0, 0, "damaged fat binary: %s", what);
}

/* Reads the entry at *offset and moves *offset behind it. */
static plumb_status read_entry(const reader *r, size_t *offset, size_t end, entry *out) {
  if (end - *offset < ENTRY_BYTES) return bad(r, "an entry's header is cut off");
  const uint8_t *p = r->data + *offset;
  uint64_t header = get32(p + 4), padded = get64(p + 8), compressed = get32(p + 16);
  if (header < ENTRY_BYTES || header > end - *offset)
    return bad(r, "an entry's header size does not fit");
  if (padded > end - *offset - header) return bad(r, "an entry's payload is cut off");
  if (compressed > padded) return bad(r, "an entry's compressed size exceeds its payload");
  *out = (entry){.kind = get16(p),
                 .arch = get32(p + 28),
                 .flags = get64(p + 40),
                 .payload = p + header,
                 .payload_bytes = compressed ? compressed : padded,
                 .text_bytes = get64(p + 56)};
  *offset += (size_t)(header + padded);
  return PLUMB_OK;
}

/* Finds the n-th best image of PTX among the entries of one fat binary, best first. Each
 * round takes the best below the one of the round before. */
static plumb_status choose(const reader *r, size_t offset, size_t end, uint32_t max_arch, size_t n,
                           entry *out, bool *out_found) {
  size_t taken = SIZE_MAX; /* offset of the one before: among equal ones the first is best */
  uint32_t taken_arch = UINT32_MAX;
  *out_found = false;
  for (size_t round = 0; round <= n; round++) {
    size_t best = SIZE_MAX;
    entry found = {0};
    for (size_t at = offset; at < end;) {
      size_t here = at;
      entry e;
      PLUMB_TRY(read_entry(r, &at, end, &e));
      bool below =
          taken == SIZE_MAX || e.arch < taken_arch || (e.arch == taken_arch && here > taken);
      if (e.kind != KIND_PTX || (max_arch && e.arch > max_arch) || !below) continue;
      if (best != SIZE_MAX && e.arch <= found.arch) continue;
      best = here;
      found = e;
    }
    if (best == SIZE_MAX) return PLUMB_OK;
    taken = best;
    taken_arch = found.arch;
    *out = found;
    *out_found = round == n;
  }
  return PLUMB_OK;
}

static plumb_status unpack(const reader *r, plumb_arena *arena, const entry *e, char **out_text,
                           size_t *out_length) {
  if (!(e->flags & (FLAG_LZ4 | FLAG_ZSTD))) {
    *out_text = plumb_arena_copy_text(arena, (const char *)e->payload, (size_t)e->payload_bytes);
    *out_length = strlen(*out_text); /* the padding is zeros */
    return PLUMB_OK;
  }
  if (e->text_bytes == 0 || e->text_bytes > MAX_TEXT_BYTES)
    return bad(r, "the size of a compressed text is wrong");
  char *text = malloc((size_t)e->text_bytes + 1);
  if (!text) return plumb_fail(r->diag, PLUMB_LIMIT, r->path, 0, 0, "the text is too large");
  size_t length = (size_t)e->text_bytes;
  bool ok;
  if (e->flags & FLAG_ZSTD) {
    size_t got = ZSTD_decompress(text, length, e->payload, (size_t)e->payload_bytes);
    ok = !ZSTD_isError(got) && got == length;
  } else {
    ok = e->payload_bytes <= INT32_MAX &&
         LZ4_decompress_safe((const char *)e->payload, text, (int)e->payload_bytes, (int)length) ==
             (int)length;
  }
  if (ok) {
    while (length && text[length - 1] == 0) length--;
    *out_text = plumb_arena_copy_text(arena, text, length);
    *out_length = length;
  }
  free(text);
  return ok ? PLUMB_OK : bad(r, "the compressed text does not unpack");
}

/* The section .nv_fatbin of an ELF file. */
static plumb_status find_section(const reader *r, size_t *out_offset, size_t *out_end) {
  Elf64_Ehdr h;
  if (r->size < sizeof h) return bad(r, "the ELF header is cut off");
  memcpy(&h, r->data, sizeof h);
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
    return plumb_fail(r->diag, PLUMB_UNSUPPORTED, r->path, 0, 0,
                      "an ELF file that is not 64-bit little-endian");
  uint64_t table = (uint64_t)h.e_shnum * sizeof(Elf64_Shdr);
  if (h.e_shnum == 0 || h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > r->size ||
      table > r->size - h.e_shoff || h.e_shstrndx >= h.e_shnum)
    return bad(r, "the ELF file has no valid section table");
  Elf64_Shdr names, s;
  memcpy(&names, r->data + h.e_shoff + h.e_shstrndx * sizeof s, sizeof names);
  if (names.sh_offset > r->size || names.sh_size > r->size - names.sh_offset)
    return bad(r, "the ELF file's section names are cut off");
  static const char wanted[] = ".nv_fatbin";
  for (size_t i = 0; i < h.e_shnum; i++) {
    memcpy(&s, r->data + h.e_shoff + i * sizeof s, sizeof s);
    if (s.sh_name > names.sh_size || names.sh_size - s.sh_name < sizeof wanted ||
        memcmp(r->data + names.sh_offset + s.sh_name, wanted, sizeof wanted) != 0)
      continue;
    if (s.sh_type == SHT_NOBITS || s.sh_offset > r->size || s.sh_size > r->size - s.sh_offset)
      return bad(r, "the section .nv_fatbin is cut off");
    *out_offset = (size_t)s.sh_offset;
    *out_end = (size_t)(s.sh_offset + s.sh_size);
    return PLUMB_OK;
  }
  return plumb_fail(r->diag, PLUMB_UNSUPPORTED, r->path, 0, 0,
                    "an ELF file without a section .nv_fatbin: it holds no device code of nvcc");
}

/* The bytes of one fat binary's entries; *offset moves behind it and its padding. */
static plumb_status read_header(const reader *r, size_t *offset, size_t end, size_t *out_first,
                                size_t *out_end) {
  if (end - *offset < PLUMB_FATBIN_HEADER_BYTES) return bad(r, "the header is cut off");
  const uint8_t *h = r->data + *offset;
  size_t header = get16(h + 6), left = end - *offset;
  uint64_t bytes = get64(h + 8);
  if (get32(h) != PLUMB_FATBIN_MAGIC) return bad(r, "the magic number is wrong");
  if (header < PLUMB_FATBIN_HEADER_BYTES || header > left || bytes > left - header)
    return bad(r, "the header's sizes exceed the data");
  *out_first = *offset + header;
  *out_end = *out_first + (size_t)bytes;
  *offset = *out_end;
  while (*offset < end && r->data[*offset] == 0) ++*offset;
  return PLUMB_OK;
}

plumb_status plumb_fatbin_ptx_at(plumb_arena *arena, const char *path, const void *data,
                                 size_t size, uint32_t max_arch, size_t n, char **out_text,
                                 size_t *out_length, plumb_diag *diag) {
  reader r = {path, data, size, diag};
  size_t at = 0, end = size;
  if (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0) PLUMB_TRY(find_section(&r, &at, &end));
  entry best = {0};
  size_t modules = 0;
  do {
    size_t first, last;
    entry e;
    bool found;
    PLUMB_TRY(read_header(&r, &at, end, &first, &last));
    PLUMB_TRY(choose(&r, first, last, max_arch, n, &e, &found));
    if (found && !modules++) best = e;
  } while (at < end);
  if (!modules && max_arch)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0,
                      "the fat binary holds no PTX for sm_%u; compile with -gencode "
                      "arch=compute_%u,code=compute_%u",
                      max_arch, max_arch, max_arch);
  if (!modules)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0,
                      "the fat binary holds no PTX; compile with -gencode "
                      "arch=compute_80,code=compute_80");
  if (modules > 1)
    return plumb_fail(diag, PLUMB_UNSUPPORTED, path, 0, 0,
                      "holds %zu modules of device code; take one out with cuobjdump -xptx all",
                      modules);
  return unpack(&r, arena, &best, out_text, out_length);
}

plumb_status plumb_fatbin_ptx(plumb_arena *arena, const char *path, const void *data, size_t size,
                              uint32_t max_arch, char **out_text, size_t *out_length,
                              plumb_diag *diag) {
  return plumb_fatbin_ptx_at(arena, path, data, size, max_arch, 0, out_text, out_length, diag);
}
