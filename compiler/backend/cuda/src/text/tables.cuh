// ---- the program: what it takes and gives ----

// An input as the entry declares it, in prefix order; `next` is the part after it and what is in it. The part after
// boxes is their contents.
struct remc_input_part {
  const char *label;
  char kind;     // an array [, a tuple ( or boxes #
  u32 axes;      // its own, without those of what it is in
  u32 next;
  u32 leaf;      // the number of an array's elements, or of the first of the witnesses of boxes
  i32 starts;    // in boxes: the leaf that says where those of each begin; -1 otherwise
  i32 dim;       // there too: its own axes are those that remc_boxed_axis compares from this number on; -1 otherwise
  u32 witness, count;  // of boxes: the numbers of their witnesses
};

// A witness of the boxes of an input: the leaf that holds it. Of a shape that leaf holds the ranks, the next one where
// the dims of each begin, and the one after it the dims.
struct remc_hidden_index {
  u32 leaf;
  bool is_shape;
};

// The dims of a shape.
struct remc_axes {
  const i64 *at;
  u64 rank;
};

[[maybe_unused]] static i64 remc_size_of(const remc_axes *shape) {
  i64 size = 1;
  for (u64 i = 0; i < shape->rank; ++i) size *= shape->at[i];
  return size;
}

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

// A scalar or an array that the plan gives.
struct remc_result {
  i32 type;
  i32 rank;  // -1 of a scalar
  u32 word;  // a scalar, or an array's address with its dims behind it
};

// The results that hold shapes: their ranks, where the dims of each begin, and the dims; of one shape the dims alone,
// with -1 for the others.
struct remc_hidden_shape {
  i32 ranks, starts, dims;
};

// Texts of boxes, in which {3} stands for the number that remc_dim(3, …) gives, or the dims that remc_axes_of(3, …)
// gives; { 3} has a space before each of these, and {[3} and {]3} are brackets if there are any.
struct remc_box {
  const char *type;  // (Σ (n) [int n])
  const char *one;   // (box ((n {3})) [int n]
  const char *all;   // (boxes (n) [int n] [
  const char *row;   // {3}
  u32 witness, count;  // the numbers of its witnesses
  u32 shape, shapes;   // and of its shapes
};

// A part of the value, in prefix order; `next` is the part after it and what is in it. The part after boxes is
// their contents.
struct remc_output_part {
  char kind;  // an array [, a tuple (, boxes # or functions f, without axes if it is one
  const char *label;
  u32 next;
  u32 rank;     // with the axes of the tuples that it is in; where its type says its axes, remc_view knows it
  i32 result;   // the number of the elements, or of the first of the sizes of its axes; -1 if its type says them
  i32 starts;   // in the boxes of an array: where the elements of each begin; -1 otherwise
  i32 dim;      // there too: its own dims are those that remc_dim and remc_axes_of give from this number on; -1 otherwise
  u32 axes;     // and how many of these numbers there are
  const remc_box *box;  // of functions only the type is there
};

// What the command line knows of an entry.
struct remc_program {
  const remc_about *about;
  const remc_input *inputs;
  const remc_input_part *input_parts;
  const remc_leaf *leaves;
  const remc_hidden_index *hidden;
  const remc_result *results;
  const u32 *witnesses;
  const remc_hidden_shape *hidden_shapes;
  const remc_output_part *output_parts;
  // How many there are of each.
  u32 input_count, input_part_count, leaf_count, hidden_count, result_count, witness_count, shape_count, output_part_count;
  // Sizes among the parameters, and words of the parameters and results.
  u32 sizes, params, words;
  i64 (*dim)(u32 number, const u64 *params, const i64 *witnesses, const remc_axes *shapes);
  const remc_axes *(*axes_of)(u32 number, const remc_axes *shapes);
  void (*boxed_axis)(const remc_input *input, u32 number, i64 length, i64 *sizes, i64 *witnesses, const remc_axes *shapes);
  i32 (*boxed_shape)(u32 number);
  void (*solve)(i64 *sizes);
};

// The one that runs.
static const remc_program *remc_this = 0;
