/* The names of modes and the labels in a NumPy archive. */
#ifndef PD_NPZ_NAMES_H
#define PD_NPZ_NAMES_H

#include "io/npz_archive.h"

/** An array of this name and shape, to be put. */
struct pd_npy pd_npy_of(const char *name, char kind, size_t item_bytes, int order,
                        const uint64_t *shape);

/** Puts names and labels; `outline` may be NULL. */
polyad_status pd_npz_put_names(struct pd_npz_writer *writer, const polyad_tensor *outline);

bool pd_npz_has_names(const struct pd_npz *npz);
/** Gives a tensor the names and labels of the archive. */
polyad_status pd_npz_take_names(const struct pd_npz *npz, polyad_tensor *tensor);

#endif
