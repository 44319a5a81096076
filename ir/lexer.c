#include "ir/lexer.h"

#include <ctype.h>
#include <string.h>

plumb_lexer plumb_lexer_create(plumb_arena *arena, const char *path, const char *text,
                               size_t length, plumb_diag *diag) {
  return (plumb_lexer){arena, path, text, text + length, text, 1, diag};
}

plumb_status plumb_lexer_fail(plumb_lexer *l, const char *what) {
  size_t length = 0;
  while (length < 24 && l->at + length < l->end && l->at[length] != '\n' &&
         isprint((unsigned char)l->at[length]))
    length++;
  int column = (int)(l->at - l->line_start) + 1;
  if (!length)
    return plumb_fail(l->diag, PLUMB_BAD_INPUT, l->path, l->line, column, "expected %s", what);
  return plumb_fail(l->diag, PLUMB_BAD_INPUT, l->path, l->line, column, "expected %s, found '%.*s'",
                    what, (int)length, l->at);
}

bool plumb_lexer_line_end(plumb_lexer *l) {
  while (l->at < l->end && (*l->at == ' ' || *l->at == '\t' || *l->at == '\r')) l->at++;
  if (l->at < l->end && *l->at == ';')
    while (l->at < l->end && *l->at != '\n') l->at++;
  return l->at == l->end || *l->at == '\n';
}

bool plumb_lexer_text_end(plumb_lexer *l) {
  while (plumb_lexer_line_end(l)) {
    if (l->at == l->end) return true;
    l->at++;
    l->line++;
    l->line_start = l->at;
  }
  return false;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

bool plumb_lexer_take(plumb_lexer *l, const char *text) {
  if (plumb_lexer_line_end(l)) return false;
  size_t length = strlen(text);
  if ((size_t)(l->end - l->at) < length || memcmp(l->at, text, length) != 0) return false;
  if (is_word(text[length - 1]) && l->at + length < l->end && is_word(l->at[length])) return false;
  l->at += length;
  return true;
}

plumb_status plumb_lexer_expect(plumb_lexer *l, const char *text) {
  if (plumb_lexer_take(l, text)) return PLUMB_OK;
  return plumb_lexer_fail(l, plumb_arena_printf(l->arena, "'%s'", text));
}

plumb_status plumb_lexer_word(plumb_lexer *l, const char **out_text, size_t *out_length) {
  plumb_lexer_line_end(l);
  const char *start = l->at;
  while (l->at < l->end && is_word(*l->at)) l->at++;
  if (l->at == start) return plumb_lexer_fail(l, "a word");
  *out_text = start;
  *out_length = (size_t)(l->at - start);
  return PLUMB_OK;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return 16;
}

plumb_status plumb_lexer_number(plumb_lexer *l, uint64_t limit, uint64_t *out_value) {
  plumb_lexer_line_end(l);
  const char *start = l->at;
  int base = 10;
  if (l->end - l->at > 2 && l->at[0] == '0' && l->at[1] == 'x') {
    base = 16;
    l->at += 2;
  }
  const char *digits = l->at;
  uint64_t value = 0;
  while (l->at < l->end && digit_of(*l->at) < base) {
    if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
        __builtin_add_overflow(value, (uint64_t)digit_of(*l->at), &value) || value > limit) {
      l->at = start;
      return plumb_lexer_fail(
          l, plumb_arena_printf(l->arena, "a number of at most %llu", (unsigned long long)limit));
    }
    l->at++;
  }
  if (l->at == digits) return plumb_lexer_fail(l, "a number");
  *out_value = value;
  return PLUMB_OK;
}

plumb_status plumb_lexer_signed(plumb_lexer *l, int64_t *out_value) {
  bool negative = plumb_lexer_take(l, "-");
  uint64_t value;
  PLUMB_TRY(plumb_lexer_number(l, (uint64_t)INT64_MAX + (negative ? 1 : 0), &value));
  *out_value = (int64_t)(negative ? 0 - value : value);
  return PLUMB_OK;
}

plumb_status plumb_lexer_string(plumb_lexer *l, const char **out_text) {
  if (!plumb_lexer_take(l, "\"")) return plumb_lexer_fail(l, "a string in double quotes");
  const char *stop = l->at;
  while (stop < l->end && *stop != '"' && *stop != '\n') stop++;
  if (stop == l->end || *stop != '"') return plumb_lexer_fail(l, "a closing double quote");
  char *text = plumb_arena_alloc(l->arena, (size_t)(stop - l->at) + 1);
  size_t length = 0;
  while (l->at < stop) {
    if (*l->at != '\\') {
      if (!*l->at) return plumb_lexer_fail(l, "a string without a zero byte");
      text[length++] = *l->at++;
      continue;
    }
    int high = stop - l->at > 2 ? digit_of(l->at[1]) : 16;
    int low = high < 16 ? digit_of(l->at[2]) : 16;
    if (low > 15 || high + low == 0)
      return plumb_lexer_fail(l, "two hexadecimal digits, not both 0, after the backslash");
    text[length++] = (char)(high * 16 + low);
    l->at += 3;
  }
  l->at++;
  *out_text = text;
  return PLUMB_OK;
}

plumb_status plumb_lexer_type(plumb_lexer *l, plumb_dtype *out_type) {
  plumb_lexer_line_end(l);
  const char *start = l->at, *word;
  size_t length;
  PLUMB_TRY(plumb_lexer_word(l, &word, &length));
  if (plumb_dtype_from_text(word, length, out_type)) return PLUMB_OK;
  l->at = start;
  return plumb_lexer_fail(l, "a type such as i32 or f32");
}

plumb_status plumb_lexer_choice(plumb_lexer *l, const char *what, unsigned count,
                                const char *(*get)(unsigned), unsigned *out_index) {
  plumb_lexer_line_end(l);
  const char *start = l->at, *word;
  size_t length;
  PLUMB_TRY(plumb_lexer_word(l, &word, &length));
  for (unsigned i = 0; i < count; i++)
    if (strlen(get(i)) == length && memcmp(get(i), word, length) == 0) {
      *out_index = i;
      return PLUMB_OK;
    }
  l->at = start;
  return plumb_lexer_fail(l, what);
}
