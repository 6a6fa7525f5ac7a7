-- `main` as Futhark, by remc 0.1.0.
-- Results: a box of result 0

entry main (start: i64) : []i64 =
  -- `main`, line 3
  let a = [start]
  -- `main`, line 6
  let (n, steps, go) = loop (n, steps, go) = (1i64, a, true) while go do
    let steps_2 = steps :> [n]i64
    let n_2 = n * 2 + 1024 + 2
    let room =
      let (places, values) = unzip (zip (iota n) steps_2)
      in scatter (replicate n_2 0i64) places values
    let (n_3, room_2) = loop (n_3, room_2) = (n, room)
        while (let t = n_3 - 1
               -- `main`, line 4: stops if `last` needs more items than there are: (- n 1) is … (R0005)
               in assert (t >= 0) (room_2[t] > 1 && n_3 + 1 <= n_2)) do
      let t = n_3 - 1
      -- `main`, line 5: stops if `last` needs more items than there are: (- n 1) is … (R0005)
      let steps_3 = assert (t >= 0) room_2[t]
      let r = if steps_3 % 2 == 0 then steps_3 / 2 else steps_3 * 3 + 1
      let room_3 = if n_3 >= 0 && n_3 < n_2 then ((copy room_2) with [n_3] = r) else room_2
      in (n_3 + 1, room_3)
    let t = n_3 - 1
    -- `main`, line 4: stops if `last` needs more items than there are: (- n 1) is … (R0005)
    let steps_3 = assert (t >= 0) (room_2[0:n_3] :> [n_3]i64)
    in (n_3, steps_3, room_2[t] > 1)
  in steps :> [n]i64
