// Softmax of each row, shifted by the row's maximum so that no exponential overflows.
// A NaN in a row makes the whole row NaN, whichever way the maximum treats it.
func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %minus_inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty(%m) : tensor<?xf32>
  %matrix = tensor.empty(%m, %n) : tensor<?x?xf32>

  %max_init = linalg.fill ins(%minus_inf : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %max = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%max_init : tensor<?xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %larger = arith.maxnumf %v, %acc : f32
    linalg.yield %larger : f32
  } -> tensor<?xf32>

  %exp = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%matrix : tensor<?x?xf32>) {
  ^bb0(%v: f32, %top: f32, %out: f32):
    %shifted = arith.subf %v, %top : f32
    %e = math.exp %shifted : f32
    linalg.yield %e : f32
  } -> tensor<?x?xf32>

  %sum_init = linalg.fill ins(%zero : f32) outs(%row : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<?x?xf32>) outs(%sum_init : tensor<?xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %next = arith.addf %e, %acc : f32
    linalg.yield %next : f32
  } -> tensor<?xf32>

  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%matrix : tensor<?x?xf32>) {
  ^bb0(%e: f32, %total: f32, %out: f32):
    %share = arith.divf %e, %total : f32
    linalg.yield %share : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
