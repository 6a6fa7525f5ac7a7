; What colours what. Of several patterns for a node, the last decides.

; ---- names

(symbol) @variable

; What a definition names, and what is called.
(application function: (symbol) @function.call)
(application function: (instance function: (symbol) @function.call))
(application function: (rerank function: (symbol) @function.call))
(application function: (rerank function: (instance function: (symbol) @function.call)))
(head name: (symbol) @function)
(definition name: (symbol) @variable)
(definition name: (symbol) @function value: [(lambda) (type_lambda) (index_lambda)])

(parameter name: (symbol) @variable.parameter)
(binding name: (symbol) @variable)
(contents name: (symbol) @variable.parameter)

; The functions of arithmetic, wherever they stand.
((symbol) @operator
  (#any-of? @operator
    "+" "-" "*" "/" "%" "**" "=" "!=" "<" "<=" ">" ">=" "+." "-." "*." "/." "<." "<=." ">." ">=."))

; Constants that look like names.
((symbol) @constant.builtin
  (#any-of? @constant.builtin "pi" "e"))

(label) @property

; ---- types and indices

(type_identifier) @type
((type_identifier) @type.builtin
  (#any-of? @type.builtin
    "int" "float" "i8" "i16" "i32" "i64" "u8" "u16" "u32" "u64" "f16" "f32" "f64" "bool" "char"))
; An empty array has a type for its elements.
(array element: (symbol) @type.builtin
  (#any-of? @type.builtin
    "int" "float" "i8" "i16" "i32" "i64" "u8" "u16" "u32" "u64" "f16" "f32" "f64" "bool" "char"))
(type_parameter class: (symbol) @type)
(index_parameter sort: (symbol) @type)
(index_identifier) @constant
(index_expression operator: (symbol) @operator)

; ---- keywords

(definition keyword: _ @keyword.function)
(function_definition keyword: _ @keyword.function)
(entry keyword: _ @keyword.function)
(primitive keyword: _ @keyword.function)
(lambda keyword: _ @keyword.function)
(type_lambda keyword: _ @keyword.function)
(index_lambda keyword: _ @keyword.function)
(type_definition keyword: _ @keyword.type)
(import keyword: _ @keyword.import)
(if keyword: _ @keyword.conditional)
(cond keyword: _ @keyword.conditional)
(else_clause keyword: _ @keyword.conditional)
(loop keyword: _ @keyword.repeat)

(let keyword: _ @keyword)
(let_values keyword: _ @keyword)
(annotated keyword: _ @keyword)
(array keyword: _ @keyword)
(frame keyword: _ @keyword)
(type_application keyword: _ @keyword)
(index_application keyword: _ @keyword)
(box keyword: _ @keyword)
(boxes keyword: _ @keyword)
(unbox keyword: _ @keyword)
(lift keyword: _ @keyword)
(values keyword: _ @keyword)
(projection keyword: _ @keyword)
(record keyword: _ @keyword)
(field_access keyword: _ @keyword)
(record_update keyword: _ @keyword)
(reify_dimension keyword: _ @keyword)
(reify_shape keyword: _ @keyword)
(as_shape keyword: _ @keyword)
(cast keyword: _ @keyword)

(arr_type keyword: _ @keyword.type)
(function_type keyword: _ @keyword.type)
(forall_type keyword: _ @keyword.type)
(pi_type keyword: _ @keyword.type)
(sigma_type keyword: _ @keyword.type)
(tuple_type keyword: _ @keyword.type)
(record_type keyword: _ @keyword.type)
(quotient_type keyword: _ @keyword.type)
(value_type keyword: _ @keyword.type)
(stream_type keyword: _ @keyword.type)

"all" @constant.builtin

; ---- literals

(integer) @number
(float) @number.float
(parameter rank: (integer) @constant.builtin)
(binding rank: (integer) @constant.builtin)
(rerank rank: (integer) @constant.builtin)
(boolean) @boolean
(character) @character
(string) @string
(escape_sequence) @string.escape

; ---- the rest

["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["~(" "~["] @punctuation.special
["|" ":"] @punctuation.delimiter
(annotated keyword: _ @keyword)

[(comment) (block_comment) (datum_comment) (shebang)] @comment
