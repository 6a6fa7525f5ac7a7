// ---- what is known of entries ----

// Where in the program what may stop is.
struct remc_place {
  u32 prov;
  const char *at;
};

// A number that has shaped the code, by the name that it has where the program is compiled.
struct remc_fixed {
  const char *name;
  i64 value;
};

struct remc_about {
  const char *name;
  const char *code;      // the structure of its code, by which tuning files know it,
  const char *ranks;     // and the numbers of axes of its shape variables: "2,1"
  const char *manifest;
  i32 (*run)(remc_context *, const u64 *params, u64 *results);
  const char *const *checks;     // what they say, by their numbers
  const char *const *too_large;  // what is said of an array that is too large, by its rank
  const remc_place *places;      // in ascending order
  u64 place_count;
  const remc_threshold *thresholds;
  u32 threshold_count;
  const remc_fixed *fixed;
  u32 fixed_count;
};

// All entries of this process: libraries that see each other's names have one list.
struct remc_linked;
extern "C" {
REMC_PUBLIC extern remc_linked *remc_all_linked;
remc_linked *remc_all_linked = 0;
}

struct remc_linked {
  const remc_about *about;
  remc_linked *next;
  explicit remc_linked(const remc_about *entry) : about(entry), next(remc_all_linked) { remc_all_linked = this; }
  remc_linked(const remc_linked &) = delete;
  ~remc_linked() {
    remc_linked **at = &remc_all_linked;
    while (*at && *at != this) at = &(*at)->next;
    if (*at) *at = next;
  }
};
