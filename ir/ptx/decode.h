/* The decoder's state and what its files share; private to ir/ptx. One handler a
 * mnemonic reads d->s and builds; it returns false for a form that it does not know,
 * and the instruction becomes UNSUPPORTED. */
#ifndef PLUMB_IR_PTX_DECODE_H
#define PLUMB_IR_PTX_DECODE_H

#include <string.h>

#include "ir/ptx/ast.h"

enum { PTX_MAX_PACKED = 4 };

/* A type suffix. Packed types hold two (or four) elements of `dtype` in `container`. */
typedef struct ptx_type {
  const char *text;
  plumb_dtype dtype;
  plumb_dtype container;
  bool is_signed;
  uint8_t packed; /* elements, 1 if not packed, at most PTX_MAX_PACKED */
} ptx_type;

typedef enum ptx_symbol_kind {
  PTX_SYMBOL_REG, /* `reg` (a run for vectors); ranges make one a name on use */
  PTX_SYMBOL_RANGE,
  PTX_SYMBOL_GLOBAL, /* `value` is the global's number */
  PTX_SYMBOL_FRAME,  /* `value` is the byte offset in the frame */
  PTX_SYMBOL_PARAM,  /* `value` is the byte offset in the kernel's param space */
  PTX_SYMBOL_LABEL,  /* `value` is the block */
  PTX_SYMBOL_FUNCTION,
  PTX_SYMBOL_LIST
} ptx_symbol_kind;

typedef struct ptx_symbol {
  ptx_symbol_kind kind;
  uint32_t scope;
  const char *name;
  const ptx_variable *variable;
  const ptx_function *function;
  const char *link_name; /* of a function in the program */
  const ptx_list *list;
  plumb_reg reg;
  uint64_t value;
  bool is_param; /* a .param variable of a body or of a device function */
  struct ptx_symbol *next;
} ptx_symbol;

typedef struct ptx_decoder {
  plumb_arena *arena;
  plumb_program *program;
  ptx_module *module;
  const ptx_function *fn;
  plumb_function *f;
  plumb_builder b;
  const ptx_statement *s;
  ptx_type types[8]; /* of the type suffixes, in order */
  size_t type_count;
  plumb_reg carry;   /* CC.CF */
  plumb_reg *hidden; /* one an output: address that an aggregate result is copied to */
  uint32_t after;    /* block after a guarded control instruction, or UINT32_MAX */
  bool unknown;      /* an operand had no meaning here */
  plumb_status status;
  plumb_diag *diag;
  ptx_symbol **buckets;
  size_t bucket_count, symbol_count;
} ptx_decoder;

typedef bool (*ptx_handler)(ptx_decoder *d);
/* NULL: there is no row for it. */
ptx_handler ptx_find_handler(const char *mnemonic);
const char *ptx_find_forms(const char *mnemonic);

/* --- forms (forms.c) --- */
/* True where every suffix of the instruction is understood and its types are a form. */
bool ptx_form_known(const char *forms, const ptx_statement *s);
/* types NULL: any form of the mnemonic. */
bool ptx_form_tested(const char *mnemonic, const char *types);

/* --- operands (operand.c) --- */
ptx_symbol *ptx_symbol_add(ptx_decoder *d, ptx_symbol_kind kind, uint32_t scope, const char *name);
/* NULL if it is not declared in the scope or around it. */
ptx_symbol *ptx_symbol_find(ptx_decoder *d, uint32_t scope, const char *name);
void ptx_error(ptx_decoder *d, const char *what, const char *name);

bool ptx_type_find(const char *text, ptx_type *out);
/* The type that is declared storage for `text`: packed types are their container. */
plumb_dtype ptx_register_type(const char *text);
bool ptx_has(const ptx_decoder *d, const char *part);
static inline const ptx_operand *ptx_op(const ptx_decoder *d, size_t i) {
  return i < d->s->operand_count ? &d->s->operands[i] : NULL;
}
/* The operand's value at `type`: wider registers are chopped (9.4.1). */
plumb_reg ptx_value(ptx_decoder *d, const ptx_operand *o, plumb_dtype type);
plumb_reg ptx_src(ptx_decoder *d, size_t i, plumb_dtype type);
/* A register to write a value of `type` to; ptx_done then extends it where the declared
 * register is wider. */
plumb_reg ptx_dest(ptx_decoder *d, const ptx_operand *o, plumb_dtype type);
bool ptx_done_to(ptx_decoder *d, const ptx_operand *o, plumb_dtype type, bool is_signed,
                 plumb_reg r);
plumb_reg ptx_dst(ptx_decoder *d, size_t i, plumb_dtype type);
bool ptx_done(ptx_decoder *d, size_t i, plumb_dtype type, bool is_signed, plumb_reg r);
/* The elements of a vector operand, or of a vector register, or the scalar itself. */
size_t ptx_elements(ptx_decoder *d, const ptx_operand *o, const ptx_operand **out);
/* 2, 4 or 8 of .v2, .v4, .v8, else 1. */
size_t ptx_vector_width(const ptx_decoder *d);
/* Base register (i64), added offset and, where a symbol fixes it, the space. */
typedef struct ptx_address {
  plumb_reg base;
  int64_t offset;
  plumb_space space;
  bool space_known;
  plumb_reg param_reg; /* the scalar .param variable itself, or PLUMB_NO_REG */
} ptx_address;
bool ptx_address_of(ptx_decoder *d, const ptx_operand *o, ptx_address *out);

/* Integer type of the given size in bytes. */
plumb_dtype ptx_int_type(unsigned bytes);
plumb_reg ptx_const(ptx_decoder *d, plumb_dtype type, uint64_t bits);
/* Zero- or sign-extends or truncates between integer types. */
plumb_reg ptx_resize(ptx_decoder *d, plumb_reg r, plumb_dtype from, plumb_dtype to, bool is_signed);
/* Element i of a packed register, and packing again (element 0 in the low bits). */
plumb_reg ptx_extract(ptx_decoder *d, plumb_reg r, plumb_dtype container, plumb_dtype element,
                      unsigned i);
void ptx_pack(ptx_decoder *d, plumb_reg result, plumb_dtype container, const plumb_reg *elements,
              plumb_dtype element, unsigned count);
plumb_inst *ptx_build(ptx_decoder *d, plumb_op op, plumb_dtype type, plumb_reg result,
                      const plumb_reg *operands, size_t count);

/* --- control (control.c) --- */
/* Turns the statement's guard into a branch: what is built next is unguarded. */
void ptx_guard_to_branch(ptx_decoder *d);
bool ptx_is_aggregate(const ptx_variable *v);
bool ptx_known_function(ptx_decoder *d, const char *name, const ptx_operand *results,
                        const ptx_operand *args, bool *out_ok);
void ptx_return(ptx_decoder *d);

/* --- parts of other handlers (async.c) --- */
bool ptx_emit_store_async(ptx_decoder *d);
bool ptx_emit_cluster_barrier(ptx_decoder *d);
bool ptx_emit_proxy_fence(ptx_decoder *d);

/* --- handlers --- */
#define X(mnemonic, handler, section, forms) bool ptx_emit_##handler(ptx_decoder *d);
#include "ir/ptx/instructions.def"
#undef X

#endif
