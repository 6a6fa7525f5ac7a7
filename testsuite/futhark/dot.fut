-- `dot-product` as Futhark, by remc 0.1.0.

entry dot_product [n] (xs: [n]f64) (ys: [n]f64) : f64 =
  reduce (+) 0.0 (map2 (*) xs ys)
