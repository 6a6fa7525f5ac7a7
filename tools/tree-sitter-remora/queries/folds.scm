; What can be folded away: forms that have a body, and long literals.
[
  (definition)
  (function_definition)
  (entry)
  (primitive)
  (type_definition)
  (lambda)
  (let)
  (let_values)
  (cond)
  (loop)
  (unbox)
  (vector)
  (block_comment)
] @fold
