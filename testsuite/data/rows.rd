; Rows of different length, as remc prints them.
(boxes (n) [int n] [3] ((2) [1 2])
  ((0) (array [0] int))
  ((3) [3 4 5]))
