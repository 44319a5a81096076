// Layer norm of each row: (x - mean) / sqrt(variance + 1e-5) * gamma + beta, with the variance from
// centred values.
func.func @layer_norm(%x: tensor<?x?xf32>, %gamma: tensor<?xf32>, %beta: tensor<?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %n_i64 = arith.index_cast %n : index to i64
  %count = arith.sitofp %n_i64 : i64 to f32
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %matrix = tensor.empty(%m, %n) : tensor<?x?xf32>

  %sum_init = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%sum_init : tensor<?xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %next = arith.addf %v, %acc : f32
    linalg.yield %next : f32
  } -> tensor<?xf32>

  %mean = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%sum : tensor<?xf32>) outs(%row : tensor<?xf32>) {
  ^bb0(%s: f32, %out: f32):
    %q = arith.divf %s, %count : f32
    linalg.yield %q : f32
  } -> tensor<?xf32>

  %square_init = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %squares = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %mean : tensor<?x?xf32>, tensor<?xf32>) outs(%square_init : tensor<?xf32>) {
  ^bb0(%v: f32, %mu: f32, %acc: f32):
    %centred = arith.subf %v, %mu : f32
    %square = arith.mulf %centred, %centred : f32
    %next = arith.addf %square, %acc : f32
    linalg.yield %next : f32
  } -> tensor<?xf32>

  %scale = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%squares : tensor<?xf32>) outs(%row : tensor<?xf32>) {
  ^bb0(%s: f32, %out: f32):
    %variance = arith.divf %s, %count : f32
    %shifted = arith.addf %variance, %eps : f32
    %r = math.rsqrt %shifted : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>

  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean, %scale, %gamma, %beta : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
      outs(%matrix : tensor<?x?xf32>) {
  ^bb0(%v: f32, %mu: f32, %r: f32, %g: f32, %b: f32, %out: f32):
    %centred = arith.subf %v, %mu : f32
    %normal = arith.mulf %centred, %r : f32
    %scaled = arith.mulf %normal, %g : f32
    %moved = arith.addf %scaled, %b : f32
    linalg.yield %moved : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
