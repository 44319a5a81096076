#!/usr/bin/env bash
# A reference that is a sequential loop has no device code: its ladder ends above PTX, which the
# report notes, and the translation is judged all the same. Asked for PTX, `lower` is undecided.
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/scan.mlir" <<'MLIR'
func.func @scan(%x: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %n = tensor.dim %x, %c0 : tensor<?xi32>
  %e = tensor.empty(%n) : tensor<?xi32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z, %t = %e) -> (i32, tensor<?xi32>) {
    %v = tensor.extract %x[%i] : tensor<?xi32>
    %s = arith.addi %acc, %v : i32
    %u = tensor.insert %s into %t[%i] : tensor<?xi32>
    scf.yield %s, %u : i32, tensor<?xi32>
  }
  return %r#1 : tensor<?xi32>
}
MLIR
cat >"$work/scan.ll" <<'LL'
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @scan(ptr %x, ptr %y, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %acc = phi i32 [ 0, %entry ], [ %sum, %loop ]
  %from = getelementptr i32, ptr %x, i32 %i
  %to = getelementptr i32, ptr %y, i32 %i
  %v = load i32, ptr %from, align 4
  %sum = add i32 %acc, %v
  store i32 %sum, ptr %to, align 4
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
LL
cat >"$work/task.yaml" <<'YAML'
plumb: 1
name: scan
category: translation
reference: {source: scan.mlir, entry: scan}
candidate:
  source: scan.ll
  entry: scan
  launch: {grid: [1], block: [1]}
  arguments: [x, y, N]
sizes: {N: [1, 31]}
tensors:
  x: {type: i32, shape: [N], fill: [exact, special]}
  y: {type: i32, shape: [N], role: output}
accept: {level: identical}
YAML
"$plumb" check "$work/task.yaml" >"$work/out"
grep -q "the reference's ladder ends at stage [0-9]*: the pipeline leaves no gpu.module" "$work/out"

code=0
"$plumb" lower "$work/scan.mlir" --to ptx --arg '[1,2,3]' >"$work/out" || code=$?
[ "$code" = 3 ]
