/* NVVM's matrix intrinsics: the PTX instruction and the constraints that each stands for. */
#include <string.h>

#include "ir/ptx/ptx.h"
#include "tests/unit/check.h"

typedef struct row {
  const char *name, *text, *constraints; /* text NULL: no such intrinsic */
} row;

static const row rows[] = {
    {"llvm.nvvm.mma.m16n8k8.row.col.f32.f32",
     "mma.sync.aligned.row.col.m16n8k8.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5}, {$6}, "
     "{$7, $8, $9, $10};",
     "=f,=f,=f,=f,r,r,r,f,f,f,f"},
    {"llvm.nvvm.mma.m8n8k4.row.col.f64",
     "mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};",
     "=d,=d,d,d,d,d"},
    {"llvm.nvvm.mma.m8n8k16.row.col.satfinite.s8.u8",
     "mma.sync.aligned.row.col.m8n8k16.satfinite.s32.s8.u8.s32 {$0, $1}, {$2}, {$3}, {$4, $5};",
     "=r,=r,r,r,r,r"},
    {"llvm.nvvm.mma.and.popc.m8n8k128.row.col.b1",
     "mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32.and.popc {$0, $1}, {$2}, {$3}, {$4, $5};",
     "=r,=r,r,r,r,r"},
    {"llvm.nvvm.mma.m16n8k16.row.col.f16.e4m3.e5m2.f16",
     "mma.sync.aligned.row.col.m16n8k16.f16.e4m3.e5m2.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};",
     "=r,=r,r,r,r,r,r"},
    {"llvm.nvvm.mma.sp.ordered.metadata.m16n8k8.row.col.tf32",
     "mma.sp::ordered_metadata.sync.aligned.row.col.m16n8k8.f32.tf32.tf32.f32 {$0, $1, $2, $3}, "
     "{$4, $5}, {$6, $7}, {$8, $9, $10, $11}, $12, $13;",
     "=f,=f,=f,=f,r,r,r,r,f,f,f,f,r,n"},
    {"llvm.nvvm.wmma.m8n8k4.mma.row.col.rp.f64",
     "wmma.mma.sync.aligned.row.col.m8n8k4.rp.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};",
     "=d,=d,d,d,d,d"},
    {"llvm.nvvm.wmma.m8n32k16.load.a.col.stride.s8.p3",
     "wmma.load.a.sync.aligned.col.m8n32k16.shared.s8 {$0}, [$1], $2;", "=r,l,r"},
    {"llvm.nvvm.wmma.m16n16k8.load.c.row.f32.p0",
     "wmma.load.c.sync.aligned.row.m16n16k8.f32 {$0, $1, $2, $3, $4, $5, $6, $7}, [$8];",
     "=f,=f,=f,=f,=f,=f,=f,=f,l"},
    {"llvm.nvvm.wmma.m8n8k32.store.d.row.stride.s32.p1",
     "wmma.store.d.sync.aligned.row.m8n8k32.global.s32 [$0], {$1, $2}, $3;", "l,r,r,r"},
    {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3",
     "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0, $1}, [$2];", "=r,=r,l"},
    {"llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3",
     "stmatrix.sync.aligned.m8n8.x1.shared.b16 [$0], {$1};", "l,r"},
    {"llvm.nvvm.mma.m16n8k8.row.col.f64.f64.f64.f64.f64", NULL, NULL},
    {"llvm.nvvm.mma.m16n8k9.row.col.f32.f32", NULL, NULL},
    {"llvm.nvvm.wmma.m16n16k16.load.e.row.f16.p0", NULL, NULL},
    {"llvm.nvvm.mma", NULL, NULL},
    {"llvm.fabs.f32", NULL, NULL},
};

/* Arguments of the call: what is no result. */
static size_t inputs_of(const char *constraints) {
  size_t count = 0;
  for (const char *c = constraints ? constraints : ""; *c; c++)
    if (*c == '=')
      c++;
    else if (*c != ',')
      count++;
  return count;
}

int main(void) {
  plumb_arena *arena = plumb_arena_create();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const row *x = &rows[i];
    plumb_ptx_intrinsic t;
    int64_t constants[32];
    size_t inputs = inputs_of(x->constraints);
    for (size_t k = 0; k < inputs; k++) constants[k] = PLUMB_PTX_NO_CONSTANT;
    bool known = plumb_ptx_of_intrinsic(arena, x->name, constants, inputs, &t);
    CHECK(known == (x->text != NULL), "%s", x->name);
    if (!known || !x->text) continue;
    CHECK(strcmp(t.text, x->text) == 0, "%s: %s", x->name, t.text);
    CHECK(strcmp(t.constraints, x->constraints) == 0, "%s: %s", x->name, t.constraints);
  }
  plumb_arena_destroy(arena);
  return check_finish();
}
