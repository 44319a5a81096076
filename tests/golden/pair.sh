#!/usr/bin/env bash
# `plumb check REFERENCE CANDIDATE`, without a task file: pair.sh PLUMB
set -uo pipefail
plumb=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=tests/golden/check

# row NAME EXIT MESSAGE ARGUMENTS...: MESSAGE is a part of what goes to stdout and stderr.
row() {
  local name=$1 expected=$2 message=$3 output code
  shift 3
  output=$("$plumb" check --quiet "$@" 2>&1)
  code=$?
  if [ "$code" != "$expected" ] || ! grep -qF -- "$message" <<<"$output"; then
    echo "FAIL $name: exit $code, not $expected, or no '$message' in: $output"
    failed=1
  else
    echo "ok $name"
  fi
}
scale=$here/scale.mlir

# Each form of candidate; 3 sizes by 3 fills, unless said otherwise.
row function 0 'shown by inputs: 9 cases' "$scale" "$here/twice.mlir"
row gpu-func 0 'identical (accepted' "$scale" "$here/kernel.mlir" --grid 'ceildiv(d0, 32)' --block 32
row ptx 0 'identical (accepted' "$scale" "$here/scale.ptx" --grid 'ceildiv(d0, 32),1' --block 32 \
  --arguments arg0,result0,d0
sed 's/\.version .*/.version 9.10/' "$here/scale.ptx" >"$work/newer.ptx"
row newer-version 0 'note: PTX version 9.10 is newer than 9.5' "$scale" "$work/newer.ptx" \
  --grid 'ceildiv(d0, 32),1' --block 32 --arguments arg0,result0,d0
row llvm 0 'identical (accepted' "$scale" "$here/scale.ll" --grid 1 --block d0
row sizes 0 'shown by inputs: 4 cases' "$scale" "$here/scale.ptx" --shape arg0=N --shape result0=N \
  --size N=5,2*T --size T=16 --fill exact,iota --grid 'N / T + 1' --block T \
  --arguments arg0,result0,N --entry scale --reference-entry scale --accept identical

# Wrong ones. 'n' is one too many, so that the last lane leaves its array.
row trapped 1 'trap       out-of-bounds' "$scale" "$here/scale.ptx" --grid 2 --block 32 \
  --arguments arg0,result0,d0+1
row unwritten 1 'never written' "$scale" "$here/scale.ptx" --grid 1 --block 32 \
  --arguments arg0,result0,d0-1
sed 's/0f3F800000/0f3F800001/' "$here/scale.ptx" >"$work/off.ptx"
row diverged 1 'worst      result0[' "$scale" "$work/off.ptx" --grid 2 --block 32 \
  --arguments arg0,result0,d0
row tolerance 0 'the given tolerance' "$scale" "$work/off.ptx" --grid 2 --block 32 \
  --arguments arg0,result0,d0 --accept abs=1e-6,rel=1e-6
sed 's/%twice, %one/%twice, %v/' "$here/twice.mlir" >"$work/thrice.mlir"
row function-diverged 1 'first to fall below' "$scale" "$work/thrice.mlir"

# A task file may name a function as its candidate, too.
cat >"$work/task.yaml" <<YAML
plumb: 1
reference: {source: $PWD/$scale}
candidate: {source: $PWD/$here/twice.mlir, entry: twice}
sizes: {N: [1, 40]}
tensors:
  x: {type: f32, shape: [N], fill: [exact, special]}
  y: {type: f32, shape: [N], role: output}
YAML
row task-function 0 'shown by inputs: 4 cases' "$work/task.yaml"

# In place: a memref argument is compared after the run; a float scalar comes from its size.
cat >"$work/fill.mlir" <<'MLIR'
func.func @fill(%a: f32, %y: memref<?xf32>) {
  linalg.fill ins(%a : f32) outs(%y : memref<?xf32>)
  return
}
MLIR
cat >"$work/fill_kernel.mlir" <<'MLIR'
gpu.module @device {
  gpu.func @fill(%a: f32, %y: memref<?xf32>) kernel {
    %i = gpu.thread_id x
    memref.store %a, %y[%i] : memref<?xf32>
    gpu.return
  }
}
MLIR
row scalar 0 'identical (accepted' "$work/fill.mlir" "$work/fill_kernel.mlir" --grid 1 --block d0 \
  --size arg0=3,5
row scalar-other 1 'expected 2, got 3' "$work/fill.mlir" "$work/fill_kernel.mlir" --grid 1 \
  --block d0 --size arg0=2 --arguments arg0+1,arg1

# What cannot be derived is said, with the remedy.
row no-launch 2 'give --grid X,Y,Z and --block X,Y,Z' "$scale" "$here/scale.ptx"
row no-block 2 'give --grid X,Y,Z and --block X,Y,Z' "$scale" "$here/kernel.mlir" --grid 1
row no-scalar 2 'give its values with --size arg0=' "$work/fill.mlir" "$work/fill_kernel.mlir" \
  --grid 1 --block 1
row few-arguments 2 'kernel scale takes 3 parameters' "$scale" "$here/scale.ptx" --grid 1 --block 1
row unknown-size 2 'unknown size' "$scale" "$here/scale.ptx" --grid Q --block 32 \
  --arguments arg0,result0,d0
row result-shape 2 '--shape names the dimensions' tasks/catalog/transpose/transpose.mlir \
  tasks/catalog/transpose/transpose.mlir
row shape 0 'identical (accepted' tasks/catalog/transpose/transpose.mlir \
  tasks/catalog/transpose/transpose.mlir --shape arg0=M,N --shape result0=N,M --fill exact \
  --size M=2 --size N=3
row shape-rank 2 '2 sizes are given' "$scale" "$here/twice.mlir" --shape arg0=M,N
row shape-name 2 'write argK=M,N' "$scale" "$here/twice.mlir" --shape x=M
row shape-no-value 2 'write argK=M,N' "$scale" "$here/twice.mlir" --shape x
row size-syntax 2 '--size' "$scale" "$here/twice.mlir" --size 3=4
row size-twice 2 '--size N is given twice' "$scale" "$here/twice.mlir" --size N=4 --size N=5
row size-empty 2 'nothing stands before a comma' "$scale" "$here/twice.mlir" --size N=4,
row fill 2 "--fill 'noise' is not known" "$scale" "$here/twice.mlir" --fill noise
row accept 2 "--accept 'nearly'" "$scale" "$here/twice.mlir" --accept nearly
row accept-negative 2 "--accept 'abs=-1'" "$scale" "$here/twice.mlir" --accept abs=-1
row one-file 2 'one REFERENCE.mlir and one CANDIDATE' "$scale"
row order 3 'the reference stands first' "$here/scale.ptx" "$scale"
row no-such-file 2 'cannot read' "$scale" "$here/no.ptx" --grid 1 --block 1
row no-such-entry 2 "no kernel 'scael'" "$scale" "$here/scale.ptx" --grid 1 --block 1 \
  --entry scael --arguments arg0,result0,d0
row no-reference-entry 2 'there is @scale' "$scale" "$here/twice.mlir" --reference-entry f
printf 'func.func @f( {\n' >"$work/syntax.mlir"
row syntax 2 'syntax.mlir:1' "$scale" "$work/syntax.mlir"
exit "$failed"
