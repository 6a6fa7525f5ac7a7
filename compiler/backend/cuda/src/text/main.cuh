// ---- the program: its command line ----

static void remc_list_entries(FILE *out) {
  for (u32 k = 0; k < remc_program_count; ++k) fprintf(out, k ? ", `%s`" : "`%s`", remc_programs[k]->about->name);
}

static void remc_help(FILE *out, const char *program) {
  const bool one = remc_program_count == 1;
  fprintf(out, one ? "Runs the entry " : "Runs one of the entries ");
  remc_list_entries(out);
  fprintf(out,
          " on a GPU and prints its value.\n\n"
          "Usage: %s %s [--input NAME=VALUE]... [--output PATH]\n\n"
          "  --entry NAME         the entry; %s\n"
          "  --input NAME=VALUE   a parameter: the path of an .npy file, or a Remora literal\n"
          "  -o, --output PATH    write the value here: as an array if the name ends in .npy, else as text\n"
          "  --threshold NAME=N   choose between versions by another value of a threshold, or of all of a kind;\n"
          "                       NAME=always and NAME=never keep one of the versions\n"
          "  --tuning FILE        take the values that `remc autotune` has written; a --threshold goes before them\n"
          "  --manifest           print what the program takes and gives, as JSON\n",
          program, one ? "[--entry NAME]" : "--entry NAME", one ? "this program has one" : "this program has several");
  for (u32 k = 0; k < remc_program_count; ++k) {
    const remc_program *of = remc_programs[k];
    if (one) fputs("\nInputs:\n", out);
    else fprintf(out, "\nInputs of `%s`:\n", of->about->name);
    for (const remc_input *input = of->inputs; input->name; ++input) fprintf(out, "  %s, of type %s\n", input->name, input->type);
    if (!of->inputs->name) fputs("  none\n", out);
    if (!of->about->threshold_count) continue;
    if (one) fputs("\nThresholds:\n", out);
    else fprintf(out, "\nThresholds of `%s`:\n", of->about->name);
    for (u32 i = 0; i < of->about->threshold_count; ++i) {
      const remc_threshold *threshold = of->about->thresholds + i;
      if (threshold->value == 0) fprintf(out, "  %s=always\n", threshold->name);
      else if (threshold->value == 0x7fffffffffffffffll) fprintf(out, "  %s=never\n", threshold->name);
      else fprintf(out, "  %s=%lld\n", threshold->name, threshold->value);
    }
  }
}

// Finds the entry that is named, or the only one.
static const remc_program *remc_find_entry(const char *name) {
  if (!name && remc_program_count == 1) return remc_programs[0];
  for (u32 k = 0; name && k < remc_program_count; ++k)
    if (strcmp(name, remc_programs[k]->about->name) == 0) return remc_programs[k];
  if (name) fprintf(stderr, "error[U0003]: there is no entry `%s`: this program's %s ", name, remc_program_count == 1 ? "is" : "are");
  else fputs("error[U0004]: this program has several entries: choose one with --entry: ", stderr);
  remc_list_entries(stderr);
  fputc('\n', stderr);
  exit(2);
}

// So many of something, all zero; they are kept to the end.
template <class T> static T *remc_room_for(u64 count) {
  T *room = (T *)calloc(count + 1, sizeof(T));
  if (!room) remc_usage("U0008", "this machine has no memory for the inputs");
  return room;
}

static bool remc_ends(const char *path, const char *ending) {
  const u64 n = strlen(path), m = strlen(ending);
  if (n < m) return false;
  for (u64 i = 0; i < m; ++i) {
    const char c = path[n - m + i];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != ending[i]) return false;
  }
  return true;
}

// The value of an option: behind a =, or the next argument.
static const char *remc_option(const char *name, int argc, char **argv, int *at) {
  const u64 length = strlen(name);
  if (strncmp(argv[*at], name, length) != 0) return 0;
  if (argv[*at][length] == '=') return argv[*at] + length + 1;
  if (argv[*at][length]) return 0;
  if (*at + 1 == argc) remc_usage("U0004", "%s wants a value", name);
  return argv[++*at];
}

static void remc_wants_shape(const remc_input *input, const remc_shape *found) {
  remc_text shown = {0, 0, 0};
  remc_append(&shown, "", 0);
  for (u32 i = 0; i < found->rank; ++i) {
    char number[32];
    snprintf(number, sizeof number, i ? " %lld" : "%lld", found->at[i]);
    remc_append(&shown, number, strlen(number));
  }
  remc_usage("U0009", "the input `%s` wants %s and was given an array of shape [%s]", input->name, input->type, shown.at);
}

// Compares the shape of a leaf with what is known of the sizes, or learns them from it.
static void remc_learn(const remc_input *input, const remc_leaf *leaf, const remc_shape *shape, i64 *sizes) {
  if (shape->rank != leaf->rank) remc_wants_shape(input, shape);
  for (u32 i = 0; i < leaf->rank; ++i) {
    const i64 dim = leaf->dims[i];
    if (dim < 0 && sizes[-1 - dim] < 0) sizes[-1 - dim] = shape->at[i];
    if (shape->at[i] != (dim < 0 ? sizes[-1 - dim] : dim)) remc_wants_shape(input, shape);
  }
}

static void remc_learn_contents(const remc_input *input, u32 at, const remc_shape *frame, remc_reading *read, i64 *sizes);

// The shapes of the leaves of boxes in a frame.
static void remc_learn_boxes(const remc_input *input, u32 at, const remc_shape *frame, remc_reading *read, i64 *sizes) {
  const remc_input_part *part = remc_this->input_parts + at;
  for (u32 k = part->witness; k < part->witness + part->count; ++k) {
    const remc_leaf *leaf = remc_this->leaves + remc_this->hidden[k].leaf;
    remc_learn(input, leaf, frame, sizes);
    if (remc_this->hidden[k].is_shape) remc_learn(input, leaf + 1, frame, sizes);
  }
  remc_learn_contents(input, at + 1, frame, read, sizes);
}

static void remc_learn_contents(const remc_input *input, u32 at, const remc_shape *frame, remc_reading *read, i64 *sizes) {
  const remc_input_part *part = remc_this->input_parts + at;
  remc_shape line;
  line.rank = 1;
  if (part->starts >= 0) remc_learn(input, remc_this->leaves + part->starts, frame, sizes);
  if (part->kind == '[') {
    const remc_leaf *leaf = remc_this->leaves + part->leaf;
    line.at[0] = (i64)(read->leaves[part->leaf].length / remc_type_bytes[leaf->type]);
    remc_learn(input, leaf, &line, sizes);
  } else if (part->kind == '#') {
    line.at[0] = read->cells[at].boxes;
    remc_learn_boxes(input, at, part->starts < 0 ? frame : &line, read, sizes);
  } else {
    for (u32 field = at + 1; field < part->next; field = remc_this->input_parts[field].next)
      remc_learn_contents(input, field, frame, read, sizes);
  }
}

// Puts the shapes of an input's leaves together, which have those of all that they are in in front.
static void remc_learn_all(const remc_input *input, u32 at, const remc_shape *shape, remc_reading *read, i64 *sizes) {
  const remc_input_part *part = remc_this->input_parts + at;
  if (part->kind == '#') {
    remc_learn_boxes(input, at, shape, read, sizes);
    return;
  }
  if (part->kind == '[') {
    remc_learn(input, remc_this->leaves + part->leaf, shape, sizes);
    return;
  }
  for (u32 field = at + 1; field < part->next; field = remc_this->input_parts[field].next) {
    const remc_cell *cell = &read->cells[field];
    remc_shape whole = *shape;
    // Of an array without elements nobody has seen the cells: they are what the type says.
    const u32 axes = cell->is_known ? cell->shape.rank : remc_this->input_parts[field].axes;
    for (u32 i = 0; i < axes && whole.rank < REMC_MOST_AXES; ++i) {
      u32 first = field;
      while (remc_this->input_parts[first].kind == '(' && first + 1 < part->next) ++first;
      const bool has_leaf = remc_this->input_parts[first].kind != '(';
      const i64 dim = has_leaf ? remc_this->leaves[remc_this->input_parts[first].leaf].dims[whole.rank] : 0;
      const i64 declared = dim >= 0 ? dim : sizes[-1 - dim] >= 0 ? sizes[-1 - dim] : 0;
      whole.at[whole.rank++] = cell->is_known ? cell->shape.at[i] : declared;
    }
    remc_learn_all(input, field, &whole, read, sizes);
  }
}

static void remc_read_input(const remc_input *input, const char *value, remc_reading *to, i64 *sizes) {
  remc_shape shape;
  shape.rank = 0;
  const remc_input_part *part = remc_this->input_parts + input->part;
  if (remc_ends(value, ".npy")) {
    if (part->kind != '[') remc_usage("U0009", "the input `%s` wants %s, which no .npy file holds", input->name, input->type);
    remc_read_npy(input, value, remc_this->leaves[part->leaf].type, &to->leaves[part->leaf], &shape);
  } else {
    remc_read_literal(input, value, to, &shape);
  }
  remc_learn_all(input, input->part, &shape, to, sizes);
}

// What boxes hide, of the boxes that are open: by hidden index.
struct remc_open {
  i64 *witnesses;
  remc_axes *shapes;  // without dims where they are not known
};

static void remc_check_boxes(const remc_input *input, u32 at, i64 count, remc_reading *read, i64 *sizes, const remc_open *open);

// Finds the hidden shapes in a type that are not known: they have the axes which the others leave.
static void remc_find_shapes(const remc_input *input, const remc_input_part *part, const i64 *shape, const remc_open *open) {
  i64 taken = 0, missing = 0;
  for (u32 i = 0; i < part->axes; ++i) {
    const i32 number = remc_this->boxed_shape((u32)part->dim + i);
    const bool is_known = number < 0 || open->shapes[number].at;
    missing += is_known ? 0 : 1;
    taken += number < 0 ? 1 : is_known ? (i64)open->shapes[number].rank : 0;
  }
  const i64 rest = shape[0] - taken;
  if (missing ? rest < 0 || rest % missing != 0 : rest != 0)
    remc_usage("U0009", "the input `%s` wants %s and was given contents of a box with %lld axes instead of %lld", input->name, input->type,
               (long long)shape[0], (long long)taken);
  const i64 *dims = shape + 1;
  for (u32 i = 0; i < part->axes; ++i) {
    const i32 number = remc_this->boxed_shape((u32)part->dim + i);
    if (number >= 0 && !open->shapes[number].at) {
      const remc_axes found = {dims, (u64)(rest / missing)};
      open->shapes[number] = found;
    }
    dims += number < 0 ? 1 : open->shapes[number].rank;
  }
}

// Compares the shape of what is in a box with its type, and learns the sizes that only boxes have.
static void remc_check_contents(const remc_input *input, u32 at, remc_reading *read, i64 *sizes, const remc_open *open) {
  const remc_input_part *part = remc_this->input_parts + at;
  remc_cell *cell = read->cells + at;
  const i64 *shape = (const i64 *)cell->shapes.at + cell->next_shape;
  cell->next_shape += 1 + (u64)shape[0];
  remc_find_shapes(input, part, shape, open);
  const i64 *dims = shape + 1;
  for (u32 i = 0; i < part->axes; ++i) {
    const i32 number = remc_this->boxed_shape((u32)part->dim + i);
    if (number < 0) remc_this->boxed_axis(input, (u32)part->dim + i, *dims++, sizes, open->witnesses, open->shapes);
    for (u64 k = 0; number >= 0 && k < open->shapes[number].rank; ++k)
      remc_same_size(input, *dims++, open->shapes[number].at[k], "an axis of its shape");
  }
  i64 count = 1;
  for (i64 i = 0; i < shape[0]; ++i) count *= shape[1 + i];
  if (part->kind == '#') remc_check_boxes(input, at, count, read, sizes, open);
  if (part->kind != '(') return;
  for (i64 k = 0; k < count; ++k)
    for (u32 field = at + 1; field < part->next; field = remc_this->input_parts[field].next)
      remc_check_contents(input, field, read, sizes, open);
}

// Keeps the shape of a box that has been compared with its type.
static void remc_keep_shape(u32 hidden, const remc_axes *shape, remc_reading *read) {
  remc_text *leaf = read->leaves + remc_this->hidden[hidden].leaf;
  const i64 rank = (i64)shape->rank, start = (i64)(leaf[2].length / sizeof(i64));
  remc_append(leaf, &rank, sizeof rank);
  remc_append(leaf + 1, &start, sizeof start);
  remc_append(leaf + 2, shape->at, shape->rank * sizeof *shape->at);
}

// The next boxes of a part.
static void remc_check_boxes(const remc_input *input, u32 at, i64 count, remc_reading *read, i64 *sizes, const remc_open *open) {
  const remc_input_part *part = remc_this->input_parts + at;
  const u32 first = part->witness, end = part->witness + part->count;
  for (i64 k = 0; k < count; ++k) {
    const i64 box = read->cells[at].opened++;
    for (u32 w = first; w < end; ++w) {
      if (!remc_this->hidden[w].is_shape) {
        open->witnesses[w] = ((const i64 *)read->leaves[remc_this->hidden[w].leaf].at)[box];
        continue;
      }
      const i64 *given = (const i64 *)read->shapes[w].at + read->next_shapes[w];
      const remc_axes shape = {*given < 0 ? 0 : given + 1, (u64)(*given < 0 ? 0 : *given)};
      read->next_shapes[w] += 1 + shape.rank;
      open->shapes[w] = shape;
    }
    // Boxes in the contents are kept behind this one: their shapes are in leaves of their own.
    remc_check_contents(input, at + 1, read, sizes, open);
    for (u32 w = first; w < end; ++w) {
      const bool is_shape = remc_this->hidden[w].is_shape;
      if (is_shape ? !open->shapes[w].at : open->witnesses[w] < 0)
        remc_usage("U0009", "the input `%s` wants %s and was given a box whose witnesses do not follow from its contents", input->name,
                   input->type);
      if (is_shape) remc_keep_shape(w, open->shapes + w, read);
      else ((i64 *)read->leaves[remc_this->hidden[w].leaf].at)[box] = open->witnesses[w];
    }
  }
}

// All boxes of an input that are in no box.
static void remc_check_input(const remc_input *input, u32 at, remc_reading *read, i64 *sizes, const remc_open *open) {
  const remc_input_part *part = remc_this->input_parts + at;
  if (part->kind == '#') remc_check_boxes(input, at, read->cells[at].boxes, read, sizes, open);
  if (part->kind != '(') return;
  for (u32 field = at + 1; field < part->next; field = remc_this->input_parts[field].next)
    remc_check_input(input, field, read, sizes, open);
}

// Writes the value under a temporary name, then renames it: a reader sees the old file or the new one.
static void remc_write(const remc_value *value, const char *path) {
  const remc_output_part *whole = remc_this->output_parts;
  const bool as_array = path && remc_ends(path, ".npy");
  const remc_result *elements = whole->kind == '[' ? remc_this->results + whole->result : 0;
  if (as_array && (!elements || elements->type == REMC_CHAR))
    remc_usage("U0010", "cannot write `%s`: an .npy file holds arrays of numbers and booleans alone", path);
  struct stat about;
  const bool in_place = path && stat(path, &about) == 0 && !S_ISREG(about.st_mode);
  // A link is followed: the file that it leads to is replaced.
  char *real = path ? realpath(path, 0) : 0;
  const char *target = real ? real : path;
  remc_text temporary = {0, 0, 0};
  remc_value to = *value;
  if (path) {
    char ending[48];
    snprintf(ending, sizeof ending, ".%ld.tmp", (long)getpid());
    remc_append(&temporary, target, strlen(target));
    if (!in_place) remc_append(&temporary, ending, strlen(ending));
    to.out = fopen(temporary.at, in_place ? "wb" : "wbx");
    if (!to.out) remc_usage("U0010", "cannot write `%s`: %s", path, strerror(errno));
  } else {
    to.out = stdout;
  }
  bool done = true;
  if (as_array) {
    const bool is_scalar = elements->rank < 0;
    const void *data = is_scalar ? (const void *)(to.results + elements->word) : to.data[whole->result];
    done = remc_write_npy(to.out, elements->type, whole->rank, to.views->dims, data);
  } else {
    remc_put(&to, whole, 0, 0);
    fputc('\n', to.out);
  }
  done = fflush(to.out) == 0 && !ferror(to.out) && done;
  if (path) {
    if (!in_place) done = done && fsync(fileno(to.out)) == 0;
    done = fclose(to.out) == 0 && done;
    if (!in_place) done = done && rename(temporary.at, target) == 0;
  }
  if (!done) {
    const int why = errno;
    if (path && !in_place) remove(temporary.at);
    remc_usage("U0010", "cannot write `%s`: %s", path ? path : "standard output", strerror(why));
  }
  free(temporary.at);
  free(real);
}

// Ends with the context's message.
static int remc_failed(remc_context *context) {
  const i32 code = remc_end(context);
  fprintf(stderr, "%s\n", remc_error(context));
  remc_context_free(context);
  return code;
}

// What a command line asks for.
struct remc_wanted {
  const char *entry, *output, *tuning;
  const char **inputs;  // NAME=VALUE
  u32 input_count;
};

// Reads the command line; false if there is nothing more to do.
static bool remc_read_arguments(int argc, char **argv, remc_wanted *to) {
  to->inputs = remc_room_for<const char *>((u64)argc);
  remc_settings = remc_room_for<remc_setting>((u64)argc);
  for (int at = 1; at < argc; ++at) {
    const char *value;
    if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
      remc_help(stdout, argv[0]);
      return false;
    }
    if (strcmp(argv[at], "--manifest") == 0) {
      fputs(remc_manifest_begins, stdout);
      for (u32 k = 0; k < remc_program_count; ++k) fprintf(stdout, k ? ",\n%s" : "%s", remc_programs[k]->about->manifest);
      fputs(remc_manifest_ends, stdout);
      return false;
    }
    if ((value = remc_option("--entry", argc, argv, &at))) {
      to->entry = value;
    } else if ((value = remc_option("--output", argc, argv, &at)) || (value = remc_option("-o", argc, argv, &at))) {
      to->output = value;
    } else if ((value = remc_option("--tuning", argc, argv, &at))) {
      to->tuning = value;
    } else if ((value = remc_option("--threshold", argc, argv, &at))) {
      remc_settings[remc_setting_count++] = remc_setting_of(value);
    } else if ((value = remc_option("--input", argc, argv, &at))) {
      to->inputs[to->input_count++] = value;
    } else {
      fprintf(stderr, "unknown argument `%s`\n\n", argv[at]);
      remc_help(stderr, argv[0]);
      exit(2);
    }
  }
  return true;
}

// The values of the entry's inputs.
static const char **remc_find_inputs(const remc_wanted *wanted) {
  const char **values = remc_room_for<const char *>(remc_this->input_count);
  const remc_input *inputs = remc_this->inputs;
  for (u32 n = 0; n < wanted->input_count; ++n) {
    const char *value = wanted->inputs[n], *equals = strchr(value, '=');
    const u64 length = equals ? (u64)(equals - value) : 0;
    if (!length) remc_usage("U0007", "`%s` is no input: write NAME=PATH or NAME=LITERAL, for example k=3", value);
    u32 k = 0;
    while (inputs[k].name && (strlen(inputs[k].name) != length || strncmp(inputs[k].name, value, length) != 0)) ++k;
    if (!inputs[k].name) remc_usage("U0006", "`%s` has no parameter `%.*s`", remc_this->about->name, (int)length, value);
    if (values[k]) remc_usage("U0006", "the input `%s` is given twice", inputs[k].name);
    values[k] = equals + 1;
  }
  return values;
}

int main(int argc, char **argv) {
  static remc_wanted wanted = {};
  if (!remc_read_arguments(argc, argv, &wanted)) return 0;
  remc_this = remc_find_entry(wanted.entry);
  static const char **values = remc_find_inputs(&wanted);
  const char *const name = remc_this->about->name;
  const remc_input *const inputs = remc_this->inputs;
  static remc_text *leaves = remc_room_for<remc_text>(remc_this->leaf_count);
  static remc_cell *cells = remc_room_for<remc_cell>(remc_this->input_part_count);
  static i64 *sizes = remc_room_for<i64>(remc_this->sizes);
  for (u32 k = 0; k < remc_this->sizes; ++k) sizes[k] = -1;
  static remc_text *shapes = remc_room_for<remc_text>(remc_this->hidden_count);
  static u64 *next_shapes = remc_room_for<u64>(remc_this->hidden_count);
  remc_reading reading = {leaves, cells, shapes, next_shapes};
  for (u32 k = 0; inputs[k].name; ++k) {
    if (!values[k]) remc_usage("U0005", "`%s` needs the input `%s`, of type %s", name, inputs[k].name, inputs[k].type);
    remc_read_input(inputs + k, values[k], &reading, sizes);
  }
  remc_this->solve(sizes);
  static i64 *hidden = remc_room_for<i64>(remc_this->hidden_count);
  static remc_axes *hidden_shapes = remc_room_for<remc_axes>(remc_this->hidden_count);
  const remc_open open = {hidden, hidden_shapes};
  for (u32 k = 0; inputs[k].name; ++k) remc_check_input(inputs + k, inputs[k].part, &reading, sizes, &open);
  for (u32 k = 0; k < remc_this->hidden_count; ++k) {
    if (!remc_this->hidden[k].is_shape) continue;
    const u32 leaf = remc_this->hidden[k].leaf + 2;
    remc_shape line;
    line.rank = 1;
    line.at[0] = (i64)(leaves[leaf].length / sizeof(i64));
    remc_learn(inputs, remc_this->leaves + leaf, &line, sizes);
  }
  for (u32 k = 0; k < remc_this->sizes; ++k)
    if (sizes[k] < 0) remc_usage("U0009", "no input decides the size number %u of `%s`", k, name);

  remc_context *context = remc_context_new();
  if (!context) {
    fprintf(stderr, "error[U0014]: %s\n", remc_error(0));
    return 2;
  }
  remc_tune_all(context, wanted.tuning);
  static u64 *params = remc_room_for<u64>(remc_this->params), *results = remc_room_for<u64>(remc_this->words);
  static const void **data = remc_room_for<const void *>(remc_this->result_count);
  for (u32 k = 0; k < remc_this->sizes; ++k) params[k] = (u64)sizes[k];
  bool fine = remc_begin(context, remc_this->about);
  for (u32 k = 0; fine && remc_this->leaves[k].type >= 0; ++k) {
    const remc_leaf *leaf = remc_this->leaves + k;
    u64 *word = params + leaf->word;
    if (leaf->rank == 0) {
      memcpy(word, leaves[k].at, leaves[k].length);
      // Signed integers are extended.
      const u32 unused = 64 - 8 * remc_type_bytes[leaf->type];
      if (leaf->type >= REMC_I8 && leaf->type <= REMC_I64) *word = (u64)((i64)(*word << unused) >> unused);
    } else {
      i64 dims[REMC_MOST_AXES];
      for (u32 i = 0; i < leaf->rank; ++i) dims[i] = leaf->dims[i] < 0 ? sizes[-1 - leaf->dims[i]] : leaf->dims[i];
      fine = remc_array_given(context, "an input", leaf->type, leaf->rank, dims, leaves[k].at, word);
    }
    free(leaves[k].at);
    leaves[k].at = 0;
  }
  if (!fine || remc_this->about->run(context, params, results) != 0) return remc_failed(context);
  for (u32 k = 0; remc_this->results[k].type >= 0; ++k) {
    const remc_result *result = remc_this->results + k;
    if (result->rank < 0) continue;
    remc_array array;
    remc_empty(&array);
    if (!remc_array_taken(context, result->type, (u32)result->rank, results + result->word, &array)) return remc_failed(context);
    free(array.dims);
    data[k] = array.data;
  }
  static i64 *witnesses = remc_room_for<i64>(remc_this->witness_count);
  static remc_view *views = remc_room_for<remc_view>(remc_this->output_part_count);
  static remc_axes *given_shapes = remc_room_for<remc_axes>(remc_this->shape_count);
  static remc_room *rooms = remc_room_for<remc_room>(remc_this->output_part_count);
  const remc_value value = {params, results, data, witnesses, given_shapes, views, rooms, 0};
  remc_view_all(&value, remc_this->output_part_count);
  remc_write(&value, wanted.output);
  remc_context_free(context);
  return 0;
}
