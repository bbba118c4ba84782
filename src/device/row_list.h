/* The nonzeros of a mode row by row, as a device with memory of its own has them: what formats and
 * observations give to methods that solve for one row of a factor after the other. Arrays lie on
 * the device, and belong to whoever describes them. */
#ifndef PD_ROW_LIST_H
#define PD_ROW_LIST_H

#include <polyad/tensor.h>
#include <stdint.h>

/** Where the indices of one mode lie: (plane[p] >> shift) & mask. */
struct pd_row_plane {
  const uint32_t *plane;
  uint32_t shift, mask;
};

struct pd_row_list {
  uint64_t nnz;
  int columns; /* of the other modes */
  int column_mode[POLYAD_MAX_ORDER];
  struct pd_row_plane column[POLYAD_MAX_ORDER];
  struct pd_row_plane row;     /* the row of each nonzero; no plane where first, end are known */
  const uint32_t *order;       /* place q holds nonzero order[q]; NULL: nonzero q */
  const uint64_t *value_at;    /* the value of nonzero p is number value_at[p]; NULL: number p */
  const void *values;          /* as the plan's kernels see them */
  polyad_type type;            /* of the values */
  const uint64_t *first, *end; /* row i has places [first[i], end[i]) */
};

#endif
