/* What is done to all records of a block at once, for each instruction set: bits are moved into
 * words and out of them. */
#ifndef PD_PACK_BLOCK_H
#define PD_PACK_BLOCK_H

#include "build/layout.h"

enum { PD_COUNT_BITS_MOST = 24 /* of whole numbers that are packed as such */ };

struct pd_pack_functions {
  /** Adds a piece of indices of `bytes` bytes to a word of each record. */
  void (*add_piece)(const struct pd_piece *piece, int bytes, const void *index, uint64_t count,
                    uint64_t *word);
  /** Adds values that are whole numbers. */
  void (*add_counts)(polyad_type type, const void *values, uint64_t count, uint64_t *word);
  /** Unpacks the index of some pieces, in numbers of `bytes` bytes. */
  void (*index)(const struct pd_piece *piece, int pieces, uint64_t count, const uint64_t *records,
                int words, int bytes, void *to);
  /** Unpacks values that are whole numbers from every words-th word. */
  void (*counts)(const struct pd_layout *layout, uint64_t count, const uint64_t *last, void *to);
  /** All bits of the values as whole numbers; UINT32_MAX when one is none of PD_COUNT_BITS_MOST
   * bits, or negative, or minus zero. */
  uint32_t (*count_bits)(polyad_type type, const void *values, uint64_t count);
  /** Makes *least the least of it and the numbers, *most the largest. */
  void (*range)(const uint64_t *number, uint64_t count, uint64_t *least, uint64_t *most);
};

/** Those of the instruction set that is used. */
const struct pd_pack_functions *pd_pack_block_functions(void);

#endif
