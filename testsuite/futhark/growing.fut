-- `main` as Futhark, by remc 0.1.0.
-- Results: a box of result 0

entry main (start: i64) : []i64 =
  -- `main`, line 3
  let a = [start]
  let (n, steps) = loop (n, steps) = (1i64, a)
      while (let steps_2 = steps :> [n]i64
             let t = n - 1
             -- `main`, line 4: stops if `last` needs more items than there are: (- n 1) is … (R0005)
             in assert (t >= 0) (steps_2[t] > 1)) do
    let steps_2 = steps :> [n]i64
    let t = n - 1
    -- `main`, line 5: stops if `last` needs more items than there are: (- n 1) is … (R0005)
    let steps_3 = assert (t >= 0) steps_2[t]
    let a_2 = [if steps_3 % 2 == 0 then steps_3 / 2 else steps_3 * 3 + 1]
    let t_2 = n + 1
    let steps_4 = steps_2 ++ a_2 :> [t_2]i64
    in (t_2, steps_4)
  in steps :> [n]i64
