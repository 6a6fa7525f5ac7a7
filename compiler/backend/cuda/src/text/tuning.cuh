// ---- the program: values of thresholds, on the command line and from a file ----

// A file of values, as `remc autotune` writes it: of its lines those that are of this entry on this device.
struct remc_tuning {
  const char *path;
  const char *at;  // in the line at hand
  u64 line;
};

[[noreturn]] static void remc_no_tuning(const remc_tuning *t, const char *why) {
  remc_usage("U0024", "the tuning file `%s`, line %llu: %s", t->path, t->line, why);
}

static void remc_blanks(remc_tuning *t) {
  while (*t->at == ' ' || *t->at == '\t' || *t->at == '\r') ++t->at;
}

// Nothing but a comment may follow on the line.
static void remc_ends_line(remc_tuning *t) {
  remc_blanks(t);
  if (*t->at && *t->at != '#') remc_no_tuning(t, "something follows the value");
}

// A string in quotes, or false if none begins here.
static bool remc_toml_string(remc_tuning *t, remc_text *to) {
  const char quote = *t->at;
  to->length = 0;
  remc_append(to, "", 0);
  if (quote != '"' && quote != '\'') return false;
  for (++t->at; *t->at != quote; ++t->at) {
    char c = *t->at;
    if (c == '\\' && quote == '"') {
      c = *++t->at;
      if (c != '"' && c != '\\') remc_no_tuning(t, "a string has an escape that names of thresholds do not have");
    }
    if (!c) remc_no_tuning(t, "a string does not end");
    remc_append(to, &c, 1);
  }
  ++t->at;
  return true;
}

// A name: in quotes, or letters, digits, - and _.
static bool remc_toml_key(remc_tuning *t, remc_text *to) {
  if (remc_toml_string(t, to)) return true;
  for (; (*t->at >= 'a' && *t->at <= 'z') || (*t->at >= 'A' && *t->at <= 'Z') || (*t->at >= '0' && *t->at <= '9') || *t->at == '-' || *t->at == '_'; ++t->at)
    remc_append(to, t->at, 1);
  return to->length > 0;
}

// Digits, perhaps with underscores; false if they are no number of at most 63 bits.
static bool remc_whole(const char **at, i64 *number) {
  const char *from = *at + (**at == '+');
  u64 n = 0;
  bool fits = *from >= '0' && *from <= '9';
  for (; (*from >= '0' && *from <= '9') || (*from == '_' && from[1] >= '0' && from[1] <= '9'); ++from) {
    if (*from == '_') continue;
    const u64 digit = (u64)(*from - '0');
    fits = fits && n <= (0x7fffffffffffffffull - digit) / 10;
    n = fits ? 10 * n + digit : n;
  }
  *at = from;
  *number = (i64)n;
  return fits;
}

static const remc_threshold *remc_threshold_of(const char *name) {
  for (u32 k = 0; k < remc_this->about->threshold_count; ++k)
    if (strcmp(remc_this->about->thresholds[k].name, name) == 0) return remc_this->about->thresholds + k;
  return 0;
}

static const remc_fixed *remc_fixed_of(const char *name) {
  for (u32 k = 0; k < remc_this->about->fixed_count; ++k)
    if (strcmp(remc_this->about->fixed[k].name, name) == 0) return remc_this->about->fixed + k;
  return 0;
}

static void remc_set(remc_context *context, const char *name, i64 value) {
  const i32 status = remc_context_tune(context, name, value);
  if (status != REMC_DONE) {
    fprintf(stderr, "error[U0022]: %s\n", remc_error(context));
    exit(status);
  }
}

// Says why a file is not used, which is no reason to stop.
static void remc_not_used(const remc_tuning *t, const char *why, const char *name, const char *end) {
  fprintf(stderr, "warning[W0503]: the tuning file `%s` is not used for `%s`: %s%s%s\n", t->path, remc_this->about->name, why, name, end);
}

// What a file says of the entry: its values that the command line has none for are set.
struct remc_said {
  char *name;
  i64 value;
};

static char *remc_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) remc_usage("U0024", "cannot read the tuning file `%s`: %s", path, strerror(errno));
  remc_text text = {0, 0, 0};
  remc_append(&text, "", 0);
  char part[4096];
  for (u64 n; (n = fread(part, 1, sizeof part, file)) > 0;) remc_append(&text, part, n);
  if (ferror(file)) remc_usage("U0024", "cannot read the tuning file `%s`: %s", path, strerror(errno));
  fclose(file);
  if (strlen(text.at) != text.length) remc_usage("U0024", "the tuning file `%s` is no text", path);
  return text.at;
}

// Sets what a file says of this entry on a GPU. `given` says whether the command line has a value for a kind.
static void remc_tune_by_file(remc_context *context, const char *path, bool (*given)(const char *kind)) {
  const remc_about *about = remc_this->about;
  char *whole = remc_file(path);
  remc_tuning t = {path, 0, 0};
  remc_text key = {0, 0, 0}, entry = {0, 0, 0}, device = {0, 0, 0}, code = {0, 0, 0}, ranks = {0, 0, 0};
  remc_said *said = 0;
  u64 count = 0, first = 0;
  enum { HEAD, TUNED, NUMBERS, OTHER } where = HEAD;
  bool has_format = false, right = false;
  // Whoever has written a table may have left out the ranks: of two the one that has them counts.
  int found = 0;
  // Keeps the values of the table that ends if they are of this entry on this device.
  auto ends = [&] {
    bool is_own = entry.length && device.length && strcmp(entry.at, about->name) == 0 && strcmp(device.at, "cuda") == 0;
    const int how = ranks.length || !*about->ranks ? 2 : 1;
    is_own = is_own && (!ranks.length || strcmp(ranks.at, about->ranks) == 0) && how > found;
    u64 from = is_own ? 0 : first, to = is_own ? first : count;
    for (; from < to; ++from) free(said[from].name);
    if (!is_own) {
      count = first;
      return;
    }
    for (u64 k = first; k < count; ++k) said[k - first] = said[k];
    count -= first;
    first = count;
    found = how;
    right = code.length && strcmp(code.at, about->code) == 0;
  };
  for (char *next = whole; next;) {
    char *line = next;
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    ++t.line;
    t.at = line;
    remc_blanks(&t);
    if (!*t.at || *t.at == '#') continue;
    if (*t.at == '[') {
      const char *header = t.at + 1 + (t.at[1] == '[');
      const bool is_list = t.at[1] == '[';
      if (!strchr(header, ']')) remc_no_tuning(&t, "a header of a table does not end");
      if (is_list) {
        ends();
        entry.length = device.length = code.length = ranks.length = 0;
        where = strncmp(header, "tuned]]", 7) == 0 ? TUNED : OTHER;
      } else {
        const bool is_numbers = strncmp(header, "tuned.thresholds]", 17) == 0 || strncmp(header, "tuned.schedule]", 15) == 0;
        where = is_numbers ? NUMBERS : OTHER;
      }
      continue;
    }
    if (where == OTHER) continue;
    if (!remc_toml_key(&t, &key)) remc_no_tuning(&t, "it is neither `name = value`, nor a header of a table, nor a comment");
    remc_blanks(&t);
    if (*t.at != '=') remc_no_tuning(&t, "a `=` is missing behind the name");
    ++t.at;
    remc_blanks(&t);
    i64 number = 0;
    if (where == HEAD) {
      if (strcmp(key.at, "format") != 0) continue;
      if (!remc_whole(&t.at, &number)) remc_no_tuning(&t, "its format is no number");
      if (number != 1) remc_no_tuning(&t, "it is of another format than 1, which this program reads");
      remc_ends_line(&t);
      has_format = true;
    } else if (where == TUNED) {
      if (strcmp(key.at, "ranks") == 0) {
        if (*t.at != '[') remc_no_tuning(&t, "ranks are numbers in brackets");
        ranks.length = 0;
        for (; *t.at && *t.at != ']'; ++t.at)
          if (*t.at == ',' || (*t.at >= '0' && *t.at <= '9')) remc_append(&ranks, t.at, 1);
        if (*t.at++ != ']') remc_no_tuning(&t, "ranks are numbers in brackets");
        remc_ends_line(&t);
        continue;
      }
      remc_text *to = strcmp(key.at, "entry") == 0 ? &entry : strcmp(key.at, "device") == 0 ? &device : strcmp(key.at, "code") == 0 ? &code : 0;
      if (!to) continue;
      if (!remc_toml_string(&t, to)) remc_no_tuning(&t, "an entry, a device and a code are strings");
      remc_ends_line(&t);
    } else {
      if (!remc_whole(&t.at, &number)) remc_no_tuning(&t, "a number is a whole one from 0 to 9223372036854775807");
      remc_ends_line(&t);
      said = (remc_said *)realloc(said, (count + 1) * sizeof *said);
      char *name = (char *)malloc(key.length + 1);
      if (!said || !name) remc_usage("U0024", "the tuning file `%s` is too large for this machine's memory", path);
      memcpy(name, key.at, key.length + 1);
      said[count].name = name;
      said[count++].value = number;
    }
  }
  ends();
  if (!has_format) remc_usage("U0024", "the tuning file `%s` does not say `format = 1`, as tuning files do", path);
  const char *unknown = 0, *fixed = 0;
  for (u64 k = 0; k < count; ++k) {
    const remc_fixed *is_fixed = remc_fixed_of(said[k].name);
    if (is_fixed && is_fixed->value != said[k].value) fixed = said[k].name;
    if (!is_fixed && !remc_threshold_of(said[k].name)) unknown = said[k].name;
  }
  if (!found) remc_not_used(&t, "it says nothing of that entry on the device cuda", "", "");
  else if (!right) remc_not_used(&t, "the code of the entry has changed since it was measured", "", "");
  else if (unknown) remc_not_used(&t, "the entry has no number `", unknown, "`");
  else if (fixed) remc_not_used(&t, "`", fixed, "` has shaped the code, with another value: compile the program with this file");
  for (u64 k = 0; k < count; ++k) {
    const remc_threshold *threshold = remc_threshold_of(said[k].name);
    if (right && !unknown && !fixed && threshold && !given(threshold->kind)) remc_set(context, said[k].name, said[k].value);
    free(said[k].name);
  }
  free(said);
  free(key.at), free(entry.at), free(device.at), free(code.at), free(ranks.at);
  free(whole);
}

// A value of a threshold on the command line: NAME=N, NAME=always or NAME=never.
struct remc_setting {
  const char *text;
  u64 name;  // its length
  i64 value;
};

static remc_setting remc_setting_of(const char *text) {
  // The name of a definition may have a `=`.
  const char *equals = strrchr(text, '=');
  const char *value = equals ? equals + 1 : "";
  remc_setting setting = {text, equals ? (u64)(equals - text) : strlen(text), 0};
  if (strcmp(value, "always") == 0) return setting;
  if (strcmp(value, "never") == 0) {
    setting.value = 0x7fffffffffffffffll;
    return setting;
  }
  const char *end = value;
  if (!remc_whole(&end, &setting.value) || *end || setting.value < 1)
    remc_usage("U0022", "`%s` is no value of a threshold: write NAME=N with a number of at least 1, NAME=always or NAME=never", text);
  return setting;
}

static remc_setting *remc_settings = 0;
static u64 remc_setting_count = 0;

static bool remc_is_set(const char *kind) {
  for (u64 k = 0; k < remc_setting_count; ++k)
    if (strlen(kind) == remc_settings[k].name && strncmp(kind, remc_settings[k].text, remc_settings[k].name) == 0) return true;
  return false;
}

// Sets what the command line says.
static void remc_tune_all(remc_context *context, const char *file) {
  if (file) remc_tune_by_file(context, file, remc_is_set);
  for (u64 k = 0; k < remc_setting_count; ++k) {
    remc_text name = {0, 0, 0};
    remc_append(&name, remc_settings[k].text, remc_settings[k].name);
    bool known = false;
    for (u32 i = 0; i < remc_this->about->threshold_count; ++i) known = known || remc_is_named(name.at, remc_this->about->thresholds + i);
    if (!known) {
      remc_text said = {0, 0, 0};
      remc_say_unknown(&said, name.at, remc_this->about);
      remc_usage("U0022", "%s", said.at);
    }
    remc_set(context, name.at, remc_settings[k].value);
    free(name.at);
  }
}
