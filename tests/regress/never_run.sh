#!/usr/bin/env bash
# A stage that no case executed is undecided, whatever else is known: never_run.sh PLUMB
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/copy.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [y];
  ld.global.u32 %r0, [%rd0];
  st.global.u32 [%rd1], %r0;
  ret;
}
PTX
# row NAME EXIT VERDICT OPERATION: stage 0 of the reference gives no values.
row() {
  cat >"$work/$1.mlir" <<MLIR
func.func @copy(%x: memref<1xf32>, %y: memref<1xf32>) {
  %i = arith.constant 0 : index
  %far = arith.constant 1000 : index
  %v = $4
  memref.store %v, %y[%i] : memref<1xf32>
  return
}
MLIR
  cat >"$work/$1.yaml" <<YAML
plumb: 1
reference: {source: $1.mlir, entry: copy}
candidate: {source: copy.ptx, arguments: [x, y], launch: {grid: [1], block: [1]}}
tensors:
  x: {type: f32, shape: [1]}
  y: {type: f32, shape: [1], role: output}
YAML
  local code=0
  "$plumb" check "$work/$1.yaml" --quiet --format json -o "$work/report" || code=$?
  if [ "$code" != "$2" ]; then
    echo "FAIL $1: exit $code, not $2: $(cat "$work/report")"
    exit 1
  fi
  python3 - "$work/report" "$3" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
first, others = report["stages"][0], report["stages"][1:]
assert first["verdict"] == sys.argv[2], first
assert len(others) >= 2 and others[-1]["side"] == "candidate", others
for stage in others:
    assert stage["cases"] == 0 and stage["verdict"] == "undecided", stage
whys = [u["why"] for u in report["undecided"] if "never executed" in u["why"]]
assert len(whys) >= len(others) - 1, report["undecided"]  # one cannot be decoded at all
PYTHON
  echo "ok $1"
}
row unsupported 3 undecided '"nobody.knows"(%x, %i) : (memref<1xf32>, index) -> f32'
row trapped 1 trapped 'memref.load %x[%far] : memref<1xf32>'
