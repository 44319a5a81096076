func.func private @printI64(i64)
func.func private @printF16(i16)
func.func private @printNewline()

func.func @main() {
  %i = arith.constant dense<[-1, 2]> : vector<2xi32>
  vector.print %i : vector<2xi32>
  %f = arith.constant dense<[[1.5, -0.0], [0x7F800000, 0x7FC00000]]> : vector<2x2xf32>
  vector.print %f : vector<2x2xf32>
  %b = arith.constant dense<[true, false]> : vector<2xi1>
  vector.print %b : vector<2xi1>
  %n = arith.constant dense<[-8, 7]> : vector<2xi4>
  vector.print %n : vector<2xi4>
  vector.print str "100%"
  %h = arith.constant 0.5 : f16
  vector.print %h : f16 punctuation <no_punctuation>
  vector.print punctuation <comma>
  %x = arith.constant 7 : index
  vector.print %x : index
  %s = arith.constant -3 : i64
  func.call @printI64(%s) : (i64) -> ()
  func.call @printNewline() : () -> ()
  %bits = arith.constant 15872 : i16
  func.call @printF16(%bits) : (i16) -> ()
  func.call @printNewline() : () -> ()
  return
}
