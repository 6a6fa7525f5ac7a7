-- `main` as Futhark, by remc 0.1.0.
-- Boxes: `scores_n` say how long each is.
-- `scores` has the elements of all boxes; those of each begin at `scores_starts`.
-- Results: boxes (lengths: result 0) of result 2, each from result 1 on

-- The greater number; not a number if one is not; -0.0 is below 0.0.
def max2_f64 (x: f64) (y: f64) : f64 =
  if f64.isnan x || f64.isnan y then f64.nan
  else if x > y || (x == y && 1.0 / x > 0.0) then x else y

-- Where several values are written to one place, the last stays (`scatter` would keep any). A place
-- outside is none.
def scatter_last [k] [n] 'a (dest: *[k]a) (places: [n]i64) (values: [n]a) : *[k]a =
  let last = reduce_by_index (replicate k (-1)) i64.max (-1) places (iota n)
  let own = map2 (\p i -> if p >= 0 && p < k && last[p] == i then p else (-1)) places (iota n)
  in scatter dest own values

entry main [k] [scores_total]
    (scores_n: [k]i64)
    (scores_starts: [k]i64)
    (scores: [scores_total]f64) : ([k]i64, [k]i64, []f64) =
  -- `softmax`, line 4
  let a =
    map2
      (\scores_n_i scores_start ->
        let scores_n_i_size = i64.max 0 scores_n_i
        in reduce max2_f64 (-f64.inf) (map (\i -> scores[i + scores_start]) (iota scores_n_i_size)))
      scores_n
      scores_starts
  let t = k + 1
  let starts = [0i64] ++ scan (+) 0 scores_n :> [t]i64
  let x = starts[k]
  let starts_2 = starts[0:k] :> [k]i64
  let marks =
    let (places, values) =
      unzip
        (map2
          (\i scores_n_i -> (if scores_n_i > 0 then starts[i] else (-1i64), i))
          (iota k)
          scores_n)
    in scatter_last (replicate x 0i64) places values
  let segment = map (\x_2 -> i64.max 0 x_2) (scan i64.max i64.lowest marks)
  let data =
    map2
      (\q segment_i ->
        f64.exp (scores[q - starts[segment_i] + scores_starts[segment_i]] - a[segment_i]))
      (iota x)
      segment
  -- `softmax`, line 5
  let a_2 =
    map2
      (\i scores_n_i ->
        let scores_n_i_size = i64.max 0 scores_n_i
        let start = starts[i]
        in reduce (+) 0.0 (map (\i_2 -> data[i_2 + start]) (iota scores_n_i_size)))
      (iota k)
      scores_n
  let data_2 = map2 (\segment_i data_i -> data_i / a_2[segment_i]) segment data
  in (scores_n, starts_2, data_2)
