-- `matmul` as Futhark, by remc 0.1.0.

entry matmul [n] [m] [k] (a: [n][m]f32) (b: [m][k]f32) : [n][k]f32 =
  -- `matmul`, line 2
  map
    (\(a_row: [m]f32) ->
      map (\(b_col: [m]f32) -> reduce (+) 0.0f32 (map2 (*) a_row b_col)) (transpose b))
    a
