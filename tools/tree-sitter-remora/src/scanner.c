// The tokens that no regular expression describes: comments nest, the comment of a datum is as long as the datum, and the
// text of a string has no comments in it.

#include "tree_sitter/parser.h"

enum Token { BLOCK_COMMENT, DATUM_COMMENT, STRING_CONTENT, NEVER };

// Nothing is remembered from one token to the next.
void *tree_sitter_remora_external_scanner_create(void) { return NULL; }
void tree_sitter_remora_external_scanner_destroy(void *payload) { (void)payload; }
unsigned tree_sitter_remora_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}
void tree_sitter_remora_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

static void next(TSLexer *lexer) { lexer->advance(lexer, false); }

static bool within(int32_t c, int32_t first, int32_t last) { return first <= c && c <= last; }

static bool is_space(int32_t c) {
  return within(c, '\t', '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || within(c, 0x2000, 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// Whether a name ends before `c`: the delimiters of grammar.js.
static bool is_delimiter(int32_t c) {
  switch (c) {
    case '(': case ')': case '[': case ']': case '{': case '}': case '"': case ';': case ',': case '|':
    case 0xad: case 0x61c: case 0x180e: case 0x200b: case 0x200e: case 0x200f: case 0xfeff:
      return true;
    default:
      return is_space(c) || within(c, 0, 0x1f) || within(c, 0x7f, 0x9f) || within(c, 0x2028, 0x202e) ||
             within(c, 0x2060, 0x206f) || within(c, 0xfff9, 0xfffb) || within(c, 0xe0000, 0xe007f);
  }
}

// The rest of a `#| … |#` after its `#|`, up to the `|#` that closes it, else up to the end of the text.
static void skip_block_comment(TSLexer *lexer) {
  for (unsigned depth = 1; depth > 0 && !lexer->eof(lexer);) {
    int32_t c = lexer->lookahead;
    next(lexer);
    if (c == '#' && lexer->lookahead == '|') {
      next(lexer);
      depth++;
    } else if (c == '|' && lexer->lookahead == '#') {
      next(lexer);
      depth--;
    }
  }
}

static void skip_word(TSLexer *lexer) {
  while (!lexer->eof(lexer) && !is_delimiter(lexer->lookahead)) next(lexer);
}

// A string after its first quote. False where it does not end.
static bool skip_string(TSLexer *lexer) {
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    next(lexer);
    if (c == '"') return true;
    if (c == '\\') next(lexer);
  }
  return false;
}

// The rest of a character after its `#\`, which may be a delimiter.
static void skip_character(TSLexer *lexer) {
  if (is_delimiter(lexer->lookahead) && lexer->lookahead != '\n' && lexer->lookahead != '\r') {
    next(lexer);
  } else {
    skip_word(lexer);
  }
}

// The rest of a `#;` datum after its `#;`. False where there is no datum to make a comment of.
static bool skip_datum(TSLexer *lexer) {
  unsigned open = 0;    // brackets around this place, within the datum
  unsigned wanted = 1;  // data that are still to come: one more for each `#;` and each `~(…)` before one
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    bool ends = false;  // whether a datum ends here, if no bracket is open
    if (is_space(c) || c == ',') {
      next(lexer);
    } else if (c == ';') {
      while (!lexer->eof(lexer) && lexer->lookahead != '\n') next(lexer);
    } else if (c == '(' || c == '[' || c == '{') {
      next(lexer);
      open++;
    } else if (c == ')' || c == ']' || c == '}') {
      if (open == 0) return false;
      next(lexer);
      open--;
      ends = true;
    } else if (c == '|') {
      if (open == 0) return false;
      next(lexer);
    } else if (c == '"') {
      next(lexer);
      if (!skip_string(lexer)) return false;
      ends = true;
    } else if (c == '#') {
      next(lexer);
      if (lexer->lookahead == '|') {
        next(lexer);
        skip_block_comment(lexer);
      } else if (lexer->lookahead == ';') {
        next(lexer);
        if (open == 0) wanted++;
      } else if (lexer->lookahead == '\\') {
        next(lexer);
        skip_character(lexer);
        ends = true;
      } else {
        skip_word(lexer);
        ends = true;
      }
    } else if (c == '~') {
      next(lexer);
      if (lexer->lookahead == '(' || lexer->lookahead == '[') {
        if (open == 0) wanted++;
      } else {
        skip_word(lexer);
        ends = true;
      }
    } else if (is_delimiter(c)) {
      next(lexer);  // a character that cannot be seen
    } else {
      skip_word(lexer);
      ends = true;
    }
    // Braces directly after a datum belong to it.
    if (ends && open == 0 && lexer->lookahead != '{' && --wanted == 0) return true;
  }
  return false;
}

// `#| … |#` or `#; datum`
static bool scan_comment(TSLexer *lexer) {
  while (is_space(lexer->lookahead)) lexer->advance(lexer, true);
  if (lexer->lookahead != '#') return false;
  next(lexer);
  if (lexer->lookahead == '|') {
    next(lexer);
    skip_block_comment(lexer);
    lexer->result_symbol = BLOCK_COMMENT;
    return true;
  }
  if (lexer->lookahead == ';') {
    next(lexer);
    lexer->result_symbol = DATUM_COMMENT;
    return skip_datum(lexer);
  }
  return false;
}

// Up to a quote or a backslash.
static bool scan_string_content(TSLexer *lexer) {
  bool any = false;
  while (!lexer->eof(lexer) && lexer->lookahead != '"' && lexer->lookahead != '\\') {
    next(lexer);
    any = true;
  }
  lexer->result_symbol = STRING_CONTENT;
  return any;
}

bool tree_sitter_remora_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
  (void)payload;
  // No rule has NEVER: where it is valid, the parser looks for a way out of an error and would take anything.
  if (valid_symbols[STRING_CONTENT] && !valid_symbols[NEVER]) return scan_string_content(lexer);
  return valid_symbols[BLOCK_COMMENT] && scan_comment(lexer);
}
