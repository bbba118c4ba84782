/* What formats share on a GPU that keep nonzeros in the order of output rows: scratch memory, and
 * the description that the kernels get. */
#ifndef PD_ORDERED_CUDA_H
#define PD_ORDERED_CUDA_H

#include "device/cuda/cuda_state.h"
#include "formats/ordered/ordered.h"
#include "formats/ordered/ordered_launch.h"
#include "formats/scratch_cuda.h"

/** A table of the products of two modes' rows (formats/modecopy/modecopy_pairs.h), and which they
 *  are of. */
struct pd_ordered_table {
  void *rows;    /* NULL: no table is worth it */
  uint64_t rank; /* columns that there is room for */
  int mode[2];
  uint64_t version[2]; /* of the factors; 0: none */
};

/** Memory of one running computation. */
struct pd_ordered_scratch {
  struct pd_scratch base;
  int segment[2]; /* of plain sums, and of those whose values are weighed by the model */
  int least;      /* set before: no call takes a shorter segment; 0: all take these */
  void *head, *tail;
  struct pd_ordered_table table;
};

uint64_t pd_ordered_scratch_bytes(uint64_t nnz, uint64_t rank, polyad_type type);
/** For sums of rows of so many inputs; scratch->base is set. */
polyad_status pd_ordered_scratch_fill(polyad_context *context, uint64_t nnz, int inputs,
                                      uint64_t rank, polyad_type type,
                                      struct pd_ordered_scratch *scratch);

/** The most additions that a product goes through in a plain sum: those of a segment, of a block's
 * groups (at most 64), and of the blocks (of at least eight segments) that a row spans. */
static inline uint64_t pd_ordered_sum_depth(const struct pd_ordered_scratch *scratch,
                                            uint64_t longest_row) {
  uint64_t segment = (uint64_t)scratch->segment[0];
  uint64_t least = scratch->least > 0 ? (uint64_t)scratch->least : segment;
  return longest_row < least ? longest_row : segment + 64 + longest_row / (8 * least);
}

/** Fails unless kernels can take the rank. */
polyad_status pd_ordered_rank_check(polyad_context *context, uint64_t rank);

/** Describes an operation; the tables of the order are on the device. */
struct pd_gpu_sum pd_ordered_sum(uint64_t nnz, const struct pd_ordered *order,
                                 const struct pd_ordered_scratch *scratch,
                                 const struct pd_call *call);

/** Lets an MTTKRP gather the rows in bfloat16 where all inputs have them. */
void pd_ordered_take_halves(const struct pd_ordered *order, const struct pd_call *call,
                            struct pd_gpu_sum *sum);

/** Zeroes output rows without nonzeros, or says which they are where the call leaves them. */
polyad_status pd_ordered_zero_unused(polyad_context *context, const struct pd_ordered *order,
                                     const struct pd_call *call);

#endif
