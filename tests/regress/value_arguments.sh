#!/usr/bin/env bash
# A tensor argument is a value: bufferization may write into its buffer, which nobody reads
# afterwards. What such a buffer holds was compared, and the bufferization blamed.
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/root.mlir" <<'MLIR'
func.func @root(%a: tensor<4xf32>, %i: index) -> tensor<4xf32> {
  %v = tensor.extract %a[%i] : tensor<4xf32>
  %s = math.sqrt %v : f32
  %r = tensor.insert %s into %a[%i] : tensor<4xf32>
  return %r : tensor<4xf32>
}
MLIR
bufferize='one-shot-bufferize{bufferize-function-boundaries=1}'
"$plumb" lower "$work/root.mlir" --pipeline "$bufferize" --arg '[1,4,9,16]' --arg 2 \
  --save "$work/stages" >"$work/out"
grep -q 'root.mlir: identical' "$work/out"
grep -q 'memref.store' "$work"/stages/reference-001-one-shot-bufferize*.mlir

# A memref is memory: the same store into one is compared.
cat >"$work/before.mlir" <<'MLIR'
func.func @root(%a: memref<4xf32>) {
  return
}
MLIR
cat >"$work/after.mlir" <<'MLIR'
func.func @root(%a: memref<4xf32>) {
  %i = arith.constant 2 : index
  %s = arith.constant 3.0 : f32
  memref.store %s, %a[%i] : memref<4xf32>
  return
}
MLIR
code=0
"$plumb" lower "$work/before.mlir" "$work/after.mlir" --arg '[1,4,9,16]' >"$work/out" || code=$?
[ "$code" = 1 ]
grep -q 'arg0\[2\]: expected 9, got 3' "$work/out"
