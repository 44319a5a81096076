#!/usr/bin/env bash
# Bad input ends in one message with its place, and the right exit code: errors.sh PLUMB
set -uo pipefail
plumb=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# row NAME EXIT MESSAGE ARGUMENTS...: MESSAGE is a part of what goes to stdout and stderr.
row() {
  local name=$1 expected=$2 message=$3 output code
  shift 3
  output=$("$plumb" "$@" 2>&1)
  code=$?
  if [ "$code" != "$expected" ]; then
    echo "FAIL $name: exit $code, not $expected: $output"
    failed=1
  elif ! grep -qF -- "$message" <<<"$output"; then
    echo "FAIL $name: no '$message' in: $output"
    failed=1
  else
    echo "ok $name"
  fi
}

softmax=tasks/catalog/row-softmax
# variant NAME EXPRESSION: the row-softmax task changed by sed.
variant() {
  sed "s|softmax.mlir|$PWD/$softmax/softmax.mlir|; s|softmax.cu|$PWD/$softmax/softmax.cu|; $2" \
    "$softmax/task.yaml" >"$work/$1.yaml"
}

# Usage.
row no-verb 2 "plumb VERB --help"
row unknown-verb 2 "unknown verb 'chekc'" chekc
row unknown-flag 2 "unknown flag '--frobnicate'" check --frobnicate
row no-value 2 "flag '--seed' needs a value" check --seed
row steps-of-zero 2 "--steps must be at least 1" run a.ptx --steps 0
row steps 1 "more than 1 lane-instructions" run tests/golden/run/saxpy.ptx --steps 1 --block 4 \
  --arg 'f32:[1,2,3,4]' --arg 'f32:[0,0,0,0]' --arg 1.0 --arg 4
row seed-no-number 2 "--seed takes a number; got 'x'" check --seed x
row grid-of-zero 2 "--grid takes X,Y,Z, each at least 1; got '0'" run a.ptx --grid 0
row format 2 "--format 'yaml' is not known" check --format yaml
row no-task 2 "check needs a task file" check
row two-files 2 "run takes one file, 2 are given" run a.ptx b.ptx
row ending 2 "the ending is none of" run tasks/main.c

# Task files.
row missing-task 2 "no/task.yaml: cannot read: No such file or directory" check no/task.yaml
row folder 2 "is a folder; give a file" check tasks
head -c 100 "$softmax/task.yaml" >"$work/truncated.yaml"
row truncated 2 "truncated.yaml:" check "$work/truncated.yaml"
variant unknown-key 's|^accept|acept|'
row unknown-key 2 "unknown key 'acept'; did you mean 'accept'?" check "$work/unknown-key.yaml"
variant missing-source 's|/softmax.mlir|/no.mlir|'
row missing-source 2 "no.mlir: cannot read: No such file or directory" check "$work/missing-source.yaml"
variant reference-entry 's|entry: softmax}|entry: softmx}|'
row reference-entry 2 "softmx" check "$work/reference-entry.yaml"
variant entry 's|entry: row_softmax|entry: row_sotfmax|'
row entry 2 "row_sotfmax" check "$work/entry.yaml"
variant arguments 's|arguments: \[x, y, N\]|arguments: [x, y]|'
row arguments 2 "argument" check "$work/arguments.yaml"
variant unknown-argument 's|arguments: \[x, y, N\]|arguments: [x, z, N]|'
row unknown-argument 2 "'z'" check "$work/unknown-argument.yaml"
variant threads 's|block: \[256\]|block: [2048]|'
row threads 2 "1024" check "$work/threads.yaml"
variant shared 's|shared_bytes: 0|shared_bytes: 1000000|'
row shared 2 "shared" check "$work/shared.yaml"
variant overflow 's|M: \[1, 7, 64\]|M: 9223372036854775807|'
row overflow 2 "overflow.yaml" check "$work/overflow.yaml"

# Stages.
printf 'func.func @f(%%a: i32) -> f32 { return %%a : i32 }\n' >"$work/type.mlir"
row mlir-type 2 "type.mlir:1" run "$work/type.mlir" --arg 1
printf 'module {\n  func.func @f( {\n' >"$work/syntax.mlir"
row mlir-syntax 2 "syntax.mlir:2" run "$work/syntax.mlir" --arg 1
cat >"$work/unknown.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .u32 %r<2>;
  frobnicate.u32 %r0, %r1;
  ret;
}
PTX
row ptx-unknown 3 "frobnicate" run "$work/unknown.ptx" --grid 1 --block 1 --arg '[1]'
sed 's/frobnicate.*/mov.u32 %r9, 1;/' "$work/unknown.ptx" >"$work/syntax.ptx"
row ptx-syntax 2 "syntax.ptx:" run "$work/syntax.ptx" --grid 1 --block 1 --arg '[1]'
row few-arguments 2 "argument" run "$work/unknown.ptx" --grid 1 --block 1
row run-threads 2 "1024" run "$work/unknown.ptx" --grid 1 --block 1025 --arg '[1]'
row bad-value 2 "value '[1,x]'" run "$work/unknown.ptx" --grid 1 --block 1 --arg '[1,x]'
row no-such-entry 2 "nothing" run "$work/unknown.ptx" --entry nothing --grid 1 --block 1 --arg '[1]'
printf 'func.func @f(%%a: i32) -> i32 { return %%a : i32 }\n' >"$work/good.mlir"
row unknown-pass 2 "canonicalise" lower "$work/good.mlir" --pipeline canonicalise --arg 1
row brackets 2 "brackets do not match" lower "$work/good.mlir" --pipeline 'func.func(cse' --arg 1

# CUDA.
printf 'extern "C" __global__ void row_softmax(float *x, float *y, int n) { y[0] = q; }\n' >"$work/bad.cu"
variant cuda "s|source: .*softmax.cu|source: $work/bad.cu|"
row cuda 2 "use of undeclared identifier 'q'" check "$work/cuda.yaml"

exit "$failed"
