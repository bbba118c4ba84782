/* Inner parts of drivers, inlined into each build for an instruction set. */
#ifndef PD_ROWSUM_DECODE_H
#define PD_ROWSUM_DECODE_H

#include "formats/rowsum/driver.h"
#include <string.h>

/** Fetches what the decoding after the next will read: the processor's own prefetcher loses the
 *  thread between one block and the next. Addresses past the end are harmless. */
static inline void pd_fetch_stream(const void *array, uint64_t item, uint64_t first) {
  const char *begin = (const char *)array + (first + 2 * PD_BLOCK) * item;
  for (uint64_t at = 0; at < PD_BLOCK * item; at += 64)
    __builtin_prefetch(begin + at, 0, 3);
}

/** Writes the addresses of the factor rows of nonzeros [first, first + count) and of PD_AHEAD
 *  after them, for the prefetch; past the end it repeats the last. `stride` is in bytes. */
static inline void pd_decode(const void *ids, int id_bytes, uint64_t nnz, const char *factor,
                             uint64_t stride, uint64_t first, uint64_t count,
                             const char **restrict row) {
  uint64_t left = nnz - first, wanted = count + PD_AHEAD;
  uint64_t some = left < wanted ? left : wanted;
  if (id_bytes == 2 && stride <= UINT32_MAX) {
    const uint16_t *id = (const uint16_t *)ids + first;
    for (uint64_t p = 0; p < some; ++p)
      row[p] = factor + (uint64_t)id[p] * (uint32_t)stride;
  } else if (id_bytes == 4 && stride <= UINT32_MAX) {
    const uint32_t *id = (const uint32_t *)ids + first;
    for (uint64_t p = 0; p < some; ++p)
      row[p] = factor + (uint64_t)id[p] * (uint32_t)stride;
  } else {
    for (uint64_t p = 0; p < some; ++p)
      row[p] = factor + pd_id_at(ids, id_bytes, first + p) * stride;
  }
  for (uint64_t p = some; p < wanted; ++p)
    row[p] = row[some - 1];
}

/** Indices of one column of a list, from nonzero `first` on. */
struct pd_ids {
  const void *at;
  int bytes; /* of one: 2, 4 or 8 */
};

/** The same for rows of a pair's table. */
static inline void pd_decode_pair(const struct pd_ids *outer, const struct pd_ids *inner,
                                  const struct pd_source *pair, uint64_t left, uint64_t stride,
                                  uint64_t count, const char **restrict row) {
  const char *table = pair->rows;
  uint64_t wanted = count + PD_AHEAD, some = left < wanted ? left : wanted;
  const uint32_t rows = (uint32_t)pair->inner; /* fewer than 2^32 rows: both modes are short */
  if (outer->bytes == 2 && inner->bytes == 2 && stride <= UINT32_MAX) {
    const uint16_t *a = outer->at, *b = inner->at;
    for (uint64_t p = 0; p < some; ++p)
      row[p] = table + (uint64_t)(a[p] * rows + b[p]) * (uint32_t)stride;
  } else if (outer->bytes == 4 && inner->bytes == 4 && stride <= UINT32_MAX) {
    const uint32_t *a = outer->at, *b = inner->at;
    for (uint64_t p = 0; p < some; ++p)
      row[p] = table + (uint64_t)(a[p] * rows + b[p]) * (uint32_t)stride;
  } else {
    for (uint64_t p = 0; p < some; ++p)
      row[p] = table + (pd_id_at(outer->at, outer->bytes, p) * pair->inner +
                        pd_id_at(inner->at, inner->bytes, p)) *
                           stride;
  }
  for (uint64_t p = some; p < wanted; ++p)
    row[p] = row[some - 1];
}

/** Unpacks `count` indices: what a loop needs is in registers, so that it is one of vectors. */
static inline void pd_unpack(const uint32_t *word, size_t step, int shift, uint32_t mask,
                             uint64_t count, uint32_t *restrict id) {
  if (step == 1)
    for (uint64_t p = 0; p < count; ++p)
      id[p] = word[p] >> shift & mask;
  else if (mask <= UINT32_MAX >> shift)
    for (uint64_t p = 0; p < count; ++p)
      id[p] = word[p * step] >> shift & mask;
  else
    for (uint64_t p = 0; p < count; ++p)
      id[p] = (uint32_t)((word[p * step] | (uint64_t)word[p * step + 1] << 32) >> shift) & mask;
}

/** The same for a permuted list. */
static inline void pd_decode_places(const struct pd_rowsum *list, int column, const char *factor,
                                    uint64_t stride, uint64_t first, uint64_t count,
                                    const char **restrict row) {
  uint64_t left = list->nnz - first, wanted = count + PD_AHEAD;
  uint64_t some = left < wanted ? left : wanted;
  for (uint64_t p = 0; p < some; ++p)
    row[p] = factor + pd_rowsum_id(list, column, first + p) * stride;
  for (uint64_t p = some; p < wanted; ++p)
    row[p] = row[some - 1];
}

/** Sums one run in all column blocks. */
static inline void pd_sum_run(const struct pd_column_blocks *blocks, uint64_t item,
                              struct pd_run *run, double *sums) {
  for (const struct pd_column_block *b = blocks->block; b < blocks->block + blocks->count; ++b) {
    run->first = b->first * item;
    run->tail = b->tail * item;
    b->kernel.run(run, sums);
    sums += b->lanes * b->vectors;
  }
}

/** dots = products of the rows of Pi that `run` multiplies together with b, a row in the order of
 * the column blocks; with a tile these rows go there, `rank` numbers each. */
static inline void pd_find_dots(const struct pd_column_blocks *blocks, uint64_t item, uint64_t rank,
                                struct pd_run *run, const void *b, char *tile, void *dots) {
  struct pd_dots to = {
      .b = b, .dots = dots, .fresh = true, .tile = tile, .tile_stride = rank * item};
  for (const struct pd_column_block *k = blocks->block; k < blocks->block + blocks->count; ++k) {
    run->first = k->first * item;
    run->tail = k->tail * item;
    k->kernel.dots(run, &to);
    to.b = (const char *)to.b + (uint64_t)(k->lanes * k->vectors) * item;
    to.fresh = false;
  }
}

/** Whether rows are laid out as the column blocks want them: no vector repeats columns. */
static inline bool pd_rows_arranged(const struct pd_column_blocks *blocks, uint64_t rank) {
  return rank % (uint64_t)blocks->block[0].lanes == 0;
}

/** Copies a row into the order of the column blocks; columns that the last vector of a block
 * repeats become 0. */
static inline void pd_arrange_row(const struct pd_column_blocks *blocks, size_t item,
                                  const void *from, void *to) {
  char *out = to;
  uint64_t taken = 0;
  for (const struct pd_column_block *b = blocks->block; b < blocks->block + blocks->count; ++b)
    for (int v = 0; v < b->vectors; ++v) {
      uint64_t column = b->first + (v == b->vectors - 1 ? b->tail : (uint64_t)(v * b->lanes));
      for (int lane = 0; lane < b->lanes; ++lane, ++column, out += item) {
        if (column < taken)
          memset(out, 0, item);
        else
          memcpy(out, (const char *)from + column * item, item);
      }
      taken = column;
    }
}

#endif
