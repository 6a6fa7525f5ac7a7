; Which names are bound where.

[
  (function_definition)
  (entry)
  (lambda)
  (type_lambda)
  (index_lambda)
  (let)
  (let_values)
  (loop)
  (unbox)
  (lift)
  (function_binding)
  (forall_type)
  (pi_type)
  (sigma_type)
] @local.scope

(parameter name: (symbol) @local.definition)
(binding name: (symbol) @local.definition)
(contents name: (symbol) @local.definition)
(type_parameter name: (type_identifier) @local.definition)
(index_parameter name: (index_identifier) @local.definition)

(symbol) @local.reference
(type_identifier) @local.reference
(index_identifier) @local.reference
