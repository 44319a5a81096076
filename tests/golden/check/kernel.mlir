module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @scale(%x: memref<?xf32>, %y: memref<?xf32>) kernel {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %d = gpu.block_dim x
      %base = arith.muli %b, %d : index
      %i = arith.addi %base, %t : index
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside {
        %two = arith.constant 2.0 : f32
        %one = arith.constant 1.0 : f32
        %v = memref.load %x[%i] : memref<?xf32>
        %r = math.fma %v, %two, %one : f32
        memref.store %r, %y[%i] : memref<?xf32>
      }
      gpu.return
    }
  }
}
