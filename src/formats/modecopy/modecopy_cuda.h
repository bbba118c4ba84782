/* What a workspace of "modecopy" on a GPU has beside that of its sums. */
#ifndef PD_MODECOPY_CUDA_H
#define PD_MODECOPY_CUDA_H

#include "formats/modecopy/modecopy_layout.h"
#include "formats/ordered/ordered_cuda.h"

/** Room for the table of any of the copies; rows are NULL where none is worth one. */
polyad_status pd_modecopy_table_make(polyad_context *context, const struct pd_modecopy *modecopy,
                                     uint64_t rank, struct pd_scratch *owner,
                                     struct pd_ordered_table *table);

#endif
