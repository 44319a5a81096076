#!/usr/bin/env bash
# Matrix instructions in their two readings: the exact one, and that of a GPU whose unit
# truncates. A(0, k) * B(k, 0) is 1 for even k and 2^-24 for odd k, C is -4: the exact sum
# is 2^-22, and Ampere cuts each 2^-24 at 2^(2 - 24).
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/mma.ptx" <<'PTX'
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %x<4>;
ld.param.u64 %x0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %x1, %r0, 4; add.u64 %x0, %x0, %x1;
mov.b32 %r1, 0x0c003c00; mov.f32 %f0, 0fC0800000;
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
  {%f1, %f2, %f3, %f4}, {%r1, %r1}, {%r1}, {%f0, %f0, %f0, %f0};
st.global.f32 [%x0], %f1;
ret;
}
PTX

zeros="f32:[$(printf '0,%.0s' $(seq 31))0]"
check() { # name, expected first value, flags...
  local name=$1 expected=$2 out
  shift 2
  out=$("$plumb" run "$work/mma.ptx" --block 32 --arg "$zeros" "$@")
  [[ $out == "arg0 = "*"[$expected, $expected,"* ]] || {
    echo "$name: expected $expected, got: $out"
    exit 1
  }
}
check reference 2.38418579e-07
check reference 2.38418579e-07 --model reference
check Ampere 0 --model a100
check Hopper 0 --model H100
check Blackwell 0 --model b200

# A GPU that is not known, and one that lacks the instruction's types.
message=$("$plumb" run "$work/mma.ptx" --block 32 --arg "$zeros" --model a1000 2>&1) && exit 1
[[ $message == *"--model 'a1000' is not known (known: reference, v100, "* ]] || {
  echo "unknown model: $message"
  exit 1
}
sed -i 's/m16n8k8.row.col.f32.f16.f16.f32/m16n8k8.row.col.f32.bf16.bf16.f32/' "$work/mma.ptx"
message=$("$plumb" run "$work/mma.ptx" --block 32 --arg "$zeros" --model v100 2>&1) && exit 1
[[ $message == *"Volta has no known matrix unit for f32.bf16.bf16.f32"* ]] || {
  echo "no unit: $message"
  exit 1
}
