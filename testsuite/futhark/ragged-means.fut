-- `main` as Futhark, by remc 0.1.0.

entry main [n] [k] (xs: [n]i64) (lengths: [k]i64) : [k]f64 =
  let t =
    assert
      (and
        (map
          (\length_2 ->
            -- `main`, line 3: stops if split: the length … at index … is negative (R0002)
            -- `main`, line 3: stops if an array of shape […] is too large (R0012)
            length_2 >= 0 && length_2 <= 1099511627776)
          lengths))
      (k + 1)
  -- `main`, line 3
  let start = [0i64] ++ scan (+) 0 lengths :> [t]i64
  -- `main`, line 3: stops if split: the lengths add up to …, but there are … items (R0009)
  in assert
       (start[k] == n)
       (map2
         (\i length_2 ->
           let length_2_size = i64.max 0 length_2
           let start_2 = start[i]
           in f64.i64 (reduce (+) 0 (map (\i_2 -> xs[i_2 + start_2]) (iota length_2_size)))
              / f64.i64 (i64.max length_2 1i64))
         (iota k)
         lengths)
