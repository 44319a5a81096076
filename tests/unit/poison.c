/* Poison (LLVM Language Reference, Poison Values): every flag kept and broken, used and not
 * used, in LLVM IR, and in MLIR's arith and llvm dialects. */
#include <llvm-c/IRReader.h>
#include <string.h>

#include "ir/llvm/llvm.h"
#include "ir/mlir/mlir.h"
#include "targets/cpu/cpu.h"
#include "tests/unit/check.h"

enum { WORDS = 4 };

/* What is computed from i, j and f, and whether its use is a poison trap. */
typedef struct row {
  const char *name, *body;
  int32_t i, j;
  float f;
  bool poison;
  plumb_trap_kind other; /* another trap that is wanted */
} row;

static void check_trap(plumb_arena *arena, plumb_program *p, const row *r, bool kernel) {
  plumb_diag diag = {0};
  plumb_run_result result = {0};
  plumb_machine *m = plumb_machine_create(arena);
  int32_t words[WORDS] = {r->i, r->j, 0, 0};
  memcpy(&words[2], &r->f, sizeof r->f);
  uint64_t address = plumb_machine_alloc(m, sizeof words, 256, "p");
  plumb_status status = plumb_machine_write(m, address, words, sizeof words, &diag);
  if (status == PLUMB_OK) status = plumb_program_finish(p, &diag);
  if (status == PLUMB_OK) status = plumb_machine_load(m, p, &diag);
  plumb_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  if (status == PLUMB_OK && kernel)
    status = plumb_machine_launch(m, "k", &launch, &address, 8, NULL, &result, &diag);
  else if (status == PLUMB_OK)
    status = plumb_machine_call(m, "f", &address, 1, NULL, &result, &diag);
  CHECK(status == PLUMB_OK, "%s: %s", r->name, diag.message);
  plumb_trap_kind wanted = r->poison ? PLUMB_TRAP_POISON : r->other;
  CHECK(result.trap.kind == wanted, "%s: trap %s, wanted %s: %s", r->name,
        plumb_trap_text(result.trap.kind), plumb_trap_text(wanted),
        result.trap.message ? result.trap.message : "-");
  plumb_machine_destroy(m);
}

/* --- LLVM IR --- */

#define HEAD \
  "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n" \
  "target triple = \"nvptx64-nvidia-cuda\"\n" \
  "define ptx_kernel void @k(ptr %p) {\n" \
  " %pi = getelementptr i32, ptr %p, i64 0\n %i = load i32, ptr %pi\n" \
  " %pj = getelementptr i32, ptr %p, i64 1\n %j = load i32, ptr %pj\n" \
  " %pf = getelementptr i32, ptr %p, i64 2\n %f = load float, ptr %pf\n" \
  " %po = getelementptr i32, ptr %p, i64 3\n"
#define OUT " store i32 %r, ptr %po\n"
#define FOUT " store float %r, ptr %po\n"

static const row llvm_rows[] = {
    {"add nsw kept", "%r = add nsw i32 %i, %j\n" OUT, INT32_MAX, -1, 0, false, PLUMB_TRAP_NONE},
    {"add nsw", "%r = add nsw i32 %i, %j\n" OUT, INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"add nsw unused", "%r = add nsw i32 %i, %j\n", INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"add nuw kept", "%r = add nuw i32 %i, %j\n" OUT, INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"add nuw", "%r = add nuw i32 %i, %j\n" OUT, -1, 1, 0, true, PLUMB_TRAP_NONE},
    {"add wraps", "%r = add i32 %i, %j\n" OUT, -1, 1, 0, false, PLUMB_TRAP_NONE},
    {"sub nsw", "%r = sub nsw i32 %i, %j\n" OUT, INT32_MIN, 1, 0, true, PLUMB_TRAP_NONE},
    {"sub nuw", "%r = sub nuw i32 %i, %j\n" OUT, 0, 1, 0, true, PLUMB_TRAP_NONE},
    {"mul nsw", "%r = mul nsw i32 %i, %j\n" OUT, 65536, 32768, 0, true, PLUMB_TRAP_NONE},
    {"mul nsw kept", "%r = mul nsw i32 %i, %j\n" OUT, 65536, -32768, 0, false, PLUMB_TRAP_NONE},
    {"mul nuw", "%r = mul nuw i32 %i, %j\n" OUT, 65536, 65536, 0, true, PLUMB_TRAP_NONE},
    {"mul nsw i64",
     "%a = sext i32 %i to i64\n%b = mul nsw i64 %a, 4611686018427387904\n"
     "%r = trunc i64 %b to i32\n" OUT,
     2, 0, 0, true, PLUMB_TRAP_NONE},
    {"add nsw i16",
     "%a = trunc i32 %i to i16\n%b = add nsw i16 %a, 1\n%r = zext i16 %b to i32\n" OUT, 32767, 0, 0,
     true, PLUMB_TRAP_NONE},
    {"shl nsw", "%r = shl nsw i32 %i, %j\n" OUT, 1, 31, 0, true, PLUMB_TRAP_NONE},
    {"shl nuw", "%r = shl nuw i32 %i, %j\n" OUT, 3, 31, 0, true, PLUMB_TRAP_NONE},
    {"shl nuw kept", "%r = shl nuw i32 %i, %j\n" OUT, 1, 31, 0, false, PLUMB_TRAP_NONE},
    {"shl by the width", "%r = shl i32 %i, %j\n" OUT, 1, 32, 0, true, PLUMB_TRAP_NONE},
    {"lshr exact", "%r = lshr exact i32 %i, %j\n" OUT, 5, 1, 0, true, PLUMB_TRAP_NONE},
    {"lshr exact kept", "%r = lshr exact i32 %i, %j\n" OUT, 6, 1, 0, false, PLUMB_TRAP_NONE},
    {"ashr exact", "%r = ashr exact i32 %i, %j\n" OUT, -5, 1, 0, true, PLUMB_TRAP_NONE},
    {"udiv exact", "%r = udiv exact i32 %i, %j\n" OUT, 7, 2, 0, true, PLUMB_TRAP_NONE},
    {"sdiv exact kept", "%r = sdiv exact i32 %i, %j\n" OUT, -8, 2, 0, false, PLUMB_TRAP_NONE},
    {"sdiv overflows", "%r = sdiv i32 %i, %j\n" OUT, INT32_MIN, -1, 0, true, PLUMB_TRAP_NONE},
    {"srem by zero", "%r = srem i32 %i, %j\n" OUT, 1, 0, 0, true, PLUMB_TRAP_NONE},
    {"or disjoint", "%r = or disjoint i32 %i, %j\n" OUT, 3, 2, 0, true, PLUMB_TRAP_NONE},
    {"or disjoint kept", "%r = or disjoint i32 %i, %j\n" OUT, 1, 2, 0, false, PLUMB_TRAP_NONE},
    {"zext nneg", "%a = zext nneg i32 %i to i64\n%r = trunc i64 %a to i32\n" OUT, -1, 0, 0, true,
     PLUMB_TRAP_NONE},
    {"zext nneg kept", "%a = zext nneg i32 %i to i64\n%r = trunc i64 %a to i32\n" OUT, 1, 0, 0,
     false, PLUMB_TRAP_NONE},
    {"uitofp nneg", "%r = uitofp nneg i32 %i to float\n" FOUT, -1, 0, 0, true, PLUMB_TRAP_NONE},
    {"trunc nuw", "%a = trunc nuw i32 %i to i16\n%r = zext i16 %a to i32\n" OUT, 65536, 0, 0, true,
     PLUMB_TRAP_NONE},
    {"trunc nsw", "%a = trunc nsw i32 %i to i16\n%r = zext i16 %a to i32\n" OUT, 32768, 0, 0, true,
     PLUMB_TRAP_NONE},
    {"trunc nsw kept", "%a = trunc nsw i32 %i to i16\n%r = zext i16 %a to i32\n" OUT, -32768, 0, 0,
     false, PLUMB_TRAP_NONE},
    {"icmp samesign", "%c = icmp samesign ult i32 %i, %j\n%r = zext i1 %c to i32\n" OUT, -1, 1, 0,
     true, PLUMB_TRAP_NONE},
    {"icmp samesign kept", "%c = icmp samesign ult i32 %i, %j\n%r = zext i1 %c to i32\n" OUT, -1,
     -2, 0, false, PLUMB_TRAP_NONE},
    {"nnan", "%r = fadd nnan float %f, 1.0\n" FOUT, 0, 0, __builtin_nanf(""), true,
     PLUMB_TRAP_NONE},
    {"nnan result", "%r = fsub nnan float %f, %f\n" FOUT, 0, 0, __builtin_inff(), true,
     PLUMB_TRAP_NONE},
    {"nnan kept", "%r = fadd nnan float %f, 1.0\n" FOUT, 0, 0, __builtin_inff(), false,
     PLUMB_TRAP_NONE},
    {"ninf", "%r = fmul ninf float %f, %f\n" FOUT, 0, 0, 1e30f, true, PLUMB_TRAP_NONE},
    {"ninf kept", "%r = fmul ninf float %f, %f\n" FOUT, 0, 0, 1e10f, false, PLUMB_TRAP_NONE},
    {"fcmp nnan", "%c = fcmp nnan olt float %f, 1.0\n%r = zext i1 %c to i32\n" OUT, 0, 0,
     __builtin_nanf(""), true, PLUMB_TRAP_NONE},
    {"fptosi out of range", "%r = fptosi float %f to i32\n" OUT, 0, 0, 1e10f, true,
     PLUMB_TRAP_NONE},
    {"freeze", "%a = add nsw i32 %i, %j\n%r = freeze i32 %a\n" OUT, INT32_MAX, 1, 0, false,
     PLUMB_TRAP_NONE},
    {"select takes the other",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %j, 1\n%r = select i1 %c, i32 %j, i32 %a\n" OUT,
     INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"select takes it",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %j, 2\n%r = select i1 %c, i32 %j, i32 %a\n" OUT,
     INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"select by it",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %a, 2\n%r = select i1 %c, i32 %j, i32 %j\n" OUT,
     INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"logical and as select",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %a, 2\n%d = icmp eq i32 %j, 2\n"
     "%e = select i1 %d, i1 %c, i1 false\n%r = zext i1 %e to i32\n" OUT,
     INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"and is poison too",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %a, 2\n%e = and i1 %c, false\n"
     "%r = zext i1 %e to i32\n" OUT,
     INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"phi takes the other",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %j, 1\n br i1 %c, label %x, label %y\n"
     "x:\n br label %z\ny:\n br label %z\nz:\n %r = phi i32 [%j, %x], [%a, %y]\n" OUT,
     INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"phi takes it",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %j, 2\n br i1 %c, label %x, label %y\n"
     "x:\n br label %z\ny:\n br label %z\nz:\n %r = phi i32 [%j, %x], [%a, %y]\n" OUT,
     INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"branch by it",
     "%a = add nsw i32 %i, %j\n%c = icmp eq i32 %a, 2\n br i1 %c, label %x, label %x\nx:\n",
     INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"an address from it",
     "%a = add nsw i32 %i, %j\n%b = and i32 %a, 0\n%q = getelementptr i32, ptr %p, i32 %b\n"
     "%r = load i32, ptr %q\n",
     INT32_MAX, 1, 0, true, PLUMB_TRAP_NONE},
    {"a poison constant", "%r = add i32 poison, %i\n" OUT, 0, 0, 0, true, PLUMB_TRAP_NONE},
    {"an undef constant", "%r = add i32 undef, %i\n" OUT, 0, 0, 0, true, PLUMB_TRAP_NONE},
    {"a poison vector, filled",
     "%v = insertelement <2 x i32> poison, i32 %i, i32 0\n"
     "%r = extractelement <2 x i32> %v, i32 0\n" OUT,
     0, 0, 0, false, PLUMB_TRAP_NONE},
    {"a poison vector, not filled",
     "%v = insertelement <2 x i32> poison, i32 %i, i32 0\n"
     "%r = extractelement <2 x i32> %v, i32 1\n" OUT,
     0, 0, 0, true, PLUMB_TRAP_NONE},
    {"inbounds left",
     "%q = getelementptr inbounds i32, ptr %p, i32 %i\n"
     "%b = ptrtoint ptr %q to i64\n%r = trunc i64 %b to i32\n" OUT,
     5, 0, 0, true, PLUMB_TRAP_NONE},
    {"inbounds before",
     "%q = getelementptr inbounds i32, ptr %p, i32 %i\n"
     "%b = ptrtoint ptr %q to i64\n%r = trunc i64 %b to i32\n" OUT,
     -1, 0, 0, true, PLUMB_TRAP_NONE},
    {"inbounds at the end",
     "%q = getelementptr inbounds i32, ptr %p, i32 %i\n"
     "%b = ptrtoint ptr %q to i64\n%r = trunc i64 %b to i32\n" OUT,
     4, 0, 0, false, PLUMB_TRAP_NONE},
    {"not inbounds",
     "%q = getelementptr i32, ptr %p, i32 %i\n"
     "%b = ptrtoint ptr %q to i64\n%r = trunc i64 %b to i32\n" OUT,
     5, 0, 0, false, PLUMB_TRAP_NONE},
    {"an access outside is that, not poison",
     "%q = getelementptr inbounds i32, ptr %p, i32 %i\n%r = load i32, ptr %q\n" OUT, 5, 0, 0, false,
     PLUMB_TRAP_OUT_OF_BOUNDS},
    {"an access that comes back inside is poison",
     "%q = getelementptr inbounds i32, ptr %p, i32 %i\n%q2 = getelementptr i32, ptr %q, i32 -5\n"
     "%r = load i32, ptr %q2\n",
     5, 0, 0, true, PLUMB_TRAP_NONE},
    {"gep nuw",
     "%q = getelementptr nuw i32, ptr %p, i32 %i\n"
     "%b = ptrtoint ptr %q to i64\n%r = trunc i64 %b to i32\n" OUT,
     -1, 0, 0, true, PLUMB_TRAP_NONE},
};

static void check_llvm(void) {
  LLVMContextRef context = LLVMContextCreate();
  for (size_t i = 0; i < sizeof llvm_rows / sizeof *llvm_rows; i++) {
    const row *r = &llvm_rows[i];
    plumb_arena *arena = plumb_arena_create();
    const char *text = plumb_arena_printf(arena, "%s%s ret void\n}\n", HEAD, r->body);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
    LLVMModuleRef module = NULL;
    char *message = NULL;
    bool bad = LLVMParseIRInContext(context, buffer, &module, &message);
    CHECK(!bad, "%s: %s", r->name, message ? message : "");
    plumb_program *p = plumb_program_create(arena, r->name);
    plumb_diag diag = {0};
    if (!bad) {
      CHECK(plumb_llvm_decode(p, module, r->name, &diag) == PLUMB_OK, "%s: %s", r->name,
            diag.message);
      check_trap(arena, p, r, true);
      LLVMDisposeModule(module);
    }
    LLVMDisposeMessage(message);
    plumb_arena_destroy(arena);
  }
  LLVMContextDispose(context);
}

/* --- MLIR: the branch at the end uses %c --- */

#define MLIR_HEAD \
  "llvm.func @f(%p: !llvm.ptr) {\n" \
  " %i = llvm.load %p : !llvm.ptr -> i32\n" \
  " %pj = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i32\n" \
  " %j = llvm.load %pj : !llvm.ptr -> i32\n" \
  " %pf = llvm.getelementptr %p[2] : (!llvm.ptr) -> !llvm.ptr, i32\n" \
  " %f = llvm.load %pf : !llvm.ptr -> f32\n %zero = llvm.mlir.constant(0 : i32) : i32\n"
#define USE " %c = llvm.icmp \"eq\" %r, %zero : i32\n"

static const row mlir_rows[] = {
    {"arith.addi nsw", "%r = arith.addi %i, %j overflow<nsw> : i32\n" USE, INT32_MAX, 1, 0, true,
     PLUMB_TRAP_NONE},
    {"arith.addi", "%r = arith.addi %i, %j : i32\n" USE, INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"arith.muli nuw", "%r = arith.muli %i, %j overflow<nuw> : i32\n" USE, 65536, 65536, 0, true,
     PLUMB_TRAP_NONE},
    {"arith.shli nsw", "%r = arith.shli %i, %j overflow<nsw> : i32\n" USE, 1, 31, 0, true,
     PLUMB_TRAP_NONE},
    {"arith.shrui by the width", "%r = arith.shrui %i, %j : i32\n" USE, 1, 32, 0, true,
     PLUMB_TRAP_NONE},
    {"arith.divsi overflows", "%r = arith.divsi %i, %j : i32\n" USE, INT32_MIN, -1, 0, true,
     PLUMB_TRAP_NONE},
    {"arith.trunci nsw",
     "%a = arith.trunci %i overflow<nsw> : i32 to i16\n%r = arith.extui %a : i16 to i32\n" USE,
     32768, 0, 0, true, PLUMB_TRAP_NONE},
    {"arith.addf nnan",
     "%a = arith.addf %f, %f fastmath<nnan> : f32\n%r = arith.bitcast %a : f32 to i32\n" USE, 0, 0,
     __builtin_nanf(""), true, PLUMB_TRAP_NONE},
    {"llvm.add nsw", "%r = llvm.add %i, %j overflow<nsw> : i32\n" USE, INT32_MAX, 1, 0, true,
     PLUMB_TRAP_NONE},
    {"llvm.or disjoint", "%r = llvm.or disjoint %i, %j : i32\n" USE, 3, 1, 0, true,
     PLUMB_TRAP_NONE},
    {"llvm.zext nneg", "%a = llvm.zext nneg %i : i32 to i64\n%r = llvm.trunc %a : i64 to i32\n" USE,
     -1, 0, 0, true, PLUMB_TRAP_NONE},
    {"llvm.uitofp nneg",
     "%a = llvm.uitofp nneg %i : i32 to f32\n%r = llvm.bitcast %a : f32 to i32\n" USE, -1, 0, 0,
     true, PLUMB_TRAP_NONE},
    {"llvm.trunc nuw",
     "%a = llvm.trunc %i overflow<nuw> : i32 to i16\n%r = llvm.zext %a : i16 to i32\n" USE, 65536,
     0, 0, true, PLUMB_TRAP_NONE},
    {"llvm.sdiv exact", "%r = llvm.sdiv exact %i, %j : i32\n" USE, 7, 2, 0, true, PLUMB_TRAP_NONE},
    {"llvm.freeze", "%a = llvm.add %i, %j overflow<nsw> : i32\n%r = llvm.freeze %a : i32\n" USE,
     INT32_MAX, 1, 0, false, PLUMB_TRAP_NONE},
    {"llvm.mlir.poison", "%a = llvm.mlir.poison : i32\n%r = llvm.add %a, %i : i32\n" USE, 0, 0, 0,
     true, PLUMB_TRAP_NONE},
    {"llvm.getelementptr inbounds",
     "%q = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32\n"
     "%a = llvm.ptrtoint %q : !llvm.ptr to i64\n%r = llvm.trunc %a : i64 to i32\n" USE,
     5, 0, 0, true, PLUMB_TRAP_NONE},
    {"llvm.getelementptr",
     "%q = llvm.getelementptr %p[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32\n"
     "%a = llvm.ptrtoint %q : !llvm.ptr to i64\n%r = llvm.trunc %a : i64 to i32\n" USE,
     5, 0, 0, false, PLUMB_TRAP_NONE},
};

static void check_mlir(void) {
  MlirContext context = plumb_mlir_context_create();
  for (size_t i = 0; i < sizeof mlir_rows / sizeof *mlir_rows; i++) {
    const row *r = &mlir_rows[i];
    plumb_arena *arena = plumb_arena_create();
    const char *text = plumb_arena_printf(
        arena, "%s%s llvm.cond_br %%c, ^a, ^b\n^a:\n llvm.return\n^b:\n llvm.return\n}\n",
        MLIR_HEAD, r->body);
    plumb_diag diag = {0};
    MlirModule module;
    plumb_status status = plumb_mlir_parse(context, r->name, text, &module, &diag);
    CHECK(status == PLUMB_OK, "%s: %s", r->name, diag.message);
    if (status == PLUMB_OK) {
      plumb_program *p = plumb_program_create(arena, r->name);
      CHECK(plumb_mlir_decode(p, module, NULL, &diag) == PLUMB_OK, "%s: %s", r->name, diag.message);
      check_trap(arena, p, r, false);
      mlirModuleDestroy(module);
    }
    plumb_arena_destroy(arena);
  }
  mlirContextDestroy(context);
}

int main(void) {
  check_llvm();
  check_mlir();
  return check_finish();
}
