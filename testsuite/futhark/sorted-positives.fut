-- `main` as Futhark, by remc 0.1.0.
-- Results: (a box of result 0, result 1)

-- The order of sorting: what is not a number comes last.
def less_f32 (x: f32) (y: f32) : bool =
  x < y || (f32.isnan y && (!(f32.isnan x)))

-- The stable permutation that sorts n items, of which one comes before another as `less` says: a
-- bitonic network over the next power of two, in which places from n on come last.
def grade (n: i64) (less: i64 -> i64 -> bool) : [n]i64 =
  let width = loop w = 1 while w < n do w * 2
  let before (a: i64) (b: i64) : bool =
    if a >= n || b >= n then a < b
    else less a b || ((!(less b a)) && a < b)
  let (order, _) =
    loop (order, k) = (iota width, 2) while k <= width do
      let (order, _) =
        loop (order, j) = (order, k / 2) while j > 0 do
          let next =
            map (\i ->
                   let other = i ^ j
                   let (low, high) = if i < other then (i, other) else (other, i)
                   let (a, b) = (order[low], order[high])
                   let swap = if (low & k) == 0 then before b a else before a b
                   in if (i == low) == swap then b else a)
                (iota width)
          in (next, j / 2)
      in (order, k * 2)
  in order[0:n] :> [n]i64

entry main [n] (xs: [n]f32) : ([]f32, f32) =
  -- `main`, line 3
  let [n_2] (kept: [n_2]f32) = filter (\x -> x > 0.0f32) xs
  -- `main`, line 4
  let order = grade n_2 (\i j -> less_f32 kept[i] kept[j])
  let a = map (\order_i -> kept[order_i]) order
  in (a, reduce (+) 0.0f32 kept)
