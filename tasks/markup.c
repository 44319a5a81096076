#include "tasks/markup.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The code point at `text` and its length; 0 where no UTF-8 sequence stands (RFC 3629:
 * shortest form, no surrogates, at most U+10FFFF). */
static size_t decode(const char *text, uint32_t *out_point) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *bytes = (const unsigned char *)text;
  size_t length = bytes[0] < 0x80   ? 1
                  : bytes[0] < 0xc2 ? 0
                  : bytes[0] < 0xe0 ? 2
                  : bytes[0] < 0xf0 ? 3
                  : bytes[0] < 0xf5 ? 4
                                    : 0;
  if (!length) return 0;
  uint32_t point = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) return 0; /* the terminator too */
    point = point << 6 | (bytes[i] & 0x3fu);
  }
  if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
  *out_point = point;
  return length;
}

static bool is_shown(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xfffe || point == 0xffff;
}

static const char *entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\t':
      return "&#9;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    default:
      return NULL;
  }
}

void plumb_markup_append(plumb_text *out, const char *text) {
  for (const char *at = text; at && *at;) {
    uint32_t point;
    size_t length = decode(at, &point);
    const char *name = entity(*at);
    if (name)
      plumb_text_append(out, name, strlen(name));
    else if (!length || (length == 1 && is_shown(point)))
      plumb_text_printf(out, "\\x%02x", (unsigned char)*at);
    else if (is_shown(point))
      plumb_text_printf(out, "\\u%04x", point);
    else
      plumb_text_append(out, at, length);
    at += length ? length : 1;
  }
}

const char *plumb_utf8_clean(plumb_arena *arena, const char *text) {
  uint32_t point;
  const char *at = text;
  for (size_t length; at && *at; at += length)
    if (!(length = decode(at, &point))) break;
  if (!at || !*at) return text;
  plumb_text clean = plumb_text_create(arena);
  for (at = text; *at;) {
    size_t length = decode(at, &point);
    if (length)
      plumb_text_append(&clean, at, length);
    else
      plumb_text_printf(&clean, "\xef\xbf\xbd"); /* U+FFFD */
    at += length ? length : 1;
  }
  return clean.data;
}
