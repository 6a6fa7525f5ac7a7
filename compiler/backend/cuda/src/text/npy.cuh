// ---- the program: .npy files, versions 1 to 3 of the format ----

[[noreturn]] static void remc_bad_file(const char *path, const char *name, const char *why) {
  remc_usage("U0008", "cannot read `%s` for the input `%s`: %s", path, name, why);
}

static const char *remc_after_spaces(const char *at) {
  while (remc_is_space(*at)) ++at;
  return at;
}

// Whether the header goes on with these words, which are then skipped.
static bool remc_eat(const char **at, const char *words) {
  const char *from = remc_after_spaces(*at);
  if (strncmp(from, words, strlen(words)) != 0) return false;
  *at = from + strlen(words);
  return true;
}

// A quoted text; null if there is none. It is ended where its closing quote was.
static const char *remc_quoted(char **at) {
  char *from = (char *)remc_after_spaces(*at);
  if (*from != '\'' && *from != '"') return 0;
  char *end = strchr(from + 1, *from);
  if (!end) return 0;
  *end = 0;
  *at = end + 1;
  return from + 1;
}

// The type of a dtype such as <f4, or -1.
static i32 remc_dtype(const char *descr, bool *is_big) {
  static const char *const kinds[] = {"b1", "", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"};
  *is_big = *descr == '>';
  if (*descr && strchr("<>|=", *descr)) ++descr;
  if (strcmp(descr, "?") == 0) return REMC_BOOL;
  for (i32 i = 0; i <= REMC_F64; ++i)
    if (*kinds[i] && strcmp(descr, kinds[i]) == 0) return i;
  return -1;
}

// What a header says: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
static const char *remc_npy_header(char *text, i32 *type, bool *is_big, bool *is_fortran, remc_shape *shape) {
  bool has_type = false, has_order = false, has_shape = false;
  const char *const damaged = "its header is damaged";
  char *at = text;
  if (!remc_eat((const char **)&at, "{")) return damaged;
  while (!remc_eat((const char **)&at, "}")) {
    const char *key = remc_quoted(&at);
    if (!key || !remc_eat((const char **)&at, ":")) return damaged;
    if (strcmp(key, "descr") == 0) {
      const char *descr = remc_quoted(&at);
      *type = descr ? remc_dtype(descr, is_big) : -1;
      if (*type < 0)
        return "its dtype has no Remora type (bool, int8 … int64, uint8 … uint64, float16, float32 and float64 have)";
      has_type = true;
    } else if (strcmp(key, "fortran_order") == 0) {
      *is_fortran = remc_eat((const char **)&at, "True");
      if (!*is_fortran && !remc_eat((const char **)&at, "False")) return damaged;
      has_order = true;
    } else if (strcmp(key, "shape") == 0) {
      if (!remc_eat((const char **)&at, "(")) return damaged;
      while (!remc_eat((const char **)&at, ")")) {
        at = (char *)remc_after_spaces(at);
        char *end = at;
        errno = 0;
        const u64 n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (end == at || errno || n >> 63 || shape->rank == REMC_MOST_AXES) return damaged;
        shape->at[shape->rank++] = (i64)n;
        at = *end == 'L' ? end + 1 : end;
        if (!remc_eat((const char **)&at, ",") && *remc_after_spaces(at) != ')') return damaged;
      }
      has_shape = true;
    } else {
      return damaged;
    }
    if (!remc_eat((const char **)&at, ",") && *remc_after_spaces(at) != '}') return damaged;
  }
  return *remc_after_spaces(at) || !has_type || !has_order || !has_shape ? damaged : 0;
}

// The elements whose first axis varies fastest, in the order in which the last one does.
static void remc_row_major(const u8 *from, u64 width, const remc_shape *shape, u8 *to, u64 count) {
  u64 steps[REMC_MOST_AXES], step = 1, next = 0;
  i64 at[REMC_MOST_AXES] = {};
  for (u32 i = 0; i < shape->rank; ++i) {
    steps[i] = step;
    step *= (u64)shape->at[i];
  }
  for (u64 i = 0; i < count; ++i) {
    memcpy(to + i * width, from + next * width, width);
    for (u32 axis = shape->rank; axis-- > 0;) {
      next += steps[axis];
      if (++at[axis] < shape->at[axis]) break;
      next -= steps[axis] * (u64)shape->at[axis];
      at[axis] = 0;
    }
  }
}

// Reads a file as an array; its elements go to `to`, little-endian and in row-major order.
static void remc_read_npy(const remc_input *input, const char *path, i32 wanted, remc_text *to, remc_shape *shape) {
  const char *name = input->name;
  FILE *file = fopen(path, "rb");
  if (!file) remc_bad_file(path, name, strerror(errno));
  u8 start[12];
  if (fread(start, 1, 8, file) != 8 || memcmp(start, "\x93NUMPY", 6) != 0)
    remc_bad_file(path, name, "it is not an .npy file (its first bytes are not \\x93NUMPY)");
  const u64 width = start[6] == 1 ? 2 : 4;
  if (start[6] < 1 || start[6] > 3 || start[7] != 0) remc_bad_file(path, name, "its format version is none of 1.0, 2.0 and 3.0");
  if (fread(start + 8, 1, width, file) != width) remc_bad_file(path, name, "its header is damaged: the file ends in it");
  u64 length = 0;
  for (u64 i = width; i-- > 0;) length = length << 8 | start[8 + i];
  char *header = length > 1 << 20 ? 0 : (char *)malloc(length + 1);
  if (!header || fread(header, 1, length, file) != length) remc_bad_file(path, name, "its header is damaged");
  header[length] = 0;
  i32 type = -1;
  bool is_big = false, is_fortran = false;
  const char *why = strlen(header) != length ? "its header is damaged" : remc_npy_header(header, &type, &is_big, &is_fortran, shape);
  if (why) remc_bad_file(path, name, why);
  free(header);
  if (type != wanted)
    remc_usage("U0009", "the input `%s` wants %s and was given a file of %s", name, input->type, remc_names[type]);
  u64 count = 0;
  const u64 size = remc_type_bytes[type];
  if (!remc_product(shape->rank, shape->at, &count) || count > ~(u64)0 / 16)
    remc_bad_file(path, name, "its header is damaged: the product of the shape is too large");
  // As much as there is, so that a damaged header cannot ask for memory.
  char part[1 << 14];
  for (u64 n; (n = fread(part, 1, sizeof part, file)) > 0;) {
    remc_append(to, part, n);
    if (to->length > count * size) remc_bad_file(path, name, "there is more data than its shape needs");
  }
  if (ferror(file)) remc_bad_file(path, name, strerror(errno));
  fclose(file);
  if (to->length < count * size) remc_bad_file(path, name, "it is truncated: there is less data than its shape needs");
  u8 *data = (u8 *)to->at;
  if (type == REMC_BOOL)
    for (u64 i = 0; i < count; ++i)
      if (data[i] > 1) remc_bad_file(path, name, "an element of its bool array is neither 0 nor 1");
  if (is_big)
    for (u64 i = 0; i < count; ++i)
      for (u64 a = 0, b = size - 1; a < b; ++a, --b) {
        const u8 byte = data[i * size + a];
        data[i * size + a] = data[i * size + b];
        data[i * size + b] = byte;
      }
  if (is_fortran && shape->rank > 1 && count > 0) {
    u8 *rows = (u8 *)malloc(count * size);
    if (!rows) remc_bad_file(path, name, "this machine has no memory for it");
    remc_row_major(data, size, shape, rows, count);
    memcpy(data, rows, count * size);
    free(rows);
  }
}

// Writes an array.
static bool remc_write_npy(FILE *out, i32 type, u32 rank, const u64 *dims, const void *data) {
  static const char *const descrs[] = {"|b1", "", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"};
  remc_text header = {0, 0, 0};
  char text[96];
  snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descrs[type]);
  remc_append(&header, text, strlen(text));
  u64 bytes = remc_type_bytes[type];
  for (u32 i = 0; i < rank; ++i) {
    bytes *= dims[i];
    // A tuple of one has a comma.
    snprintf(text, sizeof text, rank == 1 ? "%llu," : i + 1 < rank ? "%llu, " : "%llu", dims[i]);
    remc_append(&header, text, strlen(text));
  }
  remc_append(&header, "), }", 4);
  // The data begins at a multiple of 64; the header ends in a line end.
  const bool is_long = header.length + 1 + 10 + 63 >= 1 << 16;
  const u64 before = is_long ? 12 : 10;
  while ((before + header.length + 1) % 64 != 0) remc_append(&header, " ", 1);
  remc_append(&header, "\n", 1);
  u8 start[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (u8)(is_long ? 2 : 1), 0};
  for (u64 i = 8; i < before; ++i) start[i] = (u8)(header.length >> 8 * (i - 8));
  const bool done = fwrite(start, 1, before, out) == before && fwrite(header.at, 1, header.length, out) == header.length &&
                    fwrite(data, 1, bytes, out) == bytes;
  free(header.at);
  return done;
}
