; What other grammars of the language should see as this one does: tools/vscode/test.
[(comment) (block_comment) (datum_comment) (shebang)] @comment
(string) @string
(character) @character
(integer) @number
(float) @number
(boolean) @boolean
(_ keyword: _ @keyword)
