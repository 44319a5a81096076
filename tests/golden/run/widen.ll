; y[i] = (float)h[i] - k, one lane an element.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @widen(ptr addrspace(1) %h, ptr addrspace(1) %y, i32 %k) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %tid to i64
  %hp = getelementptr half, ptr addrspace(1) %h, i64 %i
  %yp = getelementptr float, ptr addrspace(1) %y, i64 %i
  %v = load half, ptr addrspace(1) %hp
  %w = fpext half %v to float
  %f = sitofp i32 %k to float
  %r = fsub float %w, %f
  store float %r, ptr addrspace(1) %yp
  ret void
}
