/* Fat binaries: which image is chosen, how it is unpacked, and what damaged ones are told. */
#include "ir/ptx/fatbin.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tests/unit/check.h"

enum { PLAIN = 0, LZ4 = 0x2000, ZSTD = 0x8000 };

typedef struct image {
  uint8_t bytes[4096];
  size_t size;
} image;

static void put(image *to, const void *data, size_t size) {
  memcpy(to->bytes + to->size, data, size);
  to->size += size;
}

static void put_number(image *to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to->bytes[to->size++] = (uint8_t)(value >> (8 * i));
}

static void open_header(image *to) {
  put_number(to, PLUMB_FATBIN_MAGIC, 4);
  put_number(to, 1, 2);
  put_number(to, PLUMB_FATBIN_HEADER_BYTES, 2);
  put_number(to, 0, 8);
}

static void close_header(image *to, size_t start) {
  uint64_t bytes = to->size - start - PLUMB_FATBIN_HEADER_BYTES;
  memcpy(to->bytes + start + 8, &bytes, 8);
}

static void put_entry(image *to, unsigned kind, uint32_t arch, unsigned flags, const char *text) {
  char packed[1024];
  size_t length = strlen(text), size = length;
  memcpy(packed, text, length);
  if (flags == LZ4)
    size = (size_t)LZ4_compress_default(text, packed, (int)length, sizeof packed);
  else if (flags == ZSTD)
    size = ZSTD_compress(packed, sizeof packed, text, length, 3);
  size_t padded = (size + 8) / 8 * 8;
  put_number(to, kind, 2);
  put_number(to, 0x101, 2);
  put_number(to, 64, 4);
  put_number(to, padded, 8);
  put_number(to, flags ? size : 0, 4);
  put_number(to, 64, 4);
  put_number(to, 0x90000, 4);
  put_number(to, arch, 4);
  put_number(to, 0, 8);
  put_number(to, 0x11u | flags, 8);
  put_number(to, 0, 8);
  put_number(to, flags ? length : 0, 8);
  put(to, packed, size);
  put_number(to, 0, padded - size);
}

/* An ELF file whose only content is the section .nv_fatbin with `content`. */
static void wrap_elf(image *to, const image *content) {
  static const char names[] = "\0.nv_fatbin\0.shstrtab";
  Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                  .e_shentsize = sizeof(Elf64_Shdr),
                  .e_shnum = 3,
                  .e_shstrndx = 2};
  h.e_shoff = sizeof h + content->size + sizeof names;
  Elf64_Shdr s[3] = {{0}};
  s[1] = (Elf64_Shdr){
      .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof h, .sh_size = content->size};
  s[2] = (Elf64_Shdr){.sh_name = 12,
                      .sh_type = SHT_STRTAB,
                      .sh_offset = sizeof h + content->size,
                      .sh_size = sizeof names};
  put(to, &h, sizeof h);
  put(to, content->bytes, content->size);
  put(to, names, sizeof names);
  put(to, s, sizeof s);
}

static void check_image(const char *what, const image *of, uint32_t max_arch, size_t n,
                        plumb_status expected, const char *text) {
  plumb_arena *arena = plumb_arena_create();
  plumb_diag diag = {0};
  char *got = NULL;
  size_t length = 0;
  /* An exact copy, so that a sanitizer sees a read past its end. */
  uint8_t *copy = malloc(of->size ? of->size : 1);
  memcpy(copy, of->bytes, of->size);
  plumb_status status =
      plumb_fatbin_ptx_at(arena, "t.fatbin", copy, of->size, max_arch, n, &got, &length, &diag);
  free(copy);
  CHECK(status == expected, "%s: status %d: %s", what, status, diag.message);
  if (status == PLUMB_OK && expected == PLUMB_OK)
    CHECK(length == strlen(text) && !strcmp(got, text), "%s: got '%s'", what, got);
  else if (status == expected)
    CHECK(strstr(diag.message, text), "%s: got '%s'", what, diag.message);
  plumb_arena_destroy(arena);
}

static void check_choice(void) {
  image f = {.size = 0};
  open_header(&f);
  put_entry(&f, 2, 90, PLAIN, "\177ELF machine code");
  put_entry(&f, 1, 75, PLAIN, "text for sm_75");
  put_entry(&f, 1, 90, LZ4, "text for sm_90 text for sm_90 text for sm_90");
  put_entry(&f, 1, 80, ZSTD, "text for sm_80 text for sm_80 text for sm_80");
  close_header(&f, 0);
  check_image("highest", &f, 0, 0, PLUMB_OK, "text for sm_90 text for sm_90 text for sm_90");
  check_image("at most 86", &f, 86, 0, PLUMB_OK, "text for sm_80 text for sm_80 text for sm_80");
  check_image("second", &f, 0, 1, PLUMB_OK, "text for sm_80 text for sm_80 text for sm_80");
  check_image("third", &f, 0, 2, PLUMB_OK, "text for sm_75");
  check_image("fourth", &f, 0, 3, PLUMB_UNSUPPORTED, "holds no PTX");
  check_image("at most 70", &f, 70, 0, PLUMB_UNSUPPORTED, "no PTX for sm_70");
  CHECK(plumb_fatbin_size(f.bytes) == f.size, "%zu", plumb_fatbin_size(f.bytes));

  image elf = {.size = 0};
  wrap_elf(&elf, &f);
  check_image("ELF", &elf, 0, 0, PLUMB_OK, "text for sm_90 text for sm_90 text for sm_90");
  image two = f;
  put_number(&two, 0, 8);
  size_t second = two.size;
  open_header(&two);
  put_entry(&two, 1, 80, PLAIN, "another module");
  close_header(&two, second);
  check_image("two modules", &two, 0, 0, PLUMB_UNSUPPORTED, "holds 2 modules");
}

/* Every truncation and every changed byte ends in a text or in a message. */
static void check_damage(void) {
  image f = {.size = 0};
  open_header(&f);
  put_entry(&f, 1, 90, LZ4, "text for sm_90 text for sm_90 text for sm_90");
  put_entry(&f, 1, 80, ZSTD, "text for sm_80 text for sm_80 text for sm_80");
  close_header(&f, 0);
  image cut = f;
  for (cut.size = 0; cut.size < f.size; cut.size++)
    check_image("cut", &cut, 0, 0, PLUMB_BAD_INPUT, "damaged fat binary: ");
  size_t messages = 0;
  for (size_t i = 0; i < f.size; i++)
    for (unsigned bit = 0; bit < 8; bit++) {
      image changed = f;
      changed.bytes[i] ^= (uint8_t)(1u << bit);
      plumb_arena *arena = plumb_arena_create();
      plumb_diag diag = {0};
      char *text;
      size_t length;
      plumb_status status = plumb_fatbin_ptx(arena, "t.fatbin", changed.bytes, changed.size, 80,
                                             &text, &length, &diag);
      CHECK((status == PLUMB_OK) == (diag.message[0] == 0), "byte %zu bit %u", i, bit);
      messages += status != PLUMB_OK;
      plumb_arena_destroy(arena);
    }
  CHECK(messages > f.size, "%zu", messages);
}

int main(void) {
  check_choice();
  check_damage();
  return check_finish();
}
