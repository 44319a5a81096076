/* Tokens of one line of the printed form: words, strings, registers, and their places.
 * For ir/read.c only. A token borrows the text; a string is decoded into the arena. */
#ifndef PLUMB_IR_LEXER_H
#define PLUMB_IR_LEXER_H

#include "ir/program.h"

typedef struct plumb_lexer {
  plumb_arena *arena;
  const char *path;
  const char *at, *end;
  const char *line_start;
  int line;
  plumb_diag *diag;
} plumb_lexer;

plumb_lexer plumb_lexer_create(plumb_arena *arena, const char *path, const char *text,
                               size_t length, plumb_diag *diag);
/* PLUMB_BAD_INPUT at the present place, quoting the text there. */
plumb_status plumb_lexer_fail(plumb_lexer *l, const char *what);
/* Skips spaces and comments inside the line; true at its end. */
bool plumb_lexer_line_end(plumb_lexer *l);
/* Skips empty lines; true at the end of the text. */
bool plumb_lexer_text_end(plumb_lexer *l);
/* Takes exactly this text when it comes next, as a whole word if it ends in a letter. */
bool plumb_lexer_take(plumb_lexer *l, const char *text);
plumb_status plumb_lexer_expect(plumb_lexer *l, const char *text);
/* Letters, digits, '_' and '.'. */
plumb_status plumb_lexer_word(plumb_lexer *l, const char **out_text, size_t *out_length);
/* Decimal or 0x hexadecimal, at most `limit`. */
plumb_status plumb_lexer_number(plumb_lexer *l, uint64_t limit, uint64_t *out_value);
plumb_status plumb_lexer_signed(plumb_lexer *l, int64_t *out_value);
/* "..." with \hh for any byte but 0. */
plumb_status plumb_lexer_string(plumb_lexer *l, const char **out_text);
plumb_status plumb_lexer_type(plumb_lexer *l, plumb_dtype *out_type);
/* The position of a word in `count` texts given by `get`. */
plumb_status plumb_lexer_choice(plumb_lexer *l, const char *what, unsigned count,
                                const char *(*get)(unsigned), unsigned *out_index);

#endif
