-- `smooth` as Futhark, by remc 0.1.0.

entry smooth [n] (xs: [n]f64) : []f64 =
  -- `smooth`, line 2: stops if `window` needs more items than there are: (- n 3) is … (R0005)
  let t = assert (n - 3 >= 0) (n - 2)
  -- `smooth`, line 2
  in map (\i -> (xs[i] + 0.0 + xs[i + 1] + xs[i + 2]) / 3.0) (iota t)
