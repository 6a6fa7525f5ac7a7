-- `main` as Futhark, by remc 0.1.0.
-- Results: (a box of result 0, result 1)

entry main (start: i64) : ([]i64, i64) =
  -- `main`, line 3
  let (n, last_2) = loop (n, last_2) = (1i64, start) while last_2 > 1 do
    (n + 1, if last_2 % 2 == 0 then last_2 / 2 else last_2 * 3 + 1)
  let room =
    let out = replicate n 0i64
    in if 0 < n then (out with [0] = start) else out
  let (last_3, steps, last_4) = loop (n_2, room_2, last_3) = (1i64, room, start) while last_3 > 1 do
    let next = if last_3 % 2 == 0 then last_3 / 2 else last_3 * 3 + 1
    let room_3 = if n_2 >= 0 && n_2 < n then ((copy room_2) with [n_2] = next) else room_2
    in (n_2 + 1, room_3, next)
  in (steps, last_4)
