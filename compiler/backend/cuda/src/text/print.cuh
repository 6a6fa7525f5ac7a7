// ---- the program: the value, as text that reads back ----

// The value: the words of the run, and the arrays on the host, by the number of their part.
struct remc_value {
  const u64 *params, *results;
  const void *const *data;
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
  const u32 me = (u32)(part - remc_output_parts);
  for (u32 field = me + 1; field < part->next; field = remc_output_parts[field].next)
    if (!remc_output_parts[field].label) return false;
  return part->next > me + 1;
}

static u32 remc_axes(const remc_output_part *part) { return part->rank < 0 ? 0 : (u32)part->rank; }

// Where the dims of a part are.
static const u64 *remc_dims_of_part(const remc_value *v, const remc_output_part *part) {
  return v->results + part->word + (part->kind == '[' ? 1 : 0);
}

// The type of a part's atoms, with the shapes that its fields have.
static void remc_put_type(const remc_value *v, const remc_output_part *part) {
  if (part->kind == '[') {
    fputs(remc_names[part->type], v->out);
    return;
  }
  const bool is_record = remc_is_record(part);
  fputs(is_record ? "(Record" : "(Tuple", v->out);
  const u32 me = (u32)(part - remc_output_parts);
  for (u32 at = me + 1; at < part->next; at = remc_output_parts[at].next) {
    const remc_output_part *field = remc_output_parts + at;
    fputc(' ', v->out);
    if (field->label) fprintf(v->out, "(%s ", field->label);
    const bool is_array = remc_axes(field) > remc_axes(part);
    if (is_array) fputc('[', v->out);
    remc_put_type(v, field);
    for (u32 i = remc_axes(part); i < remc_axes(field); ++i) fprintf(v->out, " %llu", remc_dims_of_part(v, field)[i]);
    if (is_array) fputc(']', v->out);
    if (field->label) fputc(')', v->out);
  }
  fputc(')', v->out);
}

static void remc_put(const remc_value *v, const remc_output_part *part, u32 outer, u64 from);

// The atom number `at` of a part.
static void remc_put_atom(const remc_value *v, const remc_output_part *part, u64 at) {
  const u32 me = (u32)(part - remc_output_parts);
  if (part->kind == '[') {
    const void *scalar = part->rank < 0 ? (const void *)(v->results + part->word)
                                        : (const u8 *)v->data[me] + at * remc_type_bytes[part->type];
    remc_put_scalar(v->out, part->type, scalar);
    return;
  }
  const bool is_record = remc_is_record(part);
  fputs(is_record ? "(record" : "(values", v->out);
  for (u32 field = me + 1; field < part->next; field = remc_output_parts[field].next) {
    fputc(' ', v->out);
    if (is_record) fprintf(v->out, "(%s ", remc_output_parts[field].label);
    remc_put(v, remc_output_parts + field, remc_axes(part), at);
    if (is_record) fputc(')', v->out);
  }
  fputc(')', v->out);
}

// The array of the atoms from `at` on; a vector of characters is a string.
static void remc_put_nested(const remc_value *v, const remc_output_part *part, u32 axis, u64 at) {
  const u32 rank = remc_axes(part);
  if (axis == rank) {
    remc_put_atom(v, part, at);
    return;
  }
  const u64 *dims = remc_dims_of_part(v, part);
  if (axis + 1 == rank && part->kind == '[' && part->type == REMC_CHAR) {
    remc_put_string(v->out, (const u32 *)v->data[part - remc_output_parts] + at, dims[axis]);
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

// A part of the value: cell number `from` of an array that has `outer` axes around it.
static void remc_put(const remc_value *v, const remc_output_part *part, u32 outer, u64 from) {
  if (part->kind == '#') {
    part->box(v->out, v->params, v->results);
    remc_put(v, part + 1, 0, 0);
    fputc(')', v->out);
    return;
  }
  const u32 rank = remc_axes(part);
  const u64 *dims = remc_dims_of_part(v, part);
  u64 count = 1;
  for (u32 i = outer; i < rank; ++i) count *= dims[i];
  if (count != 0) {
    remc_put_nested(v, part, outer, from * count);
    return;
  }
  // No brackets can say the type or the axes behind an axis of size 0.
  if (part->kind == '[' && part->type == REMC_CHAR && rank == outer + 1) {
    fputs("\"\"", v->out);
    return;
  }
  fputs("(array [", v->out);
  for (u32 i = outer; i < rank; ++i) fprintf(v->out, i > outer ? " %llu" : "%llu", dims[i]);
  fputs("] ", v->out);
  remc_put_type(v, part);
  fputc(')', v->out);
}
