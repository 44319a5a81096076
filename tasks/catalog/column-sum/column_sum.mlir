// Adds the sum of each column of x to y.
func.func @column_sum(%x: tensor<?x?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %sum = linalg.generic {
      indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%y : tensor<?xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %next = arith.addf %v, %acc : f32
    linalg.yield %next : f32
  } -> tensor<?xf32>
  return %sum : tensor<?xf32>
}
