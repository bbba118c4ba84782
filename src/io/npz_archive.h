/* NumPy archives (.npz): zip archives of arrays (.npy), each under its name. An array begins with a
 * header that is a literal of Python: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
 * Archives are read in order, from the local headers, so that pipes work; members may be stored or
 * deflated. They are written stored: numbers hardly shrink. */
#ifndef PD_NPZ_ARCHIVE_H
#define PD_NPZ_ARCHIVE_H

#include "io/atomic_file.h"
#include "io/input.h"
#include <polyad/tensor.h>

enum { PD_NPZ_MOST_ARRAYS = 64, PD_NPZ_NAME_BYTES = 48 };

/** An array in memory, little-endian. */
struct pd_npy {
  char name[PD_NPZ_NAME_BYTES]; /* without ".npy" */
  char kind;                    /* of NumPy: 'f', 'i', 'u', 'b', 'U', 'S' */
  int item_bytes;               /* of a number, or of a text with 4 bytes for each character */
  bool fortran;                 /* the first index varies fastest */
  int order;
  uint64_t shape[POLYAD_MAX_ORDER];
  uint64_t count; /* product of the shape */
  void *data;
};

/* ---- reading ---- */

struct pd_npz {
  polyad_context *context;
  const char *path;
  int count;
  struct pd_npy array[PD_NPZ_MOST_ARRAYS];
};

/** Reads all arrays. To be freed also after a failure. */
polyad_status pd_npz_read(polyad_context *context, struct pd_input *input, struct pd_npz *npz);
/** Reads one array (.npy) that is no archive's, as the only one of an archive: "array". */
polyad_status pd_npy_read(polyad_context *context, struct pd_input *input, struct pd_npz *npz);
void pd_npz_free(struct pd_npz *npz);
/** The array of this name, NULL where there is none; fails where one must be there. */
const struct pd_npy *pd_npz_find(const struct pd_npz *npz, const char *name);
polyad_status pd_npz_need(const struct pd_npz *npz, const char *name, const struct pd_npy **array);
/** Copies numbers to `out` (floats, doubles, or integers as int64_t), the last index varying
 *  fastest. Fails for what is no number, is not finite, or does not fit. */
polyad_status pd_npz_reals(const struct pd_npz *npz, const struct pd_npy *array, polyad_type type,
                           void *out);
polyad_status pd_npz_integers(const struct pd_npz *npz, const struct pd_npy *array, int64_t *out);
/** Fails because an array is not as it should be. */
polyad_status pd_npz_fail(const struct pd_npz *npz, const char *name, const char *expected);

/* ---- writing ---- */

struct pd_npz_writer;
struct pd_npz_sink;

polyad_status pd_npz_open(polyad_context *context, const char *path, struct pd_npz_writer **writer);
/** Appends an array of `kind` and `item_bytes`; `fill`, which is called twice, gives the bytes to
 *  pd_npz_bytes(). The failure of either frees nothing. */
polyad_status pd_npz_put(struct pd_npz_writer *writer, const struct pd_npy *array,
                         polyad_status (*fill)(struct pd_npz_sink *sink, const void *user),
                         const void *user);
polyad_status pd_npz_bytes(struct pd_npz_sink *sink, const void *data, uint64_t size);
/** Ends the archive where `status` is POLYAD_OK, else removes it. Frees the writer. */
polyad_status pd_npz_close(struct pd_npz_writer *writer, polyad_status status);

#endif
