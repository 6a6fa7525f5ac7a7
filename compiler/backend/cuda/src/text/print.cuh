// ---- the program: the value, as text that reads back ----

// Where a part is: in boxes, in the one at hand.
struct remc_view {
  const u64 *dims;
  u64 first;  // of its elements or boxes
  u32 rank;
};

// The dims of a part whose type says them.
struct remc_room {
  u64 *at;
  u64 size;
};

// The value: the words of the run, the arrays on the host by the number of the result, and what is open.
struct remc_value {
  const u64 *params, *results;
  const void *const *data;
  i64 *witnesses;
  remc_axes *shapes;
  remc_view *views;  // by part
  remc_room *rooms;  // by part
  FILE *out;
};

static void remc_put_char(FILE *out, u32 c) {
  if (c < 0x80) {
    fputc((int)c, out);
    return;
  }
  const u32 more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const u32 lead[] = {0, 0xc0, 0xe0, 0xf0};
  fputc((int)(lead[more] | c >> 6 * more), out);
  for (u32 i = more; i-- > 0;) fputc((int)(0x80 | (c >> 6 * i & 0x3f)), out);
}

// Whether a character shows as itself on any terminal.
static bool remc_shows(u32 c) {
  static const u32 hidden[][2] = {{0, 0x20}, {0x7f, 0xa0}, {0xad, 0xad}, {0x300, 0x36f}, {0x1680, 0x1680}, {0x2000, 0x200f},
                                  {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0xe000, 0xf8ff},
                                  {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xe0000, 0x10ffff}};
  for (const auto &range : hidden)
    if (c >= range[0] && c <= range[1]) return false;
  return true;
}

static void remc_put_scalar(FILE *out, i32 type, const void *at) {
  char text[48];
  switch (type) {
    case REMC_BOOL: fputs(*(const u8 *)at ? "#t" : "#f", out); break;
    case REMC_CHAR: {
      const u32 c = *(const u32 *)at;
      if (remc_shows(c)) {
        fputs("#\\", out);
        remc_put_char(out, c);
      } else if (c == ' ' || c == '\n' || c == '\t') {
        fputs(c == ' ' ? "#\\space" : c == '\n' ? "#\\newline" : "#\\tab", out);
      } else {
        fprintf(out, "#\\x%x", c);
      }
      break;
    }
    case REMC_I8: fprintf(out, "%d", *(const i8 *)at); break;
    case REMC_I16: fprintf(out, "%d", *(const i16 *)at); break;
    case REMC_I32: fprintf(out, "%d", *(const i32 *)at); break;
    case REMC_I64: fprintf(out, "%lld", *(const i64 *)at); break;
    case REMC_U8: fprintf(out, "%u", *(const u8 *)at); break;
    case REMC_U16: fprintf(out, "%u", *(const u16 *)at); break;
    case REMC_U32: fprintf(out, "%u", *(const u32 *)at); break;
    case REMC_U64: fprintf(out, "%llu", *(const u64 *)at); break;
    case REMC_F16: fputs(remc_half_text(*(const u16 *)at, text), out); break;
    case REMC_F32: fputs(remc_float_text(*(const f32 *)at, text), out); break;
    default: fputs(remc_float_text(*(const f64 *)at, text), out);
  }
}

static void remc_put_string(FILE *out, const u32 *at, u64 count) {
  fputc('"', out);
  for (u64 i = 0; i < count; ++i) {
    const u32 c = at[i];
    if (c == '"' || c == '\\') fprintf(out, "\\%c", (int)c);
    else if (c == '\n' || c == '\t' || c == '\r') fputs(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", out);
    else if (c == ' ' || remc_shows(c)) remc_put_char(out, c);
    else fprintf(out, "\\x%x;", c);
  }
  fputc('"', out);
}

static bool remc_is_record(const remc_output_part *part) {
  const u32 me = (u32)(part - remc_this->output_parts);
  for (u32 field = me + 1; field < part->next; field = remc_this->output_parts[field].next)
    if (!remc_this->output_parts[field].label) return false;
  return part->next > me + 1;
}

static remc_view *remc_view_of(const remc_value *v, const remc_output_part *part) {
  return v->views + (part - remc_this->output_parts);
}

// Element `at` of a result that holds sizes or starts.
static u64 remc_number(const remc_value *v, u32 result, u64 at) {
  const remc_result *r = remc_this->results + result;
  return r->rank < 0 ? v->results[r->word] : ((const u64 *)v->data[result])[at];
}

// Finds the parts whose dims are among the results.
static void remc_view_all(const remc_value *v, u32 parts) {
  for (u32 k = 0; k < parts; ++k) {
    const remc_output_part *part = remc_this->output_parts + k;
    const u64 *words = part->result < 0 ? v->results : v->results + remc_this->results[part->result].word;
    const remc_view view = {words + (part->kind == '[' ? 1 : 0), 0, part->rank};
    if (part->dim < 0) v->views[k] = view;
  }
}

// Finds a part of the contents of box number `at`; the tuples that it is in have `outer` axes.
static void remc_view_contents(const remc_value *v, const remc_output_part *part, u32 outer, const u64 *dims, u64 at) {
  if (part->dim < 0) return;
  const u32 me = (u32)(part - remc_this->output_parts);
  remc_room *room = v->rooms + me;
  u64 rank = outer;
  for (u32 i = 0; i < part->axes; ++i) {
    const remc_axes *shape = remc_this->axes_of((u32)part->dim + i, v->shapes);
    rank += shape ? shape->rank : 1;
  }
  if (rank >= room->size) {
    room->size = rank + 1;
    room->at = (u64 *)realloc(room->at, room->size * sizeof *room->at);
    if (!room->at) remc_usage("U0010", "cannot write the value: there is no memory for a shape of %llu axes", rank);
  }
  u64 *own = room->at, *next = own;
  for (u32 i = 0; i < outer; ++i) *next++ = dims[i];
  for (u32 i = 0; i < part->axes; ++i) {
    const remc_axes *shape = remc_this->axes_of((u32)part->dim + i, v->shapes);
    if (!shape) *next++ = (u64)remc_this->dim((u32)part->dim + i, v->params, v->witnesses, v->shapes);
    for (u64 k = 0; shape && k < shape->rank; ++k) *next++ = (u64)shape->at[k];
  }
  const remc_view view = {own, part->starts < 0 ? at : remc_number(v, (u32)part->starts, at), (u32)rank};
  v->views[me] = view;
  if (part->kind != '(') return;
  for (u32 field = me + 1; field < part->next; field = remc_this->output_parts[field].next)
    remc_view_contents(v, remc_this->output_parts + field, (u32)rank, own, at);
}

// Opens box number `at` of some boxes.
static void remc_open_box(const remc_value *v, const remc_output_part *part, u64 at) {
  const remc_box *box = part->box;
  for (u32 k = box->witness; k < box->witness + box->count; ++k) v->witnesses[k] = (i64)remc_number(v, remc_this->witnesses[k], at);
  for (u32 k = box->shape; k < box->shape + box->shapes; ++k) {
    const remc_hidden_shape *shape = remc_this->hidden_shapes + k;
    const i64 *dims = (const i64 *)v->data[shape->dims];
    const bool is_one = shape->ranks < 0;
    const u64 rank = is_one ? v->results[remc_this->results[shape->dims].word + 1] : remc_number(v, (u32)shape->ranks, at);
    const remc_axes found = {is_one ? dims : dims + remc_number(v, (u32)shape->starts, at), rank};
    v->shapes[k] = found;
  }
  remc_view_contents(v, part + 1, 0, 0, at);
}

// What a slot of a text stands for, from behind its brace on; what is behind the slot.
static const char *remc_put_slot(const remc_value *v, const char *text) {
  const char kind = *text == ' ' || *text == '[' || *text == ']' ? *text++ : 0;
  u64 axes = 0;
  for (;; ++text) {
    char *end = 0;
    const u32 number = (u32)strtoul(text, &end, 10);
    const remc_axes *shape = remc_this->axes_of(number, v->shapes);
    if (!shape) fprintf(v->out, "%lld", remc_this->dim(number, v->params, v->witnesses, v->shapes));
    axes += shape ? shape->rank : 1;
    const bool shows = shape && kind != '[' && kind != ']';
    for (u64 i = 0; shows && i < shape->rank; ++i) fprintf(v->out, kind || i > 0 ? " %lld" : "%lld", shape->at[i]);
    text = end;
    if (*text != ',') break;
  }
  if (axes > 0 && (kind == '[' || kind == ']')) fputc(kind, v->out);
  return text + 1;
}

// A text with slots in it.
static void remc_put_text(const remc_value *v, const char *text) {
  while (*text) {
    if (*text == '{') text = remc_put_slot(v, text + 1);
    else fputc(*text++, v->out);
  }
}

// The type of a part's atoms, with the shapes that its fields have.
static void remc_put_type(const remc_value *v, const remc_output_part *part) {
  if (part->kind == '[') {
    fputs(remc_names[remc_this->results[part->result].type], v->out);
    return;
  }
  if (part->kind == '#' || part->kind == 'f') {
    remc_put_text(v, part->box->type);
    return;
  }
  const bool is_record = remc_is_record(part);
  fputs(is_record ? "(Record" : "(Tuple", v->out);
  const u32 me = (u32)(part - remc_this->output_parts);
  for (u32 at = me + 1; at < part->next; at = remc_this->output_parts[at].next) {
    const remc_output_part *field = remc_this->output_parts + at;
    fputc(' ', v->out);
    if (field->label) fprintf(v->out, "(%s ", field->label);
    const u32 outer = remc_view_of(v, part)->rank, rank = remc_view_of(v, field)->rank;
    const bool is_array = rank > outer;
    if (is_array) fputc('[', v->out);
    remc_put_type(v, field);
    for (u32 i = outer; i < rank; ++i) fprintf(v->out, " %llu", remc_view_of(v, field)->dims[i]);
    if (is_array) fputc(']', v->out);
    if (field->label) fputc(')', v->out);
  }
  fputc(')', v->out);
}

static void remc_put(const remc_value *v, const remc_output_part *part, u32 outer, u64 from);

// The atom number `at` of a part.
static void remc_put_atom(const remc_value *v, const remc_output_part *part, u64 at) {
  const u32 me = (u32)(part - remc_this->output_parts);
  if (part->kind == '[') {
    const remc_result *r = remc_this->results + part->result;
    const u64 place = remc_view_of(v, part)->first + at;
    const void *scalar = r->rank < 0 ? (const void *)(v->results + r->word)
                                     : (const u8 *)v->data[part->result] + place * remc_type_bytes[r->type];
    remc_put_scalar(v->out, r->type, scalar);
    return;
  }
  if (part->kind == 'f') {
    fputs("#<function>", v->out);
    return;
  }
  if (part->kind == '#') {
    remc_open_box(v, part, remc_view_of(v, part)->first + at);
    remc_put_text(v, part->box->one);
    remc_put(v, part + 1, 0, 0);
    fputc(')', v->out);
    return;
  }
  const bool is_record = remc_is_record(part);
  fputs(is_record ? "(record" : "(values", v->out);
  for (u32 field = me + 1; field < part->next; field = remc_this->output_parts[field].next) {
    fputc(' ', v->out);
    if (is_record) fprintf(v->out, "(%s ", remc_this->output_parts[field].label);
    remc_put(v, remc_this->output_parts + field, remc_view_of(v, part)->rank, at);
    if (is_record) fputc(')', v->out);
  }
  fputc(')', v->out);
}

// The array of the atoms from `at` on; a vector of characters is a string.
static void remc_put_nested(const remc_value *v, const remc_output_part *part, u32 axis, u64 at) {
  const remc_view *view = remc_view_of(v, part);
  const u32 rank = view->rank;
  if (axis == rank) {
    remc_put_atom(v, part, at);
    return;
  }
  const u64 *dims = view->dims;
  if (axis + 1 == rank && part->kind == '[' && remc_this->results[part->result].type == REMC_CHAR) {
    remc_put_string(v->out, (const u32 *)v->data[part->result] + view->first + at, dims[axis]);
    return;
  }
  u64 size = 1;
  for (u32 i = axis + 1; i < rank; ++i) size *= dims[i];
  fputc('[', v->out);
  for (u64 i = 0; i < dims[axis]; ++i) {
    if (i > 0) fputc(' ', v->out);
    remc_put_nested(v, part, axis + 1, at + i * size);
  }
  fputc(']', v->out);
}

// The boxes from number `at` on, of `count` in all: `(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))`.
static void remc_put_boxes(const remc_value *v, const remc_output_part *part, u32 outer, u64 at, u64 count) {
  const remc_view *view = remc_view_of(v, part);
  remc_put_text(v, part->box->all);
  for (u32 i = outer; i < view->rank; ++i) fprintf(v->out, i > outer ? " %llu" : "%llu", view->dims[i]);
  fputc(']', v->out);
  for (u64 k = at; k < at + count; ++k) {
    remc_open_box(v, part, view->first + k);
    fputs(" ((", v->out);
    remc_put_text(v, part->box->row);
    fputs(") ", v->out);
    remc_put(v, part + 1, 0, 0);
    fputc(')', v->out);
  }
  fputc(')', v->out);
}

// A part of the value: cell number `from` of an array that has `outer` axes around it.
static void remc_put(const remc_value *v, const remc_output_part *part, u32 outer, u64 from) {
  const u32 rank = remc_view_of(v, part)->rank;
  const u64 *dims = remc_view_of(v, part)->dims;
  u64 count = 1;
  for (u32 i = outer; i < rank; ++i) count *= dims[i];
  if (count != 0 && part->kind == '#' && rank > outer) {
    remc_put_boxes(v, part, outer, from * count, count);
    return;
  }
  if (count != 0) {
    remc_put_nested(v, part, outer, from * count);
    return;
  }
  // No brackets can say the type or the axes behind an axis of size 0.
  if (part->kind == '[' && remc_this->results[part->result].type == REMC_CHAR && rank == outer + 1) {
    fputs("\"\"", v->out);
    return;
  }
  fputs("(array [", v->out);
  for (u32 i = outer; i < rank; ++i) fprintf(v->out, i > outer ? " %llu" : "%llu", dims[i]);
  fputs("] ", v->out);
  remc_put_type(v, part);
  fputc(')', v->out);
}
