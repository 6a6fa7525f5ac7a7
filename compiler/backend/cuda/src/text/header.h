/* @ENTRIES@ for NVIDIA's GPUs, as C sees it. Printed by remc @VERSION@.
 *
 *   remc_context *context = remc_context_new();
 *   if (!context) … remc_error(NULL) says why: there is no GPU …
 *   if (@CALL@ != 0)
 *     … remc_error(context) says why …
 *   … the results, each array of which is freed by remc_array_free …
 *   remc_context_free(context);
 *
@ABOUT@
 *
 * Arrays are row-major, in the host's memory; inputs are only read, and may be null where they are empty.
 * A bool is a byte, 0 or 1; a character is its code point; a half float is its bits.
 */
#ifndef @GUARD@_H
#define @GUARD@_H

#ifndef REMC_API
#define REMC_API
#include <stdint.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __GNUC__
#define REMC_PUBLIC __attribute__((visibility("default")))
#else
#define REMC_PUBLIC
#endif

/* The memory that entries run in, and what has stopped the last one. It is for one thread at a time. */
typedef struct remc_context remc_context;

/* What a function of an entry returns. */
enum {
  REMC_DONE = 0,
  REMC_WRONG_ARGUMENT = 2, /* a size is negative, or a pointer null */
  REMC_STOPPED = 3,        /* a check of the program has failed, or an array is too large for the GPU */
  REMC_DEVICE_FAILED = 70  /* the GPU or the machine has failed; the context may be of no more use */
};

/* The types of elements. */
enum {
  REMC_BOOL, REMC_CHAR, REMC_I8, REMC_I16, REMC_I32, REMC_I64, REMC_U8, REMC_U16, REMC_U32, REMC_U64,
  REMC_F16, REMC_F32, REMC_F64
};

/* A result. It is empty, all zero, where the entry has not returned REMC_DONE. */
typedef struct remc_array {
  void *data;
  int64_t *dims;
  int32_t rank, type;
} remc_array;

#ifdef __cplusplus
extern "C" {
#endif
/* A context on the current GPU; null if there is none. */
REMC_PUBLIC remc_context *remc_context_new(void);
REMC_PUBLIC void remc_context_free(remc_context *context);
/* What has stopped the last entry, or is wrong with a threshold, empty if nothing is; of null, why there is no context.
 * The text belongs to the context until its next use. */
REMC_PUBLIC const char *remc_error(const remc_context *context);
/* Gives a context another value of a threshold, by its name or that of a kind: the size from which on a version of a
 * program is chosen, 0 for always, INT64_MAX for never. The manifest lists them. REMC_WRONG_ARGUMENT if there is none
 * of the name in what is linked; remc_error(context) says which there are. */
REMC_PUBLIC int remc_context_tune(remc_context *context, const char *name, int64_t value);
REMC_PUBLIC void remc_array_free(remc_array *array);
#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif
@PROTOTYPES@#ifdef __cplusplus
}
#endif

#endif
