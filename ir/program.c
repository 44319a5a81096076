#include "ir/program.h"

#include <string.h>

const plumb_op_info plumb_op_table[PLUMB_OP_COUNT] = {
#define X(name, mnemonic, class, results, operands, description) \
  {mnemonic, PLUMB_CLASS_##class, results, operands, description},
#include "ir/ops.def"
#undef X
};

const plumb_math_info plumb_math_table[PLUMB_MATH_COUNT] = {
#define X(name, text, arity, ulp_f32, ulp_f64) {text, arity, ulp_f32, ulp_f64},
#include "ir/math.def"
#undef X
};

const plumb_approx_info plumb_approx_table[PLUMB_APPROX_COUNT] = {
#define X(name, text, arity, section) {text, arity, section},
#include "ir/approx.def"
#undef X
};

#define TEXT_ROW(name, text) text,
const char *const plumb_round_texts[] = {
#define PLUMB_ROUND_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_ROUND_ROW
};
const char *const plumb_space_texts[] = {
#define PLUMB_SPACE_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_SPACE_ROW
};
const char *const plumb_cmp_texts[] = {
#define PLUMB_CMP_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_CMP_ROW
};
const char *const plumb_nan_rule_texts[] = {
#define PLUMB_NAN_RULE_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_NAN_RULE_ROW
};
const char *const plumb_atomic_texts[] = {
#define PLUMB_ATOMIC_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_ATOMIC_ROW
};
const char *const plumb_barrier_texts[] = {
#define PLUMB_BARRIER_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_BARRIER_ROW
};
const char *const plumb_shfl_texts[] = {
#define PLUMB_SHFL_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_SHFL_ROW
};
const char *const plumb_vote_texts[] = {
#define PLUMB_VOTE_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_VOTE_ROW
};
const char *const plumb_prmt_texts[] = {
#define PLUMB_PRMT_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_PRMT_ROW
};
const char *const plumb_matrix_texts[] = {
#define PLUMB_MATRIX_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_MATRIX_ROW
};
const char *const plumb_proxy_texts[] = {
#define PLUMB_PROXY_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_PROXY_ROW
};
const char *const plumb_group_texts[] = {
#define PLUMB_GROUP_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_GROUP_ROW
};
const char *const plumb_mbarrier_texts[] = {
#define PLUMB_MBARRIER_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_MBARRIER_ROW
};
const char *const plumb_tensormap_field_texts[] = {
#define PLUMB_TENSORMAP_FIELD_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_TENSORMAP_FIELD_ROW
};
const char *const plumb_sreg_texts[] = {
#define PLUMB_SREG_ROW TEXT_ROW
#include "ir/enums.def"
#undef PLUMB_SREG_ROW
};

/* An open-addressing index from a hash to an array position; 0 marks an empty cell. */
typedef struct index_table {
  uint32_t *cells;
  size_t capacity;
  size_t used;
} index_table;

static uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdu;
  return h ^ (h >> 32);
}

typedef bool (*index_equal)(const plumb_program *p, uint32_t position, const void *key);
typedef uint64_t (*index_hash)(const plumb_program *p, uint32_t position);

static void index_insert(plumb_program *p, index_table *t, uint64_t hash, uint32_t position,
                         index_hash rehash) {
  if ((t->used + 1) * 2 > t->capacity) {
    index_table grown = {.capacity = t->capacity ? t->capacity * 2 : 64};
    grown.cells = PLUMB_NEW_ARRAY(p->arena, uint32_t, grown.capacity);
    for (size_t i = 0; i < t->capacity; i++)
      if (t->cells[i]) index_insert(p, &grown, rehash(p, t->cells[i] - 1), t->cells[i] - 1, rehash);
    *t = grown;
  }
  size_t at = hash & (t->capacity - 1);
  while (t->cells[at]) at = (at + 1) & (t->capacity - 1);
  t->cells[at] = position + 1;
  t->used++;
}

static bool index_find(const plumb_program *p, const index_table *t, uint64_t hash, const void *key,
                       index_equal equal, uint32_t *out_position) {
  if (!t->capacity) return false;
  for (size_t at = hash & (t->capacity - 1); t->cells[at]; at = (at + 1) & (t->capacity - 1))
    if (equal(p, t->cells[at] - 1, key)) {
      *out_position = t->cells[at] - 1;
      return true;
    }
  return false;
}

plumb_program *plumb_program_create(plumb_arena *arena, const char *name) {
  plumb_program *p = PLUMB_NEW(arena, plumb_program);
  p->arena = arena;
  p->name = plumb_arena_copy_string(arena, name);
  p->locs = plumb_arena_grow(arena, NULL, &p->loc_capacity, 1, sizeof(plumb_loc));
  p->loc_count = 1;
  p->const_index = PLUMB_NEW(arena, index_table);
  p->loc_index = PLUMB_NEW(arena, index_table);
  return p;
}

plumb_function *plumb_function_create(plumb_program *p, const char *name,
                                      plumb_function_kind kind) {
  plumb_function *f = PLUMB_NEW(p->arena, plumb_function);
  f->program = p;
  f->name = plumb_arena_copy_string(p->arena, name);
  f->kind = kind;
  f->index = (uint32_t)p->function_count;
  p->functions = plumb_arena_grow(p->arena, p->functions, &p->function_capacity,
                                  p->function_count + 1, sizeof *p->functions);
  p->functions[p->function_count++] = f;
  return f;
}

plumb_function *plumb_program_find(const plumb_program *p, const char *name) {
  plumb_function *found = NULL;
  for (size_t i = 0; i < p->function_count; i++) {
    plumb_function *f = p->functions[i];
    if (strcmp(f->name, name) != 0) continue;
    if (!found || (found->external && !f->external) || (found->weak && !f->weak && !f->external))
      found = f;
  }
  return found;
}

static plumb_param *append_param(plumb_function *f, const char *name, plumb_dtype type) {
  plumb_arena *arena = f->program->arena;
  f->params =
      plumb_arena_grow(arena, f->params, &f->param_capacity, f->param_count + 1, sizeof *f->params);
  plumb_param *param = &f->params[f->param_count++];
  *param = (plumb_param){.name = name ? plumb_arena_copy_string(arena, name) : NULL,
                         .type = type,
                         .reg = PLUMB_NO_REG};
  return param;
}

plumb_reg plumb_function_add_param(plumb_function *f, const char *name, plumb_dtype type) {
  plumb_param *param = append_param(f, name, type);
  param->reg = plumb_reg_create(f, type);
  param->size_bytes = param->align = plumb_dtype_bytes(type);
  return param->reg;
}

uint32_t plumb_function_add_kernel_param(plumb_function *f, const char *name, plumb_dtype type,
                                         uint32_t size_bytes, uint32_t align) {
  if (!align) align = 1;
  plumb_param *param = append_param(f, name, type);
  param->offset = (f->param_bytes + align - 1) / align * align;
  param->size_bytes = size_bytes;
  param->align = align;
  f->param_bytes = param->offset + size_bytes;
  return param->offset;
}

plumb_reg plumb_reg_create(plumb_function *f, plumb_dtype type) {
  return plumb_reg_create_run(f, type, 1);
}

plumb_reg plumb_reg_create_run(plumb_function *f, plumb_dtype type, size_t count) {
  f->reg_types = plumb_arena_grow(f->program->arena, f->reg_types, &f->reg_capacity,
                                  f->reg_count + count, sizeof *f->reg_types);
  plumb_reg first = (plumb_reg)f->reg_count;
  for (size_t i = 0; i < count; i++) f->reg_types[f->reg_count++] = type;
  return first;
}

plumb_dtype plumb_reg_type(const plumb_function *f, plumb_reg r) {
  return plumb_reg_is_const(r) ? f->program->consts[plumb_reg_const_index(r)].type
                               : f->reg_types[r];
}

static uint64_t const_hash(const plumb_program *p, uint32_t position) {
  const plumb_const *c = &p->consts[position];
  return mix(mix(mix(1, c->type), c->bits), c->hi);
}

static bool const_equal(const plumb_program *p, uint32_t position, const void *key) {
  const plumb_const *a = &p->consts[position], *b = key;
  return a->type == b->type && a->bits == b->bits && a->hi == b->hi;
}

static plumb_reg add_constant(plumb_program *p, plumb_const c) {
  uint64_t hash = mix(mix(mix(1, c.type), c.bits), c.hi);
  uint32_t position;
  if (!index_find(p, p->const_index, hash, &c, const_equal, &position)) {
    p->consts = plumb_arena_grow(p->arena, p->consts, &p->const_capacity, p->const_count + 1,
                                 sizeof *p->consts);
    position = (uint32_t)p->const_count;
    p->consts[p->const_count++] = c;
    index_insert(p, p->const_index, hash, position, const_hash);
  }
  return position | PLUMB_CONST_BIT;
}

plumb_reg plumb_constant(plumb_program *p, plumb_dtype type, uint64_t bits) {
  unsigned width = plumb_dtype_table[type].bits;
  if (type == PLUMB_I128) return plumb_constant128(p, bits, (int64_t)bits < 0 ? UINT64_MAX : 0);
  if (width < 64) bits &= (1ull << width) - 1;
  return add_constant(p, (plumb_const){.type = type, .bits = bits});
}

plumb_reg plumb_constant128(plumb_program *p, uint64_t lo, uint64_t hi) {
  return add_constant(p, (plumb_const){.type = PLUMB_I128, .bits = lo, .hi = hi});
}

uint32_t plumb_block_create(plumb_function *f) {
  f->blocks = plumb_arena_grow(f->program->arena, f->blocks, &f->block_capacity, f->block_count + 1,
                               sizeof *f->blocks);
  f->blocks[f->block_count] = (plumb_block){.reconverge = UINT32_MAX};
  return (uint32_t)f->block_count++;
}

size_t plumb_global_create(plumb_program *p, const char *name, plumb_space space,
                           uint64_t size_bytes, uint32_t align) {
  p->globals = plumb_arena_grow(p->arena, p->globals, &p->global_capacity, p->global_count + 1,
                                sizeof *p->globals);
  p->globals[p->global_count] = (plumb_global){.name = plumb_arena_copy_string(p->arena, name),
                                               .space = space,
                                               .size_bytes = size_bytes,
                                               .align = align ? align : 1};
  return p->global_count++;
}

size_t plumb_program_find_global(const plumb_program *p, const char *name) {
  size_t found = SIZE_MAX;
  for (size_t i = 0; i < p->global_count; i++)
    if (strcmp(p->globals[i].name, name) == 0 &&
        (found == SIZE_MAX || (p->globals[found].external && !p->globals[i].external) ||
         (p->globals[found].weak && !p->globals[i].weak && !p->globals[i].external)))
      found = i;
  return found;
}

int64_t plumb_string_add(plumb_program *p, const char *text) {
  p->strings = plumb_arena_grow(p->arena, p->strings, &p->string_capacity, p->string_count + 1,
                                sizeof *p->strings);
  p->strings[p->string_count] = plumb_arena_copy_string(p->arena, text);
  return (int64_t)p->string_count++;
}

static uint64_t loc_key_hash(const plumb_loc *loc) {
  uint64_t h = 2;
  for (const char *c = loc->file ? loc->file : ""; *c; c++) h = mix(h, (unsigned char)*c);
  return mix(mix(mix(h, (uint64_t)loc->line), (uint64_t)loc->column), (uint64_t)loc->stage_line);
}

static uint64_t loc_hash(const plumb_program *p, uint32_t position) {
  return loc_key_hash(&p->locs[position]);
}

static bool loc_equal(const plumb_program *p, uint32_t position, const void *key) {
  const plumb_loc *a = &p->locs[position], *b = key;
  return a->line == b->line && a->column == b->column && a->stage_line == b->stage_line &&
         strcmp(a->file ? a->file : "", b->file ? b->file : "") == 0;
}

uint32_t plumb_loc_add(plumb_program *p, const char *file, int line, int column, int stage_line) {
  plumb_loc loc = {file, line, column, stage_line};
  uint64_t hash = loc_key_hash(&loc);
  uint32_t position;
  if (index_find(p, p->loc_index, hash, &loc, loc_equal, &position)) return position;
  if (file) {
    /* Consecutive locations nearly always name one file: share its copy. */
    const char *last = p->locs[p->loc_count - 1].file;
    loc.file = last && strcmp(last, file) == 0 ? last : plumb_arena_copy_string(p->arena, file);
  }
  p->locs =
      plumb_arena_grow(p->arena, p->locs, &p->loc_capacity, p->loc_count + 1, sizeof *p->locs);
  position = (uint32_t)p->loc_count;
  p->locs[p->loc_count++] = loc;
  index_insert(p, p->loc_index, hash, position, loc_hash);
  return position;
}

uint32_t plumb_frame_reserve(plumb_function *f, uint64_t size_bytes, uint32_t align) {
  if (!align) align = 1;
  uint64_t offset = ((uint64_t)f->frame_bytes + align - 1) / align * align;
  uint64_t end = offset + size_bytes;
  /* The executor refuses frames of this size with a stack-overflow trap. */
  if (end < offset || end > INT32_MAX) end = INT32_MAX;
  f->frame_bytes = (uint32_t)end;
  return (uint32_t)offset;
}
