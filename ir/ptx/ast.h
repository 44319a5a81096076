/* The syntax tree of a PTX module, private to ir/ptx. It names things, it knows no
 * meaning. Names are resolved by (scope, name): a scope is a `{ }` of a function
 * body, 0 is the module. Everything lives in the program's arena. */
#ifndef PLUMB_IR_PTX_AST_H
#define PLUMB_IR_PTX_AST_H

#include "ir/program.h"

typedef enum ptx_token_kind {
  PTX_END,
  PTX_NAME, /* identifier, `%tid.x` and `_` included */
  PTX_DOT,  /* directive or suffix: text starts after the dot */
  PTX_INT,
  PTX_F32,
  PTX_F64,
  PTX_STRING,
  PTX_PUNCT
} ptx_token_kind;

typedef struct ptx_token {
  ptx_token_kind kind;
  const char *text; /* into the module's text */
  size_t length;
  uint64_t value; /* INT, and the bits of F32 and F64 */
  int line, column;
  bool adjacent; /* no space before it */
} ptx_token;

typedef struct ptx_lexer {
  const char *path, *at, *end, *line_start;
  int line;
} ptx_lexer;

ptx_lexer ptx_lexer_create(const char *path, const char *text, size_t length);
/* PLUMB_BAD_INPUT: a character that starts no token, an unterminated comment or string */
plumb_status ptx_lexer_next(ptx_lexer *lexer, ptx_token *out_token, plumb_diag *diag);

typedef enum ptx_operand_kind {
  PTX_OPERAND_NAME,
  PTX_OPERAND_INT,
  PTX_OPERAND_F32,
  PTX_OPERAND_F64,
  PTX_OPERAND_ADDRESS, /* items[0] is the base, value the byte offset */
  PTX_OPERAND_VECTOR,
  PTX_OPERAND_PAIR, /* a|b */
  PTX_OPERAND_LIST  /* (a, b) of a call */
} ptx_operand_kind;

typedef struct ptx_operand {
  ptx_operand_kind kind;
  bool negated;     /* !p */
  bool minus;       /* -a, of a video instruction */
  const char *name; /* NAME */
  const char *part; /* a.h1, [a].unified: what follows the dot, or NULL */
  uint64_t value;   /* INT and float bits; NAME and ADDRESS: added offset */
  uint64_t index;   /* NAME: a[3], in elements of the variable */
  struct ptx_operand *items;
  size_t count;
} ptx_operand;

typedef struct ptx_source {
  int file, line, column, inlined_file, inlined_line;
} ptx_source;

typedef enum ptx_statement_kind {
  PTX_STATEMENT_INSTRUCTION,
  PTX_STATEMENT_LABEL
} ptx_statement_kind;

enum { PTX_MAX_PARTS = 24 };

typedef struct ptx_statement {
  ptx_statement_kind kind;
  const char *name;                 /* label, or the mnemonic up to the first dot */
  const char *parts[PTX_MAX_PARTS]; /* suffixes without their dots */
  size_t part_count;
  const char *guard;
  bool guard_not;
  ptx_operand *operands;
  size_t operand_count;
  uint32_t scope;
  int line, column;
  ptx_source source;
  const char *text; /* of the instruction, for messages */
} ptx_statement;

typedef struct ptx_init {
  uint64_t bits;
  const char *symbol; /* NULL: a number */
  bool generic;
  uint64_t mask; /* 0: the whole address */
} ptx_init;

typedef enum ptx_space {
  PTX_REG,
  PTX_PARAM,
  PTX_LOCAL,
  PTX_SHARED,
  PTX_GLOBAL,
  PTX_CONST
} ptx_space;

typedef struct ptx_variable {
  ptx_space space;
  const char *name;
  const char *type; /* "u32" */
  uint32_t vector;  /* 1, 2, 4, 8 */
  uint32_t align;
  bool is_array;
  bool unsized; /* [] */
  uint64_t elements;
  uint64_t range; /* registers: %r<range>, 0 for a single one */
  bool external, is_weak, is_visible;
  uint32_t scope;
  ptx_init *inits;
  size_t init_count;
  int line, column;
} ptx_variable;

/* `.branchtargets`, `.callprototype`, `.calltargets`: a label with a list. */
typedef struct ptx_list {
  const char *name;
  uint32_t scope;
  int line, column; /* of the name */
  const char **targets;
  size_t target_count;
  ptx_variable *inputs, *outputs;
  size_t input_count, output_count;
} ptx_list;

/* `.alias name, target;` (11.7): one more name of a function. */
typedef struct ptx_alias {
  const char *name, *target;
  int line, column;
} ptx_alias;

typedef struct ptx_function {
  const char *name;
  bool is_entry, has_body, is_weak, is_visible, noreturn;
  ptx_variable *inputs, *outputs;
  size_t input_count, output_count;
  ptx_variable *variables;
  size_t variable_count, variable_capacity;
  ptx_statement *statements;
  size_t statement_count, statement_capacity;
  ptx_list *lists;
  size_t list_count, list_capacity;
  uint64_t max_threads[3], required_threads[3], required_cluster[3];
  uint32_t scope; /* of its parameters; the body's is a child */
  int line, column;
} ptx_function;

typedef struct ptx_module {
  const char *path;
  unsigned version[2]; /* of .version: 9 and 0 for 9.0 */
  const char **files;
  size_t file_count, file_capacity;
  ptx_variable *variables;
  size_t variable_count, variable_capacity;
  ptx_function *functions;
  size_t function_count, function_capacity;
  ptx_alias *aliases;
  size_t alias_count, alias_capacity;
  uint32_t *scope_parents; /* [0] is the module */
  size_t scope_count, scope_capacity;
} ptx_module;

/* PLUMB_BAD_INPUT  the text is not PTX */
plumb_status ptx_parse(plumb_arena *arena, const char *path, const char *text, size_t length,
                       ptx_module *out_module, plumb_diag *diag);

/* Size in bytes of a fundamental type named without its dot; 0 if there is none. */
uint32_t ptx_type_bytes(const char *type);

#endif
