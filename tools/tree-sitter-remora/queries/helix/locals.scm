; Which names are bound where, and what they look like where they are used.

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

(parameter name: (symbol) @local.definition.variable.parameter)
(binding name: (symbol) @local.definition.variable)
(contents name: (symbol) @local.definition.variable.parameter)
(type_parameter name: (type_identifier) @local.definition.type)
(index_parameter name: (index_identifier) @local.definition.constant)

(symbol) @local.reference
(type_identifier) @local.reference
(index_identifier) @local.reference
