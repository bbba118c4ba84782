/* What the tests of the formats that partition share. */
#ifndef FORMAT_FIXTURE_H
#define FORMAT_FIXTURE_H

#include "contexts.h"
#include "formats/storage.h"
#include <polyad/polyad.h>

/** At most `nnz` distinct nonzeros. With `heavy`, nine of ten have index 0 in the first mode. */
polyad_tensor *fixture_tensor(polyad_context *context, int order, const uint64_t *dims,
                              uint64_t nnz, bool heavy, polyad_type type);

/** Builds a storage on the CPU; fails the test unless it is valid and its bytes are those that
 *  were estimated and those that are allocated. */
void *fixture_build(polyad_context *context, const struct polyad_format *format,
                    const char *variant, int partitions, polyad_tensor *tensor);

/** Fails the test unless the format's check takes the storage, or does not. */
void fixture_check(polyad_context *context, const struct polyad_format *format, const void *storage,
                   polyad_status expected);

#endif
