/* What a format gives to those who want its nonzeros output row by output row, with the indices of
 * the other modes: the CPU's tensor-times-matrix chain, and methods that solve row by row. */
#ifndef PD_TTMC_SOURCE_H
#define PD_TTMC_SOURCE_H

#include "formats/format.h"

enum { PD_TTMC_BLOCK = 128 }; /* nonzeros that are decoded at once */

/** Decoded nonzeros. */
struct pd_ttmc_block {
  uint64_t row[PD_TTMC_BLOCK];                     /* of the output */
  uint64_t index[POLYAD_MAX_ORDER][PD_TTMC_BLOCK]; /* of each column */
  double value[PD_TTMC_BLOCK];
  uint64_t hint[POLYAD_MAX_ORDER]; /* where the decoder was, one number per level; its own */
};

/** Nonzeros put in the order of their output rows where the storage has another order: segments
 *  of consecutive nonzeros, each of one output row. */
struct pd_ttmc_order {
  uint64_t segments; /* 0: the storage's own order */
  int bytes;         /* of one `first`: 4 or 8 */
  void *first;       /* where each segment begins in the storage */
  uint64_t *begin;   /* segments + 1: places in this order; NULL: one nonzero each */
};

struct pd_ttmc_source {
  const void *storage;
  int mode; /* of the output */
  polyad_type type;
  uint64_t nnz;
  int columns;                        /* input modes */
  int column_mode[POLYAD_MAX_ORDER];  /* of each column: those whose indices change least come
                                         first, since what is summed below them is shared */
  const struct pd_ttmc_order *sorted; /* NULL: the storage's own order has ascending rows */
  /** Decodes the nonzeros at these places of the storage. */
  void (*decode)(const struct pd_ttmc_source *source, uint64_t count, const uint64_t *place,
                 struct pd_ttmc_block *block);
};

/** Decodes the nonzeros [first, first + count) in the order of their rows; count is 1 to
 *  PD_TTMC_BLOCK. Set block->hint to zero before the first call. */
void pd_ttmc_decode(const struct pd_ttmc_source *source, uint64_t first, uint64_t count,
                    struct pd_ttmc_block *block);

/** Of ascending `start` (nodes + 1 numbers) the node whose interval holds x, near `hint`. */
uint64_t pd_ttmc_find(const void *start, int bytes, uint64_t nodes, uint64_t hint, uint64_t x);

/** Sorts segments by their output row, stably. `row` and `start` give row and first nonzero of
 *  segment k of `count` (start may be asked for k = count, too); a NULL `start` means that
 *  segment k is nonzero k. Segments of a row are sorted by their indices in `inner` modes, which
 * `row` gives then as well. */
struct pd_ttmc_segments {
  const void *storage;
  int mode;
  uint64_t dim, count;
  uint64_t (*row)(const void *storage, int mode, uint64_t k);
  uint64_t (*start)(const void *storage, int mode, uint64_t k);
  int inner, inner_mode[POLYAD_MAX_ORDER];
  const uint64_t *dims; /* of all modes; not used without inner ones */
};
polyad_status pd_ttmc_order_create(polyad_context *context, const struct pd_ttmc_segments *segments,
                                   struct pd_ttmc_order *order);
void pd_ttmc_order_clear(polyad_context *context, struct pd_ttmc_order *order);
/** Bytes it takes; `single`: segments of one nonzero. */
uint64_t pd_ttmc_order_bytes(uint64_t segments, bool single);

#endif
