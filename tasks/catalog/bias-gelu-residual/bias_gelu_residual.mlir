// y = gelu(x + bias) + residual, with gelu(z) = z / 2 (1 + erf(z / sqrt(2))).
func.func @bias_gelu_residual(%x: tensor<?x?xf32>, %bias: tensor<?xf32>, %residual: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %sqrt_half = arith.constant 0.707106769 : f32
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>

  %z = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias : tensor<?x?xf32>, tensor<?xf32>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%v: f32, %b: f32, %out: f32):
    %s = arith.addf %v, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>

  %gelu = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%z : tensor<?x?xf32>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%v: f32, %out: f32):
    %scaled = arith.mulf %v, %sqrt_half : f32
    %erf = math.erf %scaled : f32
    %weight = arith.addf %erf, %one : f32
    %halved = arith.mulf %v, %half : f32
    %g = arith.mulf %halved, %weight : f32
    linalg.yield %g : f32
  } -> tensor<?x?xf32>

  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%gelu, %residual : tensor<?x?xf32>, tensor<?x?xf32>) outs(%empty : tensor<?x?xf32>) {
  ^bb0(%g: f32, %r: f32, %out: f32):
    %s = arith.addf %g, %r : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
