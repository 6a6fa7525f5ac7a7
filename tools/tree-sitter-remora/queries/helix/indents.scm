; A form with a body goes in by one step; the arguments of an application stand under the first of them; what else is in
; brackets stands under its first part.

[
  (definition)
  (function_definition)
  (entry)
  (primitive)
  (type_definition)
  (lambda)
  (type_lambda)
  (index_lambda)
  (let)
  (let_values)
  (function_binding)
  (loop)
  (unbox)
  (lift)
  (forall_type)
  (pi_type)
  (sigma_type)
] @indent

((application function: (_) . argument: (_) @anchor) @align)
((bindings . (_) @anchor) @align)
((values_bindings . (_) @anchor) @align)
((vector . (_) @anchor) @align)
