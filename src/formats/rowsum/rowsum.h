/* Sums by output row: the CPU's MTTKRP of nonzeros in an order that suits the output mode.
 *
 *   row_id     [ 2 | 5 | 6 ... ]            output row of each run
 *   row_start  [ 0 | 3 | 4 ... | nnz ]      where its nonzeros begin
 *   id[0]      [ 7 9 9 | 1 | ... ]          index in the first other mode, one per nonzero
 *   id[1]      [ 0 4 5 | 3 | ... ]          ... and so on
 *   values     [ x x x | x | ... ]
 *
 * Plain lists are sorted by row: every row is one run. Tiled lists are sorted by block of output
 * rows, then by tile (a box of the other modes' indices), then by row: the rows of a block are
 * summed in a buffer, and all factor rows of a tile stay in the cache while they are needed.
 *
 * Threads take equal numbers of nonzeros. A row (or block) that spans threads is summed from their
 * parts in the order of the threads, so the result depends on the number of threads only. */
#ifndef PD_ROWSUM_H
#define PD_ROWSUM_H

#include "core/core.h"
#include "engine/op.h"
#include "formats/versions.h"
#include <polyad/tensor.h>

struct pd_rowsum {
  uint64_t nnz, runs;
  int start_bytes;                /* of one row_start: 4 or 8 */
  int row_bytes;                  /* of one row_id: 4 or 8; 0: run k is output row k */
  const void *row_start;          /* runs + 1 */
  const void *row_id;             /* runs */
  int block_shift;                /* a block has 2^block_shift rows; tiled lists only */
  uint64_t blocks;                /* non-empty blocks; 0: a plain list */
  const uint64_t *block_start;    /* blocks + 1: first run of each block */
  int columns;                    /* other modes, 0 or more */
  int mode[POLYAD_MAX_ORDER];     /* which mode each column belongs to */
  int id_bytes[POLYAD_MAX_ORDER]; /* 2, 4 or 8 */
  const void *id[POLYAD_MAX_ORDER];
  const void *values; /* of the type of the factors */
  /* A permuted list keeps only its order: nonzero p is number place[p] of the arrays in id and
   * values, which all lists share and which somebody else owns. Rows that threads share are summed
   * by atomic additions. NULL: a list of its own. */
  const void *place;
  int place_bytes; /* 4 or 8 */
  /* A packed list, a view of what somebody else owns, has each index in bits of a word of 32 bits,
   * or of two neighbouring ones: (word p * step of id[g] >> shift[g]) & mask[g]. 0: not packed. */
  int step;
  int shift[POLYAD_MAX_ORDER];
  uint32_t mask[POLYAD_MAX_ORDER];
  bool inside;          /* the value of nonzero p is at word p * step of values */
  bool scattered;       /* rows do not ascend: `used` tells which of the output have nonzeros */
  const uint32_t *used; /* bit i % 32 of word i / 32: row i has; NULL: all have */
};

/** Memory of running jobs of one type and rank, and the kernels they use. */
struct pd_rowsum_scratch;

/** `threads` is what jobs will run with; `block_rows` the most rows that a block of their lists
 *  has (1 when all are plain). A part of the workspace `owner`. */
polyad_status pd_rowsum_scratch_create(struct pd_scratch *owner, polyad_type type, uint64_t rank,
                                       uint64_t block_rows, int threads,
                                       struct pd_rowsum_scratch **scratch);
/** Lets `threads` threads carry out the parts that scratch was made for: results then depend on the
 *  number of parts alone. */
void pd_rowsum_share_parts(struct pd_rowsum_scratch *scratch, int threads);
/** Room for tables of pairs of short modes (see pair_tables.h), which jobs then use. */
polyad_status pd_rowsum_scratch_add_tables(struct pd_rowsum_scratch *scratch, uint64_t bytes);
/** Bytes of the tables that jobs of a list can use. */
uint64_t pd_pair_tables_bytes(const struct pd_rowsum *list, const uint64_t *dims, polyad_type type,
                              uint64_t rank);
/** Bytes that it takes, tables not counted. */
uint64_t pd_rowsum_scratch_bytes(uint64_t rank, uint64_t block_rows, int threads);
/** Numbers that one vector of the kernels holds. */
int pd_rowsum_lanes(polyad_type type, uint64_t rank);
/** The most additions of floats on the way into a row of at most `longest_row` terms; see the slot
 *  sum_depth of struct polyad_kernels. */
uint64_t pd_rowsum_depth(const struct pd_rowsum *list, uint64_t longest_row);
/** Rows of one block, 1 for a plain list. */
uint64_t pd_rowsum_block_rows(const struct pd_rowsum *list);

/** What one call works on. Factors and `out` are row major, strides in elements. */
struct pd_rowsum_job {
  const struct pd_rowsum *list;
  polyad_type type;
  uint64_t rank;
  const void *factor[POLYAD_MAX_ORDER]; /* one per column */
  uint64_t stride[POLYAD_MAX_ORDER];
  uint64_t factor_rows[POLYAD_MAX_ORDER];
  uint64_t version[POLYAD_MAX_ORDER]; /* of the factors; 0: not known */
  void *out;
  uint64_t out_rows, out_stride;
  /* Where the model is needed; b NULL: MTTKRP. */
  const void *b; /* the output mode's factor with the weights in it, out_rows x rank */
  uint64_t b_stride;
  struct pd_loss loss;
  const void *pi; /* rows of Pi from pd_rowsum_pi(); NULL: made on the fly */
};

/** The job of an operation on a list; only the lists of the call's mode have its output. */
struct pd_rowsum_job pd_rowsum_job_of(const struct pd_rowsum *list, polyad_type type,
                                      const struct pd_call *call);
/** out = sums; wholly overwritten. With `b` every value is first replaced by the slope of
 *  the loss's gain at the model, <row of b, row of Pi>: for the Poisson loss the sums are Phi. */
void pd_rowsum_run(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch);
/** Makes rows [begin, end) of the output zero, if there is one. */
void pd_rowsum_zero(const struct pd_rowsum_job *job, uint64_t begin, uint64_t end);
/** The sum of the loss's gain; `out` is not used. */
double pd_rowsum_gain(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch);
/** Memory for the rows of Pi of one mode, kept in the scratch; pd_rowsum_stored_pi() gives it back
 *  for that mode, NULL for others, and in `versions` what the rows were made from. */
polyad_status pd_rowsum_pi_room(polyad_context *context, struct pd_rowsum_scratch *scratch,
                                int mode, uint64_t nnz, polyad_type type, uint64_t rank,
                                void **room);
const void *pd_rowsum_stored_pi(struct pd_rowsum_scratch *scratch, int mode,
                                struct pd_versions **versions);
/** pi = the rows of Pi, the products of the other modes' rows: nnz x rank in the list's order. */
void pd_rowsum_pi(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch, void *pi);

#endif
