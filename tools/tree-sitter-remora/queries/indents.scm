; Neovim's indentation. A form with a body goes in by one step, whatever else is in brackets stands under its first
; part.

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
] @indent.begin

((bindings) @indent.align
  (#set! indent.open_delimiter "(")
  (#set! indent.close_delimiter ")"))
((values_bindings) @indent.align
  (#set! indent.open_delimiter "(")
  (#set! indent.close_delimiter ")"))
((application) @indent.align
  (#set! indent.open_delimiter "(")
  (#set! indent.close_delimiter ")"))
((vector) @indent.align
  (#set! indent.open_delimiter "[")
  (#set! indent.close_delimiter "]"))

[")" "]"] @indent.end

[(string) (block_comment) (comment)] @indent.ignore
