/* What is done to a block of nonzeros when distinct tuples of indices are counted
 * (tensor_fibers.c): hashes and numbers of cells, for each instruction set. */
#ifndef PD_TUPLE_BLOCK_H
#define PD_TUPLE_BLOCK_H

#include "tensor/tensor.h"
#include "tensor/tuple_hash.h"

enum { PD_TUPLE_BLOCK = 256 };

/** Nonzeros [first, first + count) of a tensor, at most PD_TUPLE_BLOCK of them. */
struct pd_tuple_block {
  const polyad_tensor *tensor;
  uint64_t first, count;
};

struct pd_tuple_functions {
  /** Raises the registers of the modes whose bit is in `wanted` to the ranks of the tuples of
   *  `modes` modes from each on, or of the `sampled` ones among them. */
  void (*see)(const struct pd_tuple_block *block, int modes, bool sampled, uint32_t wanted,
              uint8_t (*registers)[PD_TUPLE_REGISTERS]);
  /** Sets the bits of the cells in `modes` modes from mode `first` on, of which there are fewer
   * than 2^32. */
  void (*mark)(const struct pd_tuple_block *block, int first, int modes, uint64_t *bits);
  /** How many nonzeros differ from the one before in one of the first `modes` modes; the first of
   *  the block has one before it. */
  uint64_t (*changes)(const struct pd_tuple_block *block, int modes);
};

#endif
