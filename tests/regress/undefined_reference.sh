#!/usr/bin/env bash
# Where the reference's own value is undefined, every value refines it: nothing is compared there,
# nobody is blamed, and the whole is undecided. A scalar result is no exception.
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/shift.mlir" <<'MLIR'
func.func @shift(%x: i32, %n: i32) -> i32 {
  %s = arith.shli %x, %n : i32
  return %s : i32
}
MLIR
cat >"$work/clamped.mlir" <<'MLIR'
func.func @shift(%x: i32, %n: i32) -> i32 {
  %c31 = arith.constant 31 : i32
  %m = arith.minui %n, %c31 : i32
  %s = arith.shli %x, %m : i32
  return %s : i32
}
MLIR
code=0
"$plumb" lower "$work/shift.mlir" "$work/clamped.mlir" --arg 3 --arg 40 >"$work/out" || code=$?
[ "$code" = 3 ]
grep -q "reference  *0  mlir  *undecided" "$work/out"
grep -q "reference  *1  mlir  *identical" "$work/out"
# The other way round the step gives up a value that was there.
code=0
"$plumb" lower "$work/clamped.mlir" "$work/shift.mlir" --arg 3 --arg 40 >"$work/out" || code=$?
[ "$code" = 1 ]
grep -q "reference  *1  mlir  *diverged" "$work/out"
"$plumb" run "$work/shift.mlir" --arg 3 --arg 40 | grep -q 'result0 = .*(undefined: element 0)'

# A scalar result has a budget too: one rounding instead of two is inside it, a wrong sum is not.
cat >"$work/sum.mlir" <<'MLIR'
func.func @sum(%x: f32, %y: f32, %z: f32) -> f32 {
  %p = arith.mulf %x, %y : f32
  %s = arith.addf %p, %z : f32
  return %s : f32
}
MLIR
cat >"$work/fused.mlir" <<'MLIR'
func.func @sum(%x: f32, %y: f32, %z: f32) -> f32 {
  %s = math.fma %x, %y, %z : f32
  return %s : f32
}
MLIR
values=(--arg 1.1 --arg 1.3 --arg=-1.43)
"$plumb" lower "$work/sum.mlir" "$work/fused.mlir" "${values[@]}" >"$work/out"
grep -q "reference  *1  mlir  *bounded" "$work/out"
sed 's/%p, %z/%p, %y/' "$work/sum.mlir" >"$work/wrong.mlir"
code=0
"$plumb" lower "$work/sum.mlir" "$work/wrong.mlir" "${values[@]}" >"$work/out" || code=$?
[ "$code" = 1 ]
