/* What parse.c and parse_operand.c share; private to ir/ptx. */
#ifndef PLUMB_IR_PTX_PARSE_H
#define PLUMB_IR_PTX_PARSE_H

#include <string.h>

#include "ir/ptx/ast.h"

typedef struct ptx_parser {
  plumb_arena *arena;
  ptx_lexer lexer;
  ptx_token token; /* the current one */
  ptx_module *module;
  plumb_diag *diag;
  ptx_source source; /* of the last .loc */
} ptx_parser;

plumb_status ptx_parser_advance(ptx_parser *p);
/* A failure at the current token. */
plumb_status ptx_parser_fail(ptx_parser *p, const char *expected);
static inline bool ptx_parser_at(const ptx_parser *p, char c) {
  return p->token.kind == PTX_PUNCT && *p->token.text == c;
}
static inline bool ptx_parser_at_dot(const ptx_parser *p, const char *word) {
  return p->token.kind == PTX_DOT && p->token.length == strlen(word) &&
         memcmp(p->token.text, word, p->token.length) == 0;
}
plumb_status ptx_parser_expect(ptx_parser *p, char c);
char *ptx_parser_text(ptx_parser *p);
/* An integer constant expression of + - over constants (4.5.6 is used by hand only). */
plumb_status ptx_parser_int(ptx_parser *p, uint64_t *out_value);

/* `depth` bounds nesting. */
plumb_status ptx_parse_operand(ptx_parser *p, int depth, ptx_operand *out);
plumb_status ptx_parse_instruction(ptx_parser *p, ptx_statement *out);

#endif
