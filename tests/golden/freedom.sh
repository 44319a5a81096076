#!/usr/bin/env bash
# What PTX leaves open: each choice has a default, a setting, and a line in the report where
# the other one gives other results, and no line where it does not.
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kernel() { # name, body
  cat > "$work/$1.ptx" <<PTX
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<8>; .shared .align 8 .b64 m;
ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x;
$2
ret;
}
PTX
}
# 1.1f squared, minus 1.21f, in both orders, and plus it
kernel contract "ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d0+4];
mul.f32 %f3, %f1, %f1; sub.f32 %f4, %f3, %f2; st.global.f32 [%d0+8], %f4;
mul.f32 %f3, %f1, %f1; sub.f32 %f4, %f2, %f3; st.global.f32 [%d0+12], %f4;
mul.f32 %f3, %f1, %f1; add.f32 %f4, %f2, %f3; st.global.f32 [%d0+16], %f4;"
kernel suffixed "ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d0+4];
mul.rn.f32 %f3, %f1, %f1; sub.f32 %f4, %f3, %f2; st.global.f32 [%d0+8], %f4;"
kernel changed "ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d0+4];
mul.f32 %f3, %f1, %f1; mov.f32 %f1, 0f40000000; sub.f32 %f4, %f3, %f2; st.global.f32 [%d0+8], %f4;"
kernel nan "ld.global.f32 %f1, [%d0]; sub.rn.f32 %f3, %f1, %f1; mov.b32 %r1, %f3;
and.b32 %r1, %r1, 0x3fffff; st.global.b32 [%d0+4], %r1;"
kernel order "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 64, %r0;
atom.global.exch.b32 %r2, [%d0], %r1;"
kernel sum "red.global.add.u32 [%d0], %r0;"
kernel try_wait "setp.ne.u32 %p1, %r0, 0; mov.u32 %r2, m; @%p1 bra A;
mbarrier.init.shared.b64 [%r2], 1;
A: bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra C;
mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; selp.u32 %r3, 1, 0, %p2;
st.global.b32 [%d0], %r3; bra D;
C: mbarrier.arrive.shared.b64 %d1, [%r2];
D:"

kernel approx "ld.global.f32 %f1, [%d0]; ex2.approx.f32 %f2, %f1; st.global.f32 [%d0+4], %f2;"
kernel exact "ld.global.f32 %f1, [%d0]; sqrt.rn.f32 %f2, %f1; st.global.f32 [%d0+4], %f2;"

check() { # name, expected output, what it depends on or "-", flags of run...
  local name=$1 expected=$2 depends=$3 out
  shift 3
  out=$("$plumb" run "$work/$name.ptx" "$@")
  [[ $out == "arg0 = [$expected]"* ]] || { echo "$name: expected $expected, got: $out"; exit 1; }
  if [[ $depends == - ]]; then
    [[ $out != *depends* ]] || { echo "$name depends on nothing, but: $out"; exit 1; }
  else
    [[ $out == *"note: depends on $depends"* ]] || { echo "$name: no '$depends' in: $out"; exit 1; }
  fi
}
fused="whether a mul and an add without a rounding suffix are fused"
x="1.10000002, 1.21000004"
check contract "$x, 0, 0, 2.42000008" "$fused (--freedom contract=unfused was executed; contract=fused gives" --arg 'f32:[1.1,1.21,0,0,0]'
check contract "$x, 1.43051153e-08, -1.43051153e-08, 2.42000008" "$fused" --arg 'f32:[1.1,1.21,0,0,0]' --freedom contract=fused
check contract "2, 1, 3, -3, 5" - --arg 'f32:[2,1,0,0,0]'
check suffixed "$x, 0" - --arg 'f32:[1.1,1.21,0]'
check changed "$x, 0" - --arg 'f32:[1.1,1.21,0]'
check nan "2139095040, 4194303" "the payload of a NaN" --arg 'i32:[0x7f800000,0]'
check nan "2139095040, 0" "the payload of a NaN" --arg 'i32:[0x7f800000,0]' --freedom nan=quiet
check nan "0, 0" - --arg 'i32:[0,0]'
check order "255" "the order of atomic operations" --grid 4 --block 64 --arg 'i32:[7]'
check order "191" "the order of atomic operations" --grid 4 --block 64 --arg 'i32:[7]' --freedom order=next
check sum "2016" - --block 64 --arg 'i32:[0]'
check try_wait "0" "how long mbarrier.try_wait waits" --block 33 --arg 'i32:[9]'
check try_wait "1" "how long mbarrier.try_wait waits" --block 33 --arg 'i32:[9]' --freedom try_wait=wait
inside="where inside its documented error the value of an approximate instruction lies"
check approx "1, 2" "$inside" --arg 'f32:[1,0]'
check approx "1, 2.00000024" "$inside" --arg 'f32:[1,0]' --freedom approx=edge
check approx "0, 1" - --arg 'f32:[0,7]' # tabled
check exact "2, 1.41421354" - --arg 'f32:[2,0]'

"$plumb" run "$work/contract.ptx" --arg 'f32:[1.1,1.21,0,0,0]' --format json |
  grep -q '"depends_on":\["whether a mul' || { echo "JSON of run has no depends_on"; exit 1; }
out=$("$plumb" run "$work/sum.ptx" --arg 'i32:[0]' --freedom foo=1 2>&1) && exit 1
[[ $out == *"known: contract=unfused|fused, nan=canonical|quiet"* ]] || {
  echo "no list of settings: $out"
  exit 1
}

# check: stages of a candidate.
cat > "$work/ref.mlir" <<'MLIR'
func.func @f(%x: memref<64xf32>, %y: memref<64xf32>, %o: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    %b = memref.load %y[%i] : memref<64xf32>
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %p, %b : f32
    memref.store %s, %o[%i] : memref<64xf32>
  }
  return
}
MLIR
cat > "$work/cand.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 o) {
.reg .b32 %r<4>; .reg .b64 %d<8>; .reg .f32 %f<8>;
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u64 %d3, [o];
mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 4;
add.u64 %d1, %d1, %d4; add.u64 %d2, %d2, %d4; add.u64 %d3, %d3, %d4;
ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2];
mul.f32 %f3, %f1, %f1; add.f32 %f3, %f3, %f2; st.global.f32 [%d3], %f3;
ret;
}
PTX
pair=("$plumb" check "$work/ref.mlir" "$work/cand.ptx" --grid 1 --block 64 --quiet)
"${pair[@]}" > "$work/out" || { echo "check: $(cat "$work/out")"; exit 1; }
grep -q "^note: candidate, stage 0 depends on $fused (--freedom contract=unfused" "$work/out" ||
  { echo "check has no note: $(cat "$work/out")"; exit 1; }
"${pair[@]}" --freedom contract=fused --format json | grep -q "$fused (--freedom contract=fused was" ||
  { echo "check in JSON has no note"; exit 1; }

# Payloads in check: an infinity minus itself, whose bits the output keeps.
cat > "$work/bits.mlir" <<'MLIR'
func.func @f(%x: memref<64xf32>, %o: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %mask = arith.constant 1048575 : i32
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    %d = arith.subf %a, %a : f32
    %b = arith.bitcast %d : f32 to i32
    %m = arith.andi %b, %mask : i32
    memref.store %m, %o[%i] : memref<64xi32>
  }
  return
}
MLIR
cat > "$work/bits.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o) {
.reg .b32 %r<4>; .reg .b64 %d<8>; .reg .f32 %f<8>;
ld.param.u64 %d1, [x]; ld.param.u64 %d3, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 4;
add.u64 %d1, %d1, %d4; add.u64 %d3, %d3, %d4;
ld.global.f32 %f1, [%d1]; sub.rn.f32 %f1, %f1, %f1; mov.b32 %r2, %f1; and.b32 %r2, %r2, 1048575;
st.global.b32 [%d3], %r2;
ret;
}
PTX
bits=("$plumb" check "$work/bits.mlir" "$work/bits.ptx" --grid 1 --block 64 --quiet --fill)
out=$("${bits[@]}" special) || true
[[ $out == *"stage 0 depends on the payload of a NaN"* ]] || { echo "no payload in: $out"; exit 1; }
out=$("${bits[@]}" exact)
[[ $out != *depends* ]] || { echo "no NaN, but: $out"; exit 1; }

# A pair that is equal in one reading only is said to be.
cat > "$work/exp2.mlir" <<'MLIR'
func.func @f(%x: memref<64xf32>, %o: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<64xf32>
    %e = math.exp2 %a : f32
    memref.store %e, %o[%i] : memref<64xf32>
  }
  return
}
MLIR
cat > "$work/exp2.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o) {
.reg .b32 %r<4>; .reg .b64 %d<8>; .reg .f32 %f<8>;
ld.param.u64 %d1, [x]; ld.param.u64 %d3, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %d4, %r1, 4;
add.u64 %d1, %d1, %d4; add.u64 %d3, %d3, %d4;
ld.global.f32 %f1, [%d1]; ex2.approx.f32 %f1, %f1; st.global.f32 [%d3], %f1;
ret;
}
PTX
exp2() { # what is expected, flags
  local expected=$1 out
  shift
  out=$("$plumb" check "$work/exp2.mlir" "$work/exp2.ptx" --grid 1 --block 64 --quiet --fill normal "$@") || true
  [[ $out == *"$expected"* ]] || { echo "exp2 $*: no '$expected' in: $out"; exit 1; }
}
exp2 "$inside (--freedom approx=nearest was executed; approx=edge gives other results)"
exp2 "approx=edge gives other results, which are not accepted)" --accept identical
exp2 "approx=nearest gives other results, which are accepted)" --accept identical --freedom approx=edge
exp2 "diverged (not accepted" --accept identical --freedom approx=edge
exp2 "(accepted" --freedom approx=edge

# lower: its stages in PTX.
cat > "$work/low.ll" <<'LLVM'
target triple = "nvptx64-nvidia-cuda"
declare float @llvm.nvvm.ex2.approx.f(float)
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %a = load float, ptr addrspace(1) %p
  %e = call float @llvm.nvvm.ex2.approx.f(float %a)
  store float %e, ptr addrspace(1) %p
  ret void
}
LLVM
lower=("$plumb" lower "$work/low.ll" --to ptx --arg 'f32:[1]' --quiet)
out=$("${lower[@]}" --expect '0=[2]') || true
[[ $out == *"note: stage "*" depends on $inside (--freedom approx=nearest was executed; approx=edge gives other results, which are not accepted)"* ]] ||
  { echo "lower has no note: $out"; exit 1; }
out=$("${lower[@]}" --expect '0=[2]' --freedom approx=edge) && { echo "lower takes no reading"; exit 1; }
[[ $out == *"got 2.00000024"*"approx=nearest gives other results, which are accepted)"* ]] ||
  { echo "lower: $out"; exit 1; }
out=$("$plumb" lower "$work/order.ptx" "$work/order.ptx" --grid 4 --block 64 --arg 'i32:[7]' --freedom order=next) || true
[[ $out == *"note: stage 1 depends on the order of atomic operations (--freedom order=next was executed"* ]] ||
  { echo "lower of stages: $out"; exit 1; }
