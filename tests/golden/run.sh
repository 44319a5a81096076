#!/usr/bin/env bash
# `plumb run` of a kernel of each form: its outputs as text, as JSON and as .npy: run.sh PLUMB
set -uo pipefail
plumb=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=tests/golden/run

# row NAME ARGUMENTS...: the whole standard output must be what is on stdin.
row() {
  local name=$1 code=0
  shift
  cat >"$work/expected"
  "$plumb" run "$@" >"$work/actual" 2>&1 || code=$?
  if [ "$code" != 0 ] || ! diff "$work/expected" "$work/actual" >"$work/diff"; then
    echo "FAIL $name: exit $code"
    cat "$work/diff"
    failed=1
  else
    echo "ok $name"
  fi
}
# both NAME TEXT JSON ARGUMENTS...: the same run in both forms.
both() {
  local name=$1 text=$2 json=$3
  shift 3
  row "$name-text" "$@" <<<"$text"
  row "$name-json" "$@" --format json <<<"$json"
}

# y = a x + y: 2 blocks of 4 lanes on 5 elements; negative values, NaN, infinity, bit patterns.
both ptx 'arg0 = [1, -2.5, inf, 1, -4]
arg1 = [-1.5, 5, -inf, nan, 8]
arg2 = -2
arg3 = 5' \
  '{"schema":"plumb-run-1","entry":"saxpy","trap":null,"arguments":[{"type":"f32","shape":[5],"values":[1,-2.5,"inf",1,-4],"bits":["0x3f800000","0xc0200000","0x7f800000","0x3f800000","0xc0800000"]},{"type":"f32","shape":[5],"values":[-1.5,5,"-inf","nan",8],"bits":["0xbfc00000","0x40a00000","0xff800000","0x7fffffff","0x41000000"]},{"type":"f32","shape":[],"values":[-2],"bits":["0xc0000000"]},{"type":"i32","shape":[],"values":[5],"bits":["0x00000005"]}],"results":[]}' \
  "$here/saxpy.ptx" --grid 2 --block 4 --arg 'f32:[1,-2.5,0x7f800000,0x3f800000,-4]' \
  --arg 'f32:[0.5,0,1,nan,-0.0]' --arg -2.0 --arg 5

# Widening halves, less a negative number given as an integer.
both llvm 'arg0 = [1.5, -2, inf, 1.00097656]
arg1 = [4.5, 1, inf, 4.00097656]
arg2 = -3' \
  '{"schema":"plumb-run-1","entry":"widen","trap":null,"arguments":[{"type":"f16","shape":[4],"values":[1.5,-2,"inf",1.0009765625],"bits":["0x3e00","0xc000","0x7c00","0x3c01"]},{"type":"f32","shape":[4],"values":[4.5,1,"inf",4.0009765625],"bits":["0x40900000","0x3f800000","0x7f800000","0x40800800"]},{"type":"i32","shape":[],"values":[-3],"bits":["0xfffffffd"]}],"results":[]}' \
  "$here/widen.ll" --block 4 --arg 'f16:[1.5,-2,0x7c00,0x3c01]' --arg '[0.,0,0,0]' --arg -3

# Memrefs are passed as descriptors: 2x3 in, 3x2 out.
both mlir 'arg0 = [1, -2, 3, 4, 5, -1]
arg1 = [1, 4, -2, 5, 3, -1]' \
  '{"schema":"plumb-run-1","entry":"transpose","trap":null,"arguments":[{"type":"i32","shape":[2,3],"values":[1,-2,3,4,5,-1],"bits":["0x00000001","0xfffffffe","0x00000003","0x00000004","0x00000005","0xffffffff"]},{"type":"i32","shape":[3,2],"values":[1,4,-2,5,3,-1],"bits":["0x00000001","0x00000004","0xfffffffe","0x00000005","0x00000003","0xffffffff"]}],"results":[]}' \
  "$here/transpose.mlir" --block 3,2 --arg '2x3:[1,-2,3,4,5,0xffffffff]' \
  --arg 'i32:3x2:[0,0,0,0,0,0]'

# What --save wrote is read back by @file.npy: y = 0.5 x + the y that was saved.
row save "$here/saxpy.ptx" --block 4 --arg 'f32:[1,2,3,-0.0]' --arg 'f32:[0,0,0,-0.0]' --arg 1.0 \
  --arg 4 --save "$work/saved" <<'TEXT'
arg0 = [1, 2, 3, -0]
arg1 = [1, 2, 3, -0]
arg2 = 1
arg3 = 4
TEXT
row npy "$here/saxpy.ptx" --block 4 --arg 'f32:[-2,0,4,1]' --arg "@$work/saved/arg1.npy" \
  --arg 0x3f000000 --arg 4 <<'TEXT'
arg0 = [-2, 0, 4, 1]
arg1 = [0, 2, 5, 0.5]
arg2 = 0.5
arg3 = 4
TEXT

# What vector.print prints, and MLIR's runner library where a step has lowered it.
row print "$here/print.mlir" --entry main <<'END'
( -1, 2 )
( ( 1.5, -0 ), ( inf, nan ) )
( 1, 0 )
( -8, 7 )
100%
0.5, 7
-3
1.5
END

# A kernel that misbehaves: the trap is the output, the exit code 1.
code=0
"$plumb" run "$here/saxpy.ptx" --block 4 --arg 'f32:[1]' --arg 'f32:[1]' --arg 1.0 --arg 4 \
  >"$work/trap" 2>&1 || code=$?
if [ "$code" = 1 ] && grep -qF 'trapped: out-of-bounds (line 25 of the stage) in saxpy, block (0, 0, 0), lane 1' "$work/trap"; then
  echo "ok trap"
else
  echo "FAIL trap: exit $code: $(cat "$work/trap")"
  failed=1
fi
exit "$failed"
