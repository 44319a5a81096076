#!/usr/bin/env bash
# A step that loses the sign of an exact zero is found: zero_sign.sh PLUMB
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
row() { # row NAME OPERATION EXIT
  cat >"$work/$1.mlir" <<MLIR
func.func @entry(%x: memref<2xf32>) {
  %z = arith.constant 0 : index
  %a = memref.load %x[%z] : memref<2xf32>
  %b = $2 : f32
  memref.store %b, %x[%z] : memref<2xf32>
  return
}
MLIR
  local code=0
  "$plumb" lower "$work/$1.mlir" --pipeline "$3" --arg '[-0.25,1]' >"$work/out" || code=$?
  if [ "$code" != "$4" ]; then
    echo "FAIL $1: exit $code, not $4"
    cat "$work/out"
    exit 1
  fi
  echo "ok $1"
}
plumb=$1
row expanded_ceil 'math.ceil %a' math-expand-ops 1
row untouched_ceil 'math.ceil %a' canonicalize 0
