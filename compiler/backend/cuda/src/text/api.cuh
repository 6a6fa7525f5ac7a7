// ---- the C API: what has stopped a run, thresholds, arguments, results ----

// The text of a check has the value number D (a hexadecimal digit) where it has a % with two letters, `%iD`:
// i and u are integers, h f d half, single and double floats; as H F D these without their fraction. %b is a
// boolean, and %% is a %. %v27 is a vector: value number 2 is its length, and the 7 behind that are its first numbers.
static void remc_say_filled(remc_text *text, const char *format, const i64 *values) {
  for (const char *at = format; *at;) {
    if (*at != '%' || at[1] == '%' || !at[1] || !at[2]) {
      const u64 length = strcspn(at + 1, "%") + 1;
      const bool is_percent = *at == '%';
      remc_say(text, at, is_percent ? 1 : length);
      at += is_percent ? (at[1] == '%' ? 2 : 1) : length;
      continue;
    }
    const i64 *from = values + (at[2] <= '9' ? at[2] - '0' : at[2] - 'a' + 10);
    const i64 value = *from;
    char number[48];
    if (at[1] == 'v') {
      const i64 most = at[3] <= '9' ? at[3] - '0' : at[3] - 'a' + 10;
      remc_say(text, "[", 1);
      for (i64 i = 0; i < value && i < most; ++i) {
        snprintf(number, sizeof number, i > 0 ? " %lld" : "%lld", from[1 + i]);
        remc_say(text, number, strlen(number));
      }
      if (value > most) remc_say(text, " \xe2\x80\xa6", 4);
      remc_say(text, "]", 1);
      at += 4;
      continue;
    }
    const char *shown = number;
    f64 real = 0;
    switch (at[1]) {
      case 'h': case 'H': real = remc_from_half((u16)value); break;
      case 'f': case 'F': real = (f64)remc::f32_bits((u32)value); break;
      case 'd': case 'D': real = remc::f64_bits((u64)value); break;
    }
    switch (at[1]) {
      case 'u': snprintf(number, sizeof number, "%llu", (u64)value); break;
      case 'b': shown = value ? "#t" : "#f"; break;
      case 'h': case 'f': case 'd': shown = remc_float_text(real, number); break;
      case 'H': case 'F': case 'D': snprintf(number, sizeof number, "%lld", remc::saturated<i64>(real)); break;
      default: snprintf(number, sizeof number, "%lld", value);
    }
    remc_say(text, shown, strlen(shown));
    at += 3;
  }
}

// Where in the program a place is; null where that is not known.
static const char *remc_place_of(const remc_about *about, u32 prov) {
  u64 from = 0, to = about->place_count;
  while (from < to) {
    const u64 mid = from + (to - from) / 2;
    if (about->places[mid].prov == prov) return about->places[mid].at;
    if (about->places[mid].prov < prov) from = mid + 1;
    else to = mid;
  }
  return 0;
}

extern "C" const char *remc_error(const remc_context *context) {
  if (!context) return remc_no_context;
  return context->said.length > 0 ? context->said.at : "";
}

// Makes the message of what has stopped a run, and the number that its function returns.
static i32 remc_stopped(remc_context *context) {
  remc_text *said = &context->said;
  said->length = 0;
  if (context->reason == REMC_FINISHED) return 0;
  if (context->reason == REMC_TRAP || context->reason == REMC_TOO_LARGE) {
    const char *place = remc_place_of(context->about, context->prov);
    if (place) {
      remc_say(said, place, strlen(place));
      remc_say(said, ": ", 2);
    }
    const bool is_check = context->reason == REMC_TRAP;
    const remc_about *about = context->about;
    remc_say_filled(said, is_check ? about->checks[context->trap] : about->too_large[context->count], context->values);
    return REMC_STOPPED;
  }
  remc_say(said, context->message, strlen(context->message));
  return context->reason == REMC_DEVICE ? REMC_DEVICE_FAILED : REMC_WRONG_ARGUMENT;
}

// An argument that is wrong: `why` mentions its name.
[[maybe_unused]] static bool remc_refuse(remc_context *context, const char *why, const char *name) {
  if (context->reason == REMC_FINISHED) {
    context->reason = REMC_ARGUMENT;
    snprintf(context->message, sizeof context->message, why, name);
  }
  return false;
}

// ---- thresholds, set when the program runs ----

static bool remc_is_named(const char *name, const remc_threshold *threshold) {
  return strcmp(name, threshold->name) == 0 || strcmp(name, threshold->kind) == 0;
}

// Says that an entry has no such threshold, or none of all that there are if no entry is given.
static void remc_say_unknown(remc_text *said, const char *name, const remc_about *entry) {
  auto say = [said](const char *words) { remc_say(said, words, strlen(words)); };
  for (const remc_linked *l = remc_all_linked; l; l = l->next)
    for (u32 k = 0; (!entry || entry == l->about) && k < l->about->fixed_count; ++k)
      if (strcmp(l->about->fixed[k].name, name) == 0) {
        char number[32];
        snprintf(number, sizeof number, "%lld", l->about->fixed[k].value);
        say("`"), say(name), say("` has shaped the code and stays "), say(number), say(": compile the program anew with another value");
        return;
      }
  say("there is no threshold `"), say(name), say("`");
  const char *before = entry ? "; this entry has " : "; there are ";
  bool any = false;
  for (const remc_linked *l = remc_all_linked; l; l = l->next)
    for (u32 k = 0; (!entry || entry == l->about) && k < l->about->threshold_count; ++k) {
      say(any ? ", `" : before), say(any ? "" : "`"), say(l->about->thresholds[k].name), say("`");
      any = true;
    }
  if (!any) say(entry ? ": this entry has no versions to choose between" : ": there are no versions to choose between");
}

extern "C" int remc_context_tune(remc_context *context, const char *name, int64_t value) {
  if (!context) return REMC_WRONG_ARGUMENT;
  remc_text *said = &context->said;
  said->length = 0;
  bool known = false;
  for (const remc_linked *l = remc_all_linked; name && l; l = l->next)
    for (u32 k = 0; k < l->about->threshold_count; ++k) known = known || remc_is_named(name, l->about->thresholds + k);
  if (!known) {
    remc_say_unknown(said, name ? name : "", 0);
    return REMC_WRONG_ARGUMENT;
  }
  if (value < 0) {
    char words[96];
    snprintf(words, sizeof words, "` is given %lld: a threshold is a number of at least 0", (long long)value);
    remc_say(said, "`", 1);
    remc_say(said, name, strlen(name));
    remc_say(said, words, strlen(words));
    return REMC_WRONG_ARGUMENT;
  }
  char *copy = (char *)malloc(strlen(name) + 1);
  remc_tuned *more = copy ? (remc_tuned *)realloc(context->tuned, (context->tuned_count + 1) * sizeof *more) : 0;
  if (!more) {
    free(copy);
    const char words[] = "this machine has no memory for the values of thresholds";
    remc_say(said, words, sizeof words - 1);
    return REMC_DEVICE_FAILED;
  }
  strcpy(copy, name);
  context->tuned = more;
  // The last value of a name is the one that counts.
  u64 kept = 0;
  for (u64 g = 0; g < context->tuned_count; ++g) {
    if (strcmp(more[g].name, name) == 0) free(more[g].name);
    else more[kept++] = more[g];
  }
  more[kept].name = copy;
  more[kept].value = value;
  context->tuned_count = kept + 1;
  return REMC_DONE;
}

// ---- arguments and results ----

static bool remc_begin(remc_context *context, const remc_about *about) {
  context->about = about;
  context->said.length = 0;
  remc_context_release(context);
  return remc_context_clear(context);
}

// Ends a run, however it went.
static i32 remc_end(remc_context *context) {
  remc_context_release(context);
  return remc_stopped(context);
}

[[maybe_unused]] static bool remc_size_given(remc_context *context, const char *name, i64 size, u64 *word) {
  *word = (u64)size;
  return size >= 0 || remc_refuse(context, "the size `%s` is negative", name);
}

static bool remc_is_char(u32 c) { return c < 0xd800 || (c > 0xdfff && c < 0x110000); }

[[maybe_unused]] static bool remc_char_given(remc_context *context, const char *name, u32 c, u64 *word) {
  *word = c;
  return remc_is_char(c) || remc_refuse(context, "the argument `%s` is no character", name);
}

static const u8 remc_type_bytes[] = {1, 4, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};

// Copies an array to the device. It belongs to the context until the run ends.
[[maybe_unused]] static bool remc_array_given(remc_context *context, const char *name, i32 type, u32 rank, const i64 *dims,
                             const void *data, u64 *word) {
  void *to = remc_alloc(context, REMC_NO_PLACE, remc_type_bytes[type], rank, dims);
  if (!to) return false;
  *word = (u64)to;
  u64 count = 0;
  remc_product(rank, dims, &count);
  if (count == 0) return true;
  if (!data) return remc_refuse(context, "the array `%s` is null", name);
  if (type == REMC_BOOL)
    for (u64 i = 0; i < count; ++i)
      if (((const u8 *)data)[i] > 1) return remc_refuse(context, "an element of the array `%s` is neither 0 nor 1", name);
  if (type == REMC_CHAR)
    for (u64 i = 0; i < count; ++i)
      if (!remc_is_char(((const u32 *)data)[i]))
        return remc_refuse(context, "an element of the array `%s` is no character", name);
  return remc_device(context, cudaMemcpy(to, data, count * remc_type_bytes[type], cudaMemcpyHostToDevice),
                     "copying an input");
}

extern "C" void remc_array_free(remc_array *array) {
  if (!array) return;
  free(array->data);
  free(array->dims);
  array->data = 0;
  array->dims = 0;
  array->rank = 0;
}

// Where a result goes: there must be a place for it, and it is empty until the run has ended well.
[[maybe_unused]] static bool remc_wants(remc_context *context, const char *name, const void *to) {
  return to || remc_refuse(context, "there is no place for the result `%s`: it is null", name);
}

[[maybe_unused]] static void remc_empty(remc_array *array) {
  if (array) memset(array, 0, sizeof *array);
}

// Copies a result to the host: its words are the address and the dims.
[[maybe_unused]] static bool remc_array_taken(remc_context *context, i32 type, u32 rank, const u64 *words, remc_array *to) {
  u64 bytes = remc_type_bytes[type];
  for (u32 i = 0; i < rank; ++i) bytes *= words[1 + i];
  to->type = type;
  to->rank = (i32)rank;
  to->data = malloc(bytes ? bytes : 1);
  to->dims = (int64_t *)malloc((rank ? rank : 1) * sizeof(int64_t));
  if (!to->data || !to->dims) {
    context->reason = REMC_DEVICE;
    snprintf(context->message, sizeof context->message, "this machine has no memory for a result of %llu bytes", bytes);
    return false;
  }
  for (u32 i = 0; i < rank; ++i) to->dims[i] = (int64_t)words[1 + i];
  return remc_download(context, to->data, (const void *)words[0], bytes) == 0;
}
