// y = transpose(x), one lane an element.
module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @transpose(%x: memref<?x?xi32>, %y: memref<?x?xi32>) kernel {
      %i = gpu.thread_id y
      %j = gpu.thread_id x
      %v = memref.load %x[%i, %j] : memref<?x?xi32>
      memref.store %v, %y[%j, %i] : memref<?x?xi32>
      gpu.return
    }
  }
}
