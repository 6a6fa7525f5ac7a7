// The grammar of Remora for editors: https://tree-sitter.github.io
//
// It follows compiler/syntax: tokens as lexer.rs reads them, forms as lower/ does, with one node for each. A keyword is
// one in head position alone. Text that the compiler refuses may have ERROR nodes here; text that it accepts has none
// (tests/files.rs). Two things are looser than in the compiler: where an array is written with a type in place of
// elements, a name there is an expression, and how many parts a form may have is not counted.
//
//   tree-sitter generate --abi 14     writes src/parser.c anew; 14 is what the editors of Debian 12 read
//   tree-sitter test                  runs test/corpus

// Spellings of the keywords that have a letter of their own, as in compiler/syntax/src/forms.rs.
const lambda = () => choice('λ', 'fn', 'lambda');
const typeLambda = () => choice('Tλ', 't-fn');
const indexLambda = () => choice('Iλ', 'i-fn');
const arrow = () => choice('→', '->');
const forall = () => choice('∀', 'Forall');
const pi = () => choice('Π', 'Pi');
const sigma = () => choice('Σ', 'Sigma');

// Parts in parentheses or brackets: both are accepted in places that bind.
const group = (...parts) => choice(seq('(', ...parts, ')'), seq('[', ...parts, ']'));

// `(keyword part …)`
const form = (keyword, ...parts) => seq('(', field('keyword', keyword), ...parts, ')');

// What ends a name: white space, brackets, `"`, `;`, `,`, `|`, and characters that cannot be seen.
const delimiter =
  '\\p{White_Space}()\\[\\]{}";,|\\x00-\\x1f\\x7f-\\x9f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}';
const name = new RegExp(`[^#${delimiter}][^${delimiter}]*`, 'u');

const digits = /[0-9]+(_[0-9]+)*/;
const integerType = /[iu](8|16|32|64)/;
const floatType = /f(16|32|64)/;
const sign = /[+-]/;
const exponent = /[eE][+-]?[0-9]+(_[0-9]+)*/;

module.exports = grammar({
  name: 'remora',

  word: $ => $.symbol,

  // src/scanner.c
  externals: $ => [$.block_comment, $.datum_comment, $.string_content, $._never],

  extras: $ => [/\p{White_Space}/u, $.comment, $.block_comment, $.datum_comment],

  // Whether a name, or something in brackets, is a value or a type is known at the end of a binding: `(x [a b])`,
  // `(x [a b] e)`. So it is with the witnesses of a box: `(box ((n 3)))`, `(box ((n 3)) [int n] e)`.
  conflicts: $ => [
    [$.expression, $.type],
    [$.expression, $.witness],
    [$._function_name, $.arr_type],
    [$._function_name, $.tuple_type],
    [$._function_name, $.record_type],
    [$._function_name, $.quotient_type],
    [$._function_name, $.value_type],
    [$._function_name, $.stream_type],
  ],

  supertypes: $ => [$.expression, $.type, $.index],

  rules: {
    source_file: $ => seq(optional($.shebang), repeat(choice($._item, $.expression))),

    _item: $ =>
      choice(
        $.definition,
        $.function_definition,
        $.type_definition,
        $.import,
        $.entry,
        $.primitive,
      ),

    // ---- tokens

    // Of two tokens that are equally long, the one that stands first here.
    shebang: _ => token(/#![^\n]*/),
    comment: _ => token(/;[^\r\n]*(\r[^\r\n]+)*/),
    integer: _ =>
      token(
        seq(
          optional(sign),
          choice(
            digits,
            seq(choice('0x', '0X'), /[0-9a-fA-F]+(_[0-9a-fA-F]+)*/),
            seq('0b', /[01]+(_[01]+)*/),
            seq('0o', /[0-7]+(_[0-7]+)*/),
          ),
          optional(integerType),
        ),
      ),
    float: _ =>
      token(
        choice(
          seq(
            optional(sign),
            choice(
              seq(digits, '.', optional(digits), optional(exponent), optional(floatType)),
              seq('.', digits, optional(exponent), optional(floatType)),
              seq(digits, exponent, optional(floatType)),
              seq(digits, floatType),
            ),
          ),
          /[+-]?inf/,
          'nan',
        ),
      ),
    boolean: _ => token(choice('#t', '#f', '#true', '#false', 'true', 'false')),
    symbol: _ => token(name),
    character: _ =>
      token(
        choice(
          new RegExp(`#\\\\[^${delimiter}]+`, 'u'),
          // The character itself may be a delimiter.
          new RegExp('#\\\\[ \\t()\\[\\]{}";,|]', 'u'),
        ),
      ),
    string: $ => seq('"', repeat(choice($.string_content, $.escape_sequence)), token.immediate('"')),
    escape_sequence: _ =>
      token.immediate(choice(/\\x[0-9a-fA-F]+;/, /\\u\{[0-9a-fA-F]+\}/, /\\\r?\n\s*/, /\\[^\r\n]/)),

    // ---- definitions

    definition: $ =>
      form(
        'define',
        field('name', $.symbol),
        optional(seq(':', field('type', $.type))),
        field('value', $.expression),
      ),
    function_definition: $ => form('define', $.head, $._function),
    entry: $ => form('entry', $.head, $._function),
    primitive: $ => form('primitive', $.head, ':', field('type', $.type)),
    type_definition: $ =>
      form('define-type', field('name', alias($.symbol, $.type_identifier)), field('type', $.type)),
    import: $ => form('import', field('path', $.string)),

    // `(name p …)`, `(name{t … | i …} p …)`
    head: $ => group(field('name', $.symbol), optional($.binders), repeat(field('parameter', $.parameter))),
    binders: $ =>
      seq(token.immediate('{'), repeat($.type_parameter), '|', repeat($._index_parameter), '}'),
    _function: $ => seq(optional(seq(':', field('type', $.type))), $._body),
    _body: $ => repeat1(field('body', choice($.definition, $.function_definition, $.expression))),

    // ---- what binds

    // `x`, `[x τ]`, `[x 2]`, `[x all]`
    parameters: $ => group(repeat($.parameter)),
    parameter: $ => choice(field('name', $.symbol), group(field('name', $.symbol), $._annotation)),
    _annotation: $ => choice(field('rank', choice($.integer, 'all')), field('type', $.type)),

    type_parameters: $ => group(repeat($.type_parameter)),
    type_parameter: $ =>
      choice(
        field('name', alias($.symbol, $.type_identifier)),
        group(field('name', alias($.symbol, $.type_identifier)), field('class', $.symbol)),
      ),
    index_parameters: $ => group(repeat($.index_parameter)),
    index_parameter: $ =>
      choice(
        field('name', alias($.symbol, $.index_identifier)),
        group(field('name', alias($.symbol, $.index_identifier)), field('sort', $.symbol)),
      ),
    // `(= p q)`, in the prelude
    index_equation: $ => seq('(', '=', $.index, $.index, ')'),
    _index_parameter: $ => choice($.index_parameter, $.index_equation),

    bindings: $ => group(repeat(choice($.binding, $.function_binding))),
    // `(x e)`, `(x rank e)`, `(x τ e)`, `(x : τ e)`. In `(x all)` the last is a variable of that name.
    binding: $ =>
      group(
        field('name', $.symbol),
        choice(
          seq(
            optional(choice($._annotation, seq(':', field('type', $.type)))),
            field('value', $.expression),
          ),
          field('value', alias('all', $.symbol)),
        ),
      ),
    function_binding: $ => group($.head, $._function),

    // ---- expressions

    expression: $ =>
      choice(
        $.symbol,
        $.integer,
        $.float,
        $.boolean,
        $.character,
        $.string,
        $.vector,
        $.application,
        $.instance,
        $.rerank,
        $.lambda,
        $.type_lambda,
        $.index_lambda,
        $.let,
        $.let_values,
        $.annotated,
        $.if,
        $.cond,
        $.array,
        $.frame,
        $.type_application,
        $.index_application,
        $.box,
        $.boxes,
        $.unbox,
        $.lift,
        $.values,
        $.projection,
        $.record,
        $.field_access,
        $.record_update,
        $.reify_dimension,
        $.reify_shape,
        $.as_shape,
        $.cast,
        $.loop,
      ),

    // `[e …]`
    vector: $ => seq('[', repeat($.expression), ']'),
    // `(f e …)`
    application: $ =>
      seq(
        '(',
        field('function', choice($.expression, $._function_name)),
        repeat(field('argument', $.expression)),
        ')',
      ),
    // Heads of types are names like others where a value is wanted.
    _function_name: $ =>
      alias(choice('A', 'Arr', 'Tuple', 'Record', 'Quot', 'Val', 'Stream'), $.symbol),
    // `f{t … | i …}`
    instance: $ =>
      prec(
        1,
        seq(
          field('function', $.expression),
          token.immediate('{'),
          repeat(field('type', $.type)),
          '|',
          repeat(field('index', $.index)),
          '}',
        ),
      ),
    // `~(r …)f`
    rerank: $ =>
      seq(
        choice(seq('~(', repeat($._rank), ')'), seq('~[', repeat($._rank), ']')),
        field('function', $.expression),
      ),
    _rank: $ => field('rank', choice($.integer, 'all')),

    lambda: $ => form(lambda(), field('parameters', $.parameters), $._function),
    type_lambda: $ => form(typeLambda(), field('parameters', $.type_parameters), $._body),
    index_lambda: $ => form(indexLambda(), field('parameters', $.index_parameters), $._body),

    let: $ => form(choice('let', 'let*'), field('bindings', $.bindings), $._body),
    let_values: $ => form('let-values', field('bindings', $.values_bindings), $._body),
    values_bindings: $ => group(repeat($.values_binding)),
    values_binding: $ => group(field('names', $.parameters), field('value', $.expression)),

    annotated: $ => form(':', field('value', $.expression), field('type', $.type)),

    if: $ =>
      form(
        'if',
        field('condition', $.expression),
        field('consequence', $.expression),
        field('alternative', $.expression),
      ),
    cond: $ => form('cond', repeat(choice($.clause, $.else_clause))),
    clause: $ => group(field('condition', $.expression), $._body),
    else_clause: $ => group(field('keyword', 'else'), $._body),

    // `(array [d …] e …)`, `(array [d …] τ)`
    array: $ => form('array', field('dims', $.dims), $._elements),
    frame: $ => form('frame', field('dims', $.dims), $._elements),
    dims: $ => seq('[', repeat($.index), ']'),
    // A form of a type is no application, though a function might have its head for a name.
    _elements: $ =>
      choice(
        repeat1(field('element', $.expression)),
        prec.dynamic(1, field('type', $._type_form)),
      ),

    type_application: $ => form('t-app', field('function', $.expression), repeat(field('type', $.type))),
    index_application: $ => form('i-app', field('function', $.expression), repeat(field('index', $.index))),

    // `(box ((i index) …) τ e)`, `(box e)`
    box: $ =>
      form(
        'box',
        optional(seq(field('witnesses', $.witnesses), field('type', $.type))),
        field('value', $.expression),
      ),
    witnesses: $ => group(repeat($.witness)),
    witness: $ => group(field('name', alias($.symbol, $.index_identifier)), field('index', $.index)),
    // `(boxes (i …) τ [d …] ((index …) e) …)`
    boxes: $ =>
      form(
        'boxes',
        field('parameters', $.index_parameters),
        field('type', $.type),
        field('dims', $.dims),
        repeat(field('row', $.row)),
      ),
    row: $ => group(group(repeat(field('index', $.index))), field('value', $.expression)),
    // `(unbox e (x i …) body)`
    unbox: $ => form('unbox', field('boxes', $.expression), field('names', $.contents), $._body),
    contents: $ =>
      group(field('name', $.symbol), repeat(field('index', alias($.symbol, $.index_identifier)))),
    // `(lift [d e] body)`
    lift: $ => form(choice('lift', 'lift-int'), field('opened', $.opened), $._body),
    opened: $ => group(field('name', alias($.symbol, $.index_identifier)), field('value', $.expression)),

    values: $ => form('values', repeat(field('value', $.expression))),
    projection: $ => form('proj', field('position', $.integer), field('tuple', $.expression)),
    record: $ => form('record', repeat(field('field', $.field))),
    field: $ => group(field('label', alias($.symbol, $.label)), field('value', $.expression)),
    field_access: $ => form('field', field('record', $.expression), field('label', alias($.symbol, $.label))),
    record_update: $ => form('with', field('record', $.expression), repeat(field('field', $.field))),

    reify_dimension: $ => form('reify-dimension', field('index', $.index)),
    reify_shape: $ => form('reify-shape', field('index', $.index)),
    // The parts of the shape are indices or expressions that have the value of one.
    as_shape: $ => form('as-shape', field('shape', $.expression), field('value', $.expression)),
    cast: $ => form('cast', field('type', $.type), field('value', $.expression)),

    // `(loop ((x e) …) while c do e)`
    loop: $ =>
      form(
        'loop',
        field('bindings', $.bindings),
        field('keyword', 'while'),
        field('condition', $.expression),
        field('keyword', 'do'),
        $._body,
      ),

    // ---- types

    type: $ => choice(alias($.symbol, $.type_identifier), $.array_type, $._type_form),
    _type_form: $ =>
      choice(
        $.arr_type,
        $.function_type,
        $.forall_type,
        $.pi_type,
        $.sigma_type,
        $.tuple_type,
        $.record_type,
        $.quotient_type,
        $.value_type,
        $.stream_type,
      ),

    // `[t i …]`
    array_type: $ => seq('[', field('element', $.type), repeat(field('index', $.index)), ']'),
    arr_type: $ => form(choice('A', 'Arr'), field('element', $.type), field('shape', $.index)),
    // `(→ (τ …) τ)`
    function_type: $ => form(arrow(), '(', repeat(field('parameter', $.type)), ')', field('result', $.type)),
    forall_type: $ => form(forall(), field('parameters', $.type_parameters), field('body', $.type)),
    pi_type: $ => form(pi(), field('parameters', $.index_parameters), field('body', $.type)),
    sigma_type: $ => form(sigma(), field('parameters', $.index_parameters), field('body', $.type)),
    tuple_type: $ => form('Tuple', repeat(field('component', $.type))),
    record_type: $ => form('Record', repeat(field('field', $.field_type))),
    field_type: $ => group(field('label', alias($.symbol, $.label)), field('type', $.type)),
    quotient_type: $ => form('Quot', field('type', $.type)),
    value_type: $ => form('Val', field('index', $.index)),
    // `(Stream τ)`, `(Stream τ n)`
    stream_type: $ => form('Stream', field('item', $.type), optional(field('length', $.index))),

    // ---- indices: dims and shapes

    index: $ =>
      choice(
        $.integer,
        alias($.symbol, $.index_identifier),
        $.index_expression,
        $.index_vector,
      ),
    // `(+ d …)`, `(* d …)`, `(- d d …)`, `(shape d …)`, `(++ s …)`; in the prelude `(rank s)`, `(size s)`
    index_expression: $ =>
      seq('(', field('operator', $.symbol), repeat1(field('operand', $.index)), ')'),
    index_vector: $ => seq('[', repeat($.index), ']'),
  },
});
