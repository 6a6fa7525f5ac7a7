// ---- the program: inputs, as .npy files and as literals ----

enum { REMC_MOST_AXES = 64, REMC_MOST_NESTING = 200 };

struct remc_shape {
  u32 rank;
  i64 at[REMC_MOST_AXES];
};

// What is known of the cells of a part of an input.
struct remc_cell {
  bool is_known;
  remc_shape shape;   // in a tuple: the same in all tuples of an array
  remc_text shapes;   // in boxes: of each, the number of axes and the dims, as i64
  u64 next_shape;     // the first of these that has not been compared with the type
  i64 boxes, opened;  // of boxes: how many there are, and how many have been compared with the type
};

// What has been read of an input: the elements of each leaf, and the cells of each part.
struct remc_reading {
  remc_text *leaves;
  remc_cell *cells;
  remc_text *shapes;  // by hidden index: of each box, the rank and the dims, as i64; a rank of -1 if it is not given
  u64 *next_shapes;   // the first of these that has not been compared with the type
};

[[noreturn]] static void remc_usage(const char *code, const char *format, ...) {
  va_list more;
  va_start(more, format);
  fprintf(stderr, "error[%s]: ", code);
  vfprintf(stderr, format, more);
  fputc('\n', stderr);
  va_end(more);
  exit(2);
}

static void remc_append(remc_text *text, const void *bytes, u64 count) {
  const u64 before = text->length;
  remc_say(text, (const char *)bytes, count);
  if (text->length != before + count) remc_usage("U0008", "this machine has no memory for the inputs");
}

// ---- literals ----

// A piece of a literal: a list, brackets, a word, a string or a character, with the text inside.
struct remc_term {
  char kind;  // ( [ w " \ or 0 at the end of a list
  const char *at;
  u64 length;
  u32 next;  // the one after it
};

struct remc_literal {
  const remc_input *input;
  const char *text, *at;
  remc_term *terms;
  u32 count, room;
};

[[noreturn]] static void remc_no_literal(const remc_literal *l, const char *why) {
  remc_usage("U0007", "the input `%s` does not read as a literal of type %s: %s", l->input->name, l->input->type, why);
}

[[noreturn]] static void remc_mismatch(const remc_literal *l, const char *found) {
  remc_usage("U0009", "the input `%s` wants %s and was given %s", l->input->name, l->input->type, found);
}

static bool remc_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool remc_is_delimiter(char c) { return !c || remc_is_space(c) || strchr("()[]{}\";,|", c); }

static u32 remc_term_new(remc_literal *l, char kind, const char *at) {
  if (l->count == l->room) {
    l->room = 2 * l->room + 64;
    remc_term *more = (remc_term *)realloc(l->terms, l->room * sizeof *more);
    if (!more) remc_no_literal(l, "there is no memory for it");
    l->terms = more;
  }
  const remc_term term = {kind, at, 0, 0};
  l->terms[l->count] = term;
  return l->count++;
}

static void remc_parse(remc_literal *l, int depth);

// Skips spaces and comments.
static void remc_skip(remc_literal *l, int depth) {
  for (;;) {
    if (remc_is_space(*l->at)) ++l->at;
    else if (*l->at == ';') l->at += strcspn(l->at, "\n");
    else if (l->at[0] == '#' && l->at[1] == '|') {
      int nested = 0;
      do {
        if (!*l->at) remc_no_literal(l, "a comment does not end");
        const bool opens = l->at[0] == '#' && l->at[1] == '|', closes = l->at[0] == '|' && l->at[1] == '#';
        nested += opens ? 1 : closes ? -1 : 0;
        l->at += opens || closes ? 2 : 1;
      } while (nested > 0);
    } else if (l->at[0] == '#' && l->at[1] == ';') {
      l->at += 2;
      const u32 before = l->count;
      remc_parse(l, depth + 1);
      l->count = before;
    } else return;
  }
}

// Reads one term, with what is in it.
static void remc_parse(remc_literal *l, int depth) {
  if (depth > REMC_MOST_NESTING) remc_no_literal(l, "it is nested too deeply");
  remc_skip(l, depth);
  const char *start = l->at;
  const char c = *start;
  if (c == '(' || c == '[') {
    const u32 me = remc_term_new(l, c, start);
    ++l->at;
    for (;;) {
      remc_skip(l, depth);
      if (*l->at == (c == '(' ? ')' : ']')) break;
      if (!*l->at || strchr(")]{}", *l->at)) remc_no_literal(l, "a bracket is not closed");
      remc_parse(l, depth + 1);
    }
    ++l->at;
    remc_term_new(l, 0, l->at);
    l->terms[me].length = (u64)(l->at - start);
    l->terms[me].next = l->count;
    return;
  }
  char kind = 'w';
  if (c == '"') {
    for (++l->at; *l->at != '"'; ++l->at) {
      if (*l->at == '\\' && l->at[1]) ++l->at;
      if (!*l->at) remc_no_literal(l, "a string does not end");
    }
    kind = '"';
    ++start;
  } else if (c == '#' && start[1] == '\\') {
    start += 2;
    l->at = *start ? start + 1 : start;
    if (!remc_is_delimiter(*start))
      while (!remc_is_delimiter(*l->at)) ++l->at;
    kind = '\\';
  } else {
    if (!c) remc_no_literal(l, "it ends too soon");
    if (remc_is_delimiter(c)) remc_no_literal(l, "a character is out of place");
    while (!remc_is_delimiter(*l->at)) ++l->at;
  }
  const u32 me = remc_term_new(l, kind, start);
  l->terms[me].length = (u64)(l->at - start);
  l->terms[me].next = l->count;
  if (kind == '"') ++l->at;
}

static bool remc_is(const remc_term *t, const char *word) {
  return t->kind == 'w' && t->length == strlen(word) && memcmp(t->at, word, t->length) == 0;
}

// The character that begins here in UTF-8, and how long it is; 0 if none does.
static u32 remc_utf8(const char *at, u64 length, u32 *c) {
  const u8 *b = (const u8 *)at;
  if (length == 0) return 0;
  const u32 n = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
  if (n == 0 || n > length) return 0;
  *c = n == 1 ? b[0] : b[0] & (0x7f >> n);
  for (u32 i = 1; i < n; ++i) {
    if ((b[i] & 0xc0) != 0x80) return 0;
    *c = *c << 6 | (b[i] & 0x3f);
  }
  static const u32 least[] = {0, 0, 0x80, 0x800, 0x10000};
  return *c >= least[n] && remc_is_char(*c) ? n : 0;
}

// A code point in hexadecimal.
static bool remc_code_point(const char *at, u64 length, u32 *c) {
  if (length == 0 || length > 8) return false;
  u64 n = 0;
  for (u64 i = 0; i < length; ++i) {
    const char d = at[i];
    const int digit = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;
    if (digit < 0) return false;
    n = n * 16 + (u64)digit;
  }
  *c = (u32)n;
  return n < 0x110000 && remc_is_char((u32)n);
}

static bool remc_character(const remc_term *t, u32 *c) {
  static const struct { const char *name; u32 c; } names[] = {
      {"space", ' '}, {"newline", '\n'}, {"tab", '\t'}, {"return", '\r'}, {"nul", 0}, {"null", 0}, {"linefeed", '\n'},
      {"alarm", 7}, {"backspace", 8}, {"delete", 0x7f}, {"escape", 0x1b}, {"page", 0xc}};
  if (t->length > 0 && remc_utf8(t->at, t->length, c) == t->length) return true;
  for (const auto &n : names)
    if (strlen(n.name) == t->length && memcmp(n.name, t->at, t->length) == 0) {
      *c = n.c;
      return true;
    }
  return t->length > 1 && (*t->at == 'x' || *t->at == 'u') && remc_code_point(t->at + 1, t->length - 1, c);
}

// Appends the characters of a string; how many there are.
static i64 remc_string(const remc_literal *l, const remc_term *t, remc_text *to) {
  i64 count = 0;
  const char *end = t->at + t->length;
  for (const char *at = t->at; at < end;) {
    u32 c = 0;
    if (at[0] == '\r' && at + 1 < end && at[1] == '\n') {
      ++at;
      continue;
    }
    if (*at != '\\') {
      const u32 n = remc_utf8(at, (u64)(end - at), &c);
      if (n == 0) remc_no_literal(l, "a string is not in UTF-8");
      at += n;
    } else {
      static const char from[] = "ntr0ab\"\\'", becomes[] = "\n\t\r\0\a\b\"\\'";
      const char escape = at + 1 < end ? at[1] : 0;
      const char *known = escape ? strchr(from, escape) : 0;
      at += 2;
      if (known) c = (u32)becomes[known - from];
      else if (escape == '\n' || escape == '\r') {
        while (at < end && remc_is_space(*at)) ++at;
        continue;
      } else {
        const bool braces = escape == 'u' && at < end && *at == '{';
        const char *from_here = at + braces;
        const char *to_here = from_here;
        while (to_here < end && *to_here != (braces ? '}' : ';')) ++to_here;
        if ((escape != 'x' && !braces) || to_here == end || !remc_code_point(from_here, (u64)(to_here - from_here), &c))
          remc_no_literal(l, "a string has an unknown escape");
        at = to_here + 1;
      }
    }
    remc_append(to, &c, sizeof c);
    ++count;
  }
  return count;
}

static const char *const remc_suffixes[] = {"", "", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"};
static const char *const remc_names[] = {"bool", "char", "i8", "i16", "i32", "int", "u8", "u16", "u32", "u64", "f16", "f32", "float"};

static bool remc_is_float(i32 type) { return type >= REMC_F16; }

// The bits of a float of this type, or a mismatch if it is past the largest.
static u64 remc_float_bits(const remc_literal *l, i32 type, f64 x, f32 single, bool is_finite) {
  u64 bits = 0;
  bool fits = true;
  if (type == REMC_F16) {
    bits = remc_to_half(x);
    fits = (bits & 0x7c00) != 0x7c00;
  } else if (type == REMC_F32) {
    memcpy(&bits, &single, sizeof single);
    fits = single - single == 0;
  } else {
    memcpy(&bits, &x, sizeof x);
    fits = x - x == 0;
  }
  if (is_finite && !fits) remc_mismatch(l, "a number past the largest of the type");
  return bits;
}

// The digits that may stand here, at most one underscore between two of them; false if there are none.
static bool remc_digits(const char **at, const char *end, int radix, remc_text *to) {
  const char *from = *at;
  for (; *at < end; ++*at) {
    const char c = **at;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    if (digit < radix) remc_append(to, &c, 1);
    else if (c != '_' || *at == from || (*at)[-1] == '_') break;
  }
  return *at > from && (*at)[-1] != '_';
}

// The bits of a number, boolean or character of the type.
static u64 remc_scalar(const remc_literal *l, const remc_term *t, i32 type) {
  if (t->kind == '\\') {
    u32 c = 0;
    if (!remc_character(t, &c)) remc_no_literal(l, "a character is unknown");
    if (type != REMC_CHAR) remc_mismatch(l, "a character");
    return c;
  }
  const bool is_true = remc_is(t, "#t") || remc_is(t, "#true") || remc_is(t, "true");
  if (is_true || remc_is(t, "#f") || remc_is(t, "#false") || remc_is(t, "false")) {
    if (type != REMC_BOOL) remc_mismatch(l, "a boolean");
    return is_true;
  }
  const bool infinite = remc_is(t, "inf") || remc_is(t, "+inf") || remc_is(t, "-inf");
  if (infinite || remc_is(t, "nan")) {
    if (!remc_is_float(type)) remc_mismatch(l, "a float");
    const f64 x = !infinite ? (f64)NAN : *t->at == '-' ? -(f64)INFINITY : (f64)INFINITY;
    return remc_float_bits(l, type, x, (f32)x, false);
  }
  const char *at = t->at, *end = t->at + t->length;
  const bool negative = *at == '-';
  if (*at == '-' || *at == '+') ++at;
  int radix = 10;
  if (end - at > 2 && *at == '0') radix = strchr("xX", at[1]) ? 16 : at[1] == 'b' ? 2 : at[1] == 'o' ? 8 : 10;
  if (radix != 10) at += 2;
  remc_text text = {0, 0, 0};
  remc_append(&text, negative ? "-" : "+", 1);
  const bool whole = remc_digits(&at, end, radix, &text);
  bool is_real = false, is_right = whole;
  if (radix == 10 && at < end && *at == '.') {
    is_real = true;
    remc_append(&text, at++, 1);
    const bool fraction = at < end && *at >= '0' && *at <= '9';
    if (fraction) is_right = remc_digits(&at, end, 10, &text);
    is_right = is_right && (whole || fraction);
  }
  if (radix == 10 && end - at > 1 && (*at == 'e' || *at == 'E')) {
    is_real = true;
    remc_append(&text, at++, 1);
    if (*at == '+' || *at == '-') remc_append(&text, at++, 1);
    is_right = remc_digits(&at, end, 10, &text) && is_right;
  }
  i32 suffix = -1;
  for (i32 i = REMC_I8; i <= REMC_F64; ++i)
    if ((u64)(end - at) == strlen(remc_suffixes[i]) && memcmp(at, remc_suffixes[i], (u64)(end - at)) == 0) suffix = i;
  is_real = is_real || (suffix >= 0 && remc_is_float(suffix));
  if (!is_right || (at < end && suffix < 0) || (is_real && suffix >= 0 && !remc_is_float(suffix)))
    remc_no_literal(l, "it is neither a number, a boolean, a character nor an array of them");
  if ((suffix >= 0 && suffix != type) || type < REMC_I8) remc_mismatch(l, "a number of another type");
  u64 bits = 0;
  if (is_real) {
    if (!remc_is_float(type)) remc_mismatch(l, "a float");
    const f64 x = strtod(text.at, 0);
    bits = remc_float_bits(l, type, x, suffix >= 0 ? strtof(text.at, 0) : (f32)x, true);
  } else {
    u64 size = 0;
    bool fits = true;
    for (const char *d = text.at + 1; *d; ++d) {
      const u64 digit = (u64)(*d <= '9' ? *d - '0' : (*d | 32) - 'a' + 10);
      fits = fits && size <= (~(u64)0 - digit) / (u64)radix;
      size = size * (u64)radix + digit;
    }
    fits = fits && (!negative || size <= (u64)1 << 63);
    if (!fits) remc_no_literal(l, "an integer needs more than 64 bits");
    if (remc_is_float(type)) {
      const f64 x = negative ? -(f64)size : (f64)size;
      bits = remc_float_bits(l, type, x, negative ? -(f32)size : (f32)size, true);
    } else {
      const bool is_signed = type < REMC_U8;
      const u64 half = (u64)1 << (8 * remc_type_bytes[type] - 1);
      const u64 most = is_signed ? (negative ? half : half - 1) : negative ? 0 : half - 1 + half;
      if (size > most) remc_mismatch(l, "a number that the type cannot hold");
      bits = negative ? 0 - size : size;
    }
  }
  free(text.at);
  return bits;
}

// The shape of one cell, which that of all others must be.
static void remc_cell_found(const remc_literal *l, remc_cell *cell, const remc_shape *found) {
  const remc_shape *known = &cell->shape;
  if (cell->is_known && (known->rank != found->rank || memcmp(known->at, found->at, found->rank * sizeof(i64)) != 0))
    remc_mismatch(l, "an array whose items have different shapes");
  cell->is_known = true;
  cell->shape = *found;
}

static void remc_axis(const remc_literal *l, remc_shape *shape, i64 size) {
  if (shape->rank == REMC_MOST_AXES) remc_no_literal(l, "it has too many axes");
  shape->at[shape->rank++] = size;
}

static u64 remc_natural(const remc_literal *l, const remc_term *t) {
  char *end = 0;
  if (t->kind != 'w' || t->length > 18 || t->at[0] < '0' || t->at[0] > '9') remc_no_literal(l, "a dim is no number");
  const u64 n = strtoull(t->at, &end, 10);
  if (end != t->at + t->length) remc_no_literal(l, "a dim is no number");
  return n;
}

// The dims of `(array [2 3] …)`.
static void remc_dims_of(const remc_literal *l, const remc_term *t, remc_shape *shape) {
  if (t->kind != '[') remc_no_literal(l, "an array form has no dims");
  for (const remc_term *d = t + 1; d->kind; d = l->terms + d->next) remc_axis(l, shape, (i64)remc_natural(l, d));
}

// The type of an array without elements: `int`, `[f32 3]`.
static void remc_element(const remc_literal *l, const remc_term *t, const remc_input_part *part, remc_shape *shape) {
  if (t->kind == '[' && t[1].kind) {
    for (const remc_term *d = l->terms + t[1].next; d->kind; d = l->terms + d->next)
      remc_axis(l, shape, (i64)remc_natural(l, d));
    remc_element(l, t + 1, part, shape);
  } else if (t->kind == 'w' && part->kind == '[') {
    const i32 type = remc_this->leaves[part->leaf].type;
    for (i32 i = 0; i <= REMC_F64; ++i)
      if (i != type && (remc_is(t, remc_names[i]) || (i > REMC_CHAR && remc_is(t, remc_suffixes[i]))))
        remc_mismatch(l, "an array of another type");
  }
}

static void remc_evaluate(const remc_literal *l, const remc_term *t, u32 part_at, remc_reading *to, remc_shape *shape);

// Reads something in a box, and keeps its shape until the sizes are known.
static void remc_evaluate_boxed(const remc_literal *l, const remc_term *t, u32 part_at, remc_reading *to) {
  remc_shape shape;
  remc_evaluate(l, t, part_at, to, &shape);
  const i64 rank = shape.rank;
  remc_append(&to->cells[part_at].shapes, &rank, sizeof rank);
  remc_append(&to->cells[part_at].shapes, shape.at, shape.rank * sizeof *shape.at);
}

// What is in a box begins behind what is in the boxes before it.
static void remc_begin_contents(u32 part_at, remc_reading *to) {
  const remc_input_part *part = remc_this->input_parts + part_at;
  if (part->starts >= 0) {
    const bool is_array = part->kind == '[';
    const i64 start = is_array ? (i64)(to->leaves[part->leaf].length / remc_type_bytes[remc_this->leaves[part->leaf].type])
                               : to->cells[part_at].boxes;
    remc_append(&to->leaves[part->starts], &start, sizeof start);
  }
  if (part->kind != '(') return;
  for (u32 field = part_at + 1; field < part->next; field = remc_this->input_parts[field].next) remc_begin_contents(field, to);
}

// Reads a box: its witnesses from a term on, as in `((n 3) (@s [4 5]))` or `(3 [4 5])`, and its contents. Without terms the witnesses
// are -1 until the contents are compared with the type.
static void remc_evaluate_box(const remc_literal *l, const remc_term *witness, bool is_named, const remc_term *contents, u32 part_at,
                              remc_reading *to) {
  const remc_input_part *part = remc_this->input_parts + part_at;
  for (u32 k = part->witness; k < part->witness + part->count; ++k) {
    const remc_term *own = 0;
    if (witness) {
      if (!witness->kind) remc_mismatch(l, "a box with fewer witnesses");
      if (is_named && (witness->kind != '(' || !witness[1].kind)) remc_no_literal(l, "a witness is not written as in `((n 3))`");
      own = is_named ? l->terms + witness[1].next : witness;
      witness = l->terms + witness->next;
    }
    if (remc_this->hidden[k].is_shape) {
      remc_shape dims;
      dims.rank = 0;
      if (own) remc_dims_of(l, own, &dims);
      const i64 rank = own ? (i64)dims.rank : -1;
      remc_append(&to->shapes[k], &rank, sizeof rank);
      remc_append(&to->shapes[k], dims.at, dims.rank * sizeof *dims.at);
    } else {
      const i64 n = own ? (i64)remc_natural(l, own) : -1;
      remc_append(&to->leaves[remc_this->hidden[k].leaf], &n, sizeof n);
    }
  }
  if (witness && witness->kind) remc_mismatch(l, "a box with more witnesses");
  remc_begin_contents(part_at + 1, to);
  ++to->cells[part_at].boxes;
  remc_evaluate_boxed(l, contents, part_at + 1, to);
}

// Reads `(box ((n 3)) [int n] e)`, `(box e)`, or an array of boxes.
static void remc_evaluate_boxes(const remc_literal *l, const remc_term *t, u32 part_at, remc_reading *to, remc_shape *shape) {
  const bool is_box = t->kind == '(' && remc_is(t + 1, "box");
  if (!is_box && !(t->kind == '(' && remc_is(t + 1, "boxes"))) remc_mismatch(l, "an atom that is no box");
  // What follows the word, as far as it goes.
  const remc_term *part[3], *next = l->terms + t[1].next;
  u32 count = 0;
  for (; count < 3 && next->kind; next = l->terms + next->next) part[count++] = next;
  if (is_box) {
    if (count == 1) remc_evaluate_box(l, 0, true, part[0], part_at, to);
    else if (count == 3 && part[0]->kind == '(' && !next->kind) remc_evaluate_box(l, part[0] + 1, true, part[2], part_at, to);
    else remc_no_literal(l, "a box is written as `(box ((n 3)) [int n] [1 2 3])`");
    return;
  }
  if (count < 3) remc_no_literal(l, "an array of boxes is written as `(boxes (n) [int n] [1] ((2) [1 2]))`");
  remc_dims_of(l, part[2], shape);
  i64 found = 0, wanted = 1;
  for (u32 i = 0; i < shape->rank; ++i)
    if (__builtin_mul_overflow(wanted, shape->at[i], &wanted)) remc_no_literal(l, "its dims are too large");
  for (; next->kind; next = l->terms + next->next, ++found) {
    const bool fits = next->kind == '(' && next[1].kind == '(';
    const remc_term *contents = fits ? l->terms + next[1].next : next;
    if (!fits || !contents->kind || l->terms[contents->next].kind)
      remc_no_literal(l, "a box of an array is written as `((2) [1 2])`");
    remc_evaluate_box(l, next + 2, false, contents, part_at, to);
  }
  if (found != wanted) remc_no_literal(l, "the number of boxes is not the product of the dims");
}

// The sizes of the other axes of empty brackets, which are those of the input's type if it says them.
static void remc_sizes_of_none(const remc_literal *l, const remc_term *t, u32 part_at, remc_shape *shape) {
  const remc_input_part *part = remc_this->input_parts + part_at;
  const bool is_known = part->kind == '[' && part_at == l->input->part;
  u32 axis = 1;
  for (const char *c = l->text; c < t->at; ++c) axis += *c == '[' ? 1 : *c == ']' ? -1 : 0;
  for (; is_known && axis < part->axes && remc_this->leaves[part->leaf].dims[axis] >= 0; ++axis)
    remc_axis(l, shape, remc_this->leaves[part->leaf].dims[axis]);
  if (!is_known || axis < part->axes) remc_no_literal(l, "empty brackets have no type: write `(array [0] int)`");
}

// Reads a term as a value of a part of the input, behind what was read before; its shape.
static void remc_evaluate(const remc_literal *l, const remc_term *t, u32 part_at, remc_reading *to, remc_shape *shape) {
  const remc_input_part *part = remc_this->input_parts + part_at;
  shape->rank = 0;
  const remc_term *rows = 0;
  if (t->kind == '[') {
    i64 count = 0;
    rows = t + 1;
    for (const remc_term *e = rows; e->kind; e = l->terms + e->next) ++count;
    remc_axis(l, shape, count);
    if (count == 0) {
      remc_sizes_of_none(l, t, part_at, shape);
      return;
    }
  } else if (t->kind == '(' && remc_is(t + 1, "array")) {
    const remc_term *dims = l->terms + t[1].next;
    if (!dims->kind) remc_no_literal(l, "an array form has no dims");
    remc_dims_of(l, dims, shape);
    rows = l->terms + dims->next;
    i64 count = 0, wanted = 1;
    for (u32 i = 0; i < shape->rank; ++i)
      if (__builtin_mul_overflow(wanted, shape->at[i], &wanted)) remc_no_literal(l, "its dims are too large");
    for (const remc_term *e = rows; e->kind; e = l->terms + e->next) ++count;
    if (wanted == 0) {
      if (count != 1) remc_no_literal(l, "an array with a dim of 0 has a type instead of elements");
      remc_element(l, rows, part, shape);
      return;
    }
    if (count != wanted) remc_no_literal(l, "the number of elements is not the product of the dims");
  }
  if (rows) {
    remc_shape row;
    remc_cell rows_are;
    rows_are.is_known = false;
    rows_are.shape.rank = 0;
    for (const remc_term *e = rows; e->kind; e = l->terms + e->next) {
      remc_evaluate(l, e, part_at, to, &row);
      remc_cell_found(l, &rows_are, &row);
    }
    for (u32 i = 0; i < rows_are.shape.rank; ++i) remc_axis(l, shape, rows_are.shape.at[i]);
    return;
  }
  const bool is_record = t->kind == '(' && remc_is(t + 1, "record");
  if (part->kind == '#') {
    remc_evaluate_boxes(l, t, part_at, to, shape);
    return;
  }
  if (part->kind == '(') {
    if (!is_record && !(t->kind == '(' && remc_is(t + 1, "values"))) remc_mismatch(l, "an atom that is no tuple");
    u32 fields = 0, given = 0;
    for (const remc_term *e = l->terms + t[1].next; e->kind; e = l->terms + e->next) ++given;
    const remc_term *e = l->terms + t[1].next;
    for (u32 field = part_at + 1; field < part->next; field = remc_this->input_parts[field].next, ++fields) {
      const remc_term *value = e;
      if (is_record) {
        const char *label = remc_this->input_parts[field].label;
        for (value = l->terms + t[1].next; value->kind; value = l->terms + value->next)
          if (value->kind == '(' && remc_is(value + 1, label)) break;
        if (value->kind) value = l->terms + value[1].next;
      }
      if (!value->kind) remc_mismatch(l, "a tuple without one of the fields");
      if (remc_this->input_parts[field].dim >= 0) {
        remc_evaluate_boxed(l, value, field, to);
      } else {
        remc_shape cell;
        remc_evaluate(l, value, field, to, &cell);
        remc_cell_found(l, &to->cells[field], &cell);
      }
      if (!is_record) e = l->terms + e->next;
    }
    if (fields != given) remc_mismatch(l, "a tuple with other fields");
    return;
  }
  const i32 type = remc_this->leaves[part->leaf].type;
  remc_text *data = &to->leaves[part->leaf];
  if (t->kind == '"') {
    if (type != REMC_CHAR) remc_mismatch(l, "a string");
    remc_axis(l, shape, remc_string(l, t, data));
    return;
  }
  if (t->kind == '(') remc_no_literal(l, "it is an application, or a form that is none of an input");
  const u64 bits = remc_scalar(l, t, type);
  remc_append(data, &bits, remc_type_bytes[type]);
}

// Reads a literal; the shape of the whole.
static void remc_read_literal(const remc_input *input, const char *text, remc_reading *to, remc_shape *shape) {
  remc_literal l = {input, text, text, 0, 0, 0};
  remc_parse(&l, 0);
  remc_skip(&l, 0);
  if (*l.at) remc_no_literal(&l, "something follows it");
  remc_evaluate(&l, l.terms, input->part, to, shape);
  free(l.terms);
}

// Finds a size n from a length that is rest + coefficient * n.
[[maybe_unused]] static void remc_solve_size(
    const remc_input *input, i64 length, i64 rest, i64 coefficient, i64 *size, const char *says) {
  const i64 right = length - rest;
  if (!coefficient || right % coefficient || right / coefficient < 0)
    remc_usage("U0009", "the input `%s` wants %s: %s %lld", input->name, input->type, says, (long long)length);
  *size = right / coefficient;
}

[[maybe_unused]] static void remc_same_size(const remc_input *input, i64 length, i64 wanted, const char *says) {
  if (length != wanted)
    remc_usage("U0009", "the input `%s` wants %s, where %s is %lld, and was given an axis of length %lld", input->name, input->type, says,
               (long long)wanted, (long long)length);
}

// A size on its own: what is known of it, or learnt now.
[[maybe_unused]] static void remc_bare_size(const remc_input *input, i64 length, i64 *size, const char *says) {
  if (*size < 0) *size = length;
  remc_same_size(input, length, *size, says);
}
