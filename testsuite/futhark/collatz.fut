-- `main` as Futhark, by remc 0.1.0.
-- Results: (a box of result 0, result 1)

entry main (start: i64) : ([]i64, i64) =
  -- `main`, line 3
  let a = [start]
  let (n, steps, last_2) = loop (n, steps, last_2) = (1i64, a, start) while last_2 > 1 do
    let steps_2 = steps :> [n]i64
    let next = if last_2 % 2 == 0 then last_2 / 2 else last_2 * 3 + 1
    let a_2 = [next]
    let t = n + 1
    let steps_3 = steps_2 ++ a_2 :> [t]i64
    in (t, steps_3, next)
  let steps_2 = steps :> [n]i64
  in (steps_2, last_2)
