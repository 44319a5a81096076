/* What parse.c and the files parse_....c share; private to ir/ptx. */
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
/* An integer constant expression (4.5.6); its products, before a sign; one integer. */
plumb_status ptx_parser_constant(ptx_parser *p, uint64_t *out_value);
plumb_status ptx_parser_term(ptx_parser *p, uint64_t *out_value);
plumb_status ptx_parser_int(ptx_parser *p, uint64_t *out_value);

/* Declarations (parse_variable.c). The state space at the current token; the words
 * between it and the name; `name[n] = {...}, ...;`; `(.param .u32 a, ...)`; .visible and
 * its like; the parentheses of .attribute, which change no value (5.4.8). */
bool ptx_parse_space(const ptx_parser *p, ptx_space *out);
plumb_status ptx_parse_variable_type(ptx_parser *p, ptx_variable *v);
plumb_status ptx_parse_declarators(ptx_parser *p, const ptx_variable *base, ptx_variable **list,
                                   size_t *count, size_t *capacity);
plumb_status ptx_parse_parameters(ptx_parser *p, uint32_t scope, ptx_variable **list,
                                  size_t *count);
plumb_status ptx_parse_linkage(ptx_parser *p, ptx_variable *v);
plumb_status ptx_parse_attribute(ptx_parser *p);

/* `depth` bounds nesting. */
plumb_status ptx_parse_operand(ptx_parser *p, int depth, ptx_operand *out);
plumb_status ptx_parse_instruction(ptx_parser *p, ptx_statement *out);

#endif
