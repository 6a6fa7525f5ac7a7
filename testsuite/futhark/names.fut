-- `main` as Futhark, by remc 0.1.0.
-- Results: (result 0, result 1, result 2)

entry main [n] (powers: [n]i64) (map_2: i64) (then_2: i64) : ([n]i64, []i64, i64) =
  let i = n - 1
  -- `main`, line 9: stops if `reduce` needs more items than there are: (- n 1) is … (R0005)
  -- `main`, line 3
  let grade_2 = assert (i >= 0) (map (\power_2 -> then_2 + (power_2 + map_2)) powers)
  let t = n + 1
  -- `main`, line 8
  let static =
    [0i64]
    ++ scan
         (+)
         0
         (map2
           (\i_2 power_2 ->
             let t_2 = (then_2 + (powers[i - i_2] + map_2)) * 2 - map_2
             in if t_2 > 8 then t_2 else power_2)
           (iota n)
           powers)
    :> [t]i64
  in (grade_2, static, reduce (+) 0 powers)
