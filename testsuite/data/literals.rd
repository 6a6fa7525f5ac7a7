; A literal in a file, as remc writes it, over several lines.
[[1 2 3] ; a row
 [4 5 6]]
