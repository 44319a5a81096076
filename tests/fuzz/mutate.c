#include "tests/fuzz/mutate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1 << 14, POOL = 4096, MAX_TOKEN = 64 };

typedef struct token {
  uint32_t start, length;
} token;

/* Tokens of all texts so far: what one input holds may meet another. */
static char pool[POOL][MAX_TOKEN + 1];
static size_t pool_count;

static uint64_t next_random(uint64_t *seed) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15ull); /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

typedef enum kind { NUMBER, SUFFIX, DOTTED, NAME, PUNCTUATION } kind;

/* Of a token: "7", ".reg", "add.u32", "r0", ";". */
static kind kind_of(const char *text, size_t length) {
  if (isdigit((unsigned char)text[0])) return NUMBER;
  if (!in_word(text[0])) return PUNCTUATION;
  return text[0] == '.' ? SUFFIX : memchr(text, '.', length) ? DOTTED : NAME;
}

static size_t split(const char *text, size_t length, token *tokens) {
  size_t count = 0;
  for (size_t i = 0; i < length && count < MAX_TOKENS;) {
    size_t start = i++;
    if (isspace((unsigned char)text[start])) continue;
    while (in_word(text[start]) && i < length && in_word(text[i])) i++;
    tokens[count++] = (token){(uint32_t)start, (uint32_t)(i - start)};
  }
  return count;
}

static void remember(const char *text, const token *t, uint64_t *seed) {
  if (t->length > MAX_TOKEN) return;
  size_t at = pool_count < POOL ? pool_count++ : next_random(seed) % POOL;
  memcpy(pool[at], text + t->start, t->length);
  pool[at][t->length] = 0;
}

/* Numbers at the edges of every width. */
static const char *const numbers[] = {"0",  "1",  "2",   "3",          "7",
                                      "31", "32", "255", "4294967295", "18446744073709551615"};

typedef struct buffer {
  char *data;
  size_t length;
} buffer;

static void splice(buffer *b, size_t at, size_t removed, const char *text, size_t length) {
  char *grown = malloc(b->length - removed + length + 1);
  if (!grown) abort();
  memcpy(grown, b->data, at);
  memcpy(grown + at, text, length);
  memcpy(grown + at + length, b->data + at + removed, b->length - at - removed);
  free(b->data);
  b->data = grown;
  b->length += length - removed;
}

/* What takes the place of a token: half of the time a token of the same text, where names are
 * declared, else one from the pool, or an edge number. */
static void replace(buffer *b, const token *tokens, size_t count, uint64_t *seed) {
  const token *t = &tokens[next_random(seed) % count];
  kind wanted = kind_of(b->data + t->start, t->length);
  const char *with = "";
  size_t length = 0;
  bool same_text = next_random(seed) % 2;
  if (wanted == NUMBER && next_random(seed) % 2) {
    with = numbers[next_random(seed) % (sizeof numbers / sizeof *numbers)];
    length = strlen(with);
  }
  for (int tries = 0; !length && tries < 64; tries++) {
    const token *own = &tokens[next_random(seed) % count];
    const char *candidate = same_text    ? b->data + own->start
                            : pool_count ? pool[next_random(seed) % pool_count]
                                         : "";
    size_t candidate_length = same_text ? own->length : strlen(candidate);
    if (candidate_length && kind_of(candidate, candidate_length) == wanted) {
      with = candidate;
      length = candidate_length;
    }
  }
  splice(b, t->start, t->length, with, length);
}

/* Drops the line that holds byte `at`, or says it twice. */
static void change_line(buffer *b, size_t at, bool twice) {
  size_t start = at, end = at;
  while (start > 0 && b->data[start - 1] != '\n') start--;
  while (end < b->length && b->data[end] != '\n') end++;
  if (end < b->length) end++;
  char *line = malloc(end - start + 1);
  if (!line) abort();
  memcpy(line, b->data + start, end - start);
  splice(b, start, twice ? 0 : end - start, line, twice ? end - start : 0);
  free(line);
}

char *plumb_mutate(const char *text, size_t length, uint64_t *seed, size_t *out_length) {
  static token tokens[MAX_TOKENS];
  buffer b = {malloc(length + 1), length};
  if (!b.data) abort();
  memcpy(b.data, text, length);
  uint64_t changes = 1 + next_random(seed) % 3;
  for (uint64_t i = 0; i < changes; i++) {
    size_t count = split(b.data, b.length, tokens);
    if (!count) break;
    const token *t = &tokens[next_random(seed) % count];
    remember(b.data, &tokens[next_random(seed) % count], seed);
    uint64_t choice = next_random(seed) % 8;
    if (choice < 2) {
      change_line(&b, t->start, choice == 1);
      continue;
    }
    replace(&b, tokens, count, seed);
  }
  *out_length = b.length;
  return b.data;
}
