// ---- the program: what it takes and gives ----

// An input as the entry declares it: in prefix order, a tuple before its fields. `next` is the part after it.
struct remc_input_part {
  const char *label;
  bool is_tuple;
  u32 axes;  // its own, without those of what it is in
  u32 next;
  u32 leaf;  // an array's number
};

// An array that the plan takes: a dim is a number, or, as -1 - k, the size number k.
struct remc_leaf {
  i32 type;
  u32 rank;
  const i64 *dims;
  u32 word;
};

struct remc_input {
  const char *name, *type;
  u32 part;
};

// A part of the value, in prefix order; `next` is the part after it and what is in it.
struct remc_output_part {
  char kind;  // an array [, a tuple ( or a box #
  const char *label;
  u32 next;
  u32 word;  // of the results: a scalar, an array's address with its dims behind it, a tuple's dims
  i32 rank;  // -1 of a scalar
  i32 type;
  void (*box)(FILE *out, const u64 *params, const u64 *results);  // the text before a box's contents
};

