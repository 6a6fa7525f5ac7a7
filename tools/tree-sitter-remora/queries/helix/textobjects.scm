(function_definition) @function.around
(function_definition body: (_) @function.inside)
(entry) @function.around
(entry body: (_) @function.inside)
(lambda) @function.around
(lambda body: (_) @function.inside)

(parameter) @parameter.inside
(application argument: (_) @parameter.inside)
(vector (_) @entry.inside)

(type_definition) @class.around
(type_definition type: (_) @class.inside)

[(comment) (block_comment) (datum_comment)] @comment.inside
(comment)+ @comment.around
