-- `main` as Futhark, by remc 0.1.0.

entry main [n] (xs: [n]f64) (steps: i64) : [n]f64 =
  -- `main`, line 3: stops if the dimension that counts `iterate` is negative: … (R0002)
  let i = assert (steps >= 0) (n - 1)
  -- `main`, line 3
  in loop x = xs for i_2 < steps do
       loop x_2 = x :> [n]f64 for i_3 < 4i64 do
         map (\i_4 -> x_2[i - i_4] + 1.0) (iota n)
