/* The functions of tuple_block.h for one instruction set; the includer defines TABLE, the name of
 * their table. Each loop over a block does one thing without branches, so that compilers vectorise
 * it; what they cannot (registers, bits) comes last. */
#include "tensor/tuple_block.h"

/* The terms of a mode in the hashes of a block's tuples. */
static void tuple_terms(const struct pd_tuple_block *block, int mode, bool sampled,
                        uint64_t *restrict term) {
  const polyad_tensor *tensor = block->tensor;
  const uint32_t *narrow = (const uint32_t *)tensor->index[mode] + block->first;
  const uint64_t *wide = (const uint64_t *)tensor->index[mode] + block->first;
  const uint64_t factor = pd_tuple_factor(mode), count = block->count;
  if (tensor->index_bytes[mode] == 4 && sampled)
    for (uint64_t p = 0; p < count; ++p)
      term[p] = factor * narrow[p];
  else if (tensor->index_bytes[mode] == 4)
    for (uint64_t p = 0; p < count; ++p)
      term[p] = pd_tuple_term(mode, narrow[p]);
  else
    for (uint64_t p = 0; p < count; ++p)
      term[p] = sampled ? factor * wide[p] : pd_tuple_term(mode, wide[p]);
}

/* Leaves the tuples that a sample has; returns how many there are. */
static uint64_t tuple_draw(const uint64_t *restrict total, uint64_t count,
                           uint64_t *restrict drawn) {
  uint8_t is_drawn[PD_TUPLE_BLOCK];
  uint64_t some = 0;
  for (uint64_t p = 0; p < count; ++p)
    is_drawn[p] = (uint8_t)pd_tuple_drawn(total[p]);
  for (uint64_t p = 0; p < count; ++p) {
    drawn[some] = total[p];
    some += is_drawn[p];
  }
  return some;
}

static void tuple_see(const uint64_t *restrict total, uint64_t count, uint8_t *registers) {
  uint64_t hash[PD_TUPLE_BLOCK];
  for (uint64_t p = 0; p < count; ++p)
    hash[p] = pd_mix64(total[p]);
  for (uint64_t p = 0; p < count; ++p) {
    uint8_t rank = (uint8_t)pd_tuple_rank(hash[p]);
    uint8_t *place = &registers[pd_tuple_register(hash[p])];
    if (rank > *place) *place = rank;
  }
}

static void tuple_block_see(const struct pd_tuple_block *block, int modes, bool sampled,
                            uint32_t wanted, uint8_t (*registers)[PD_TUPLE_REGISTERS]) {
  uint64_t term[POLYAD_MAX_ORDER][PD_TUPLE_BLOCK], total[PD_TUPLE_BLOCK] = {0};
  uint64_t drawn[PD_TUPLE_BLOCK];
  const int order = block->tensor->order;
  const uint64_t count = block->count;
  for (int n = 0; n < order; ++n) {
    tuple_terms(block, n, sampled, term[n]);
    for (uint64_t p = 0; p < count && n < modes; ++p)
      total[p] += term[n][p];
  }
  for (int n = 0; n < order; ++n) {
    if ((wanted >> n & 1) != 0 && sampled)
      tuple_see(drawn, tuple_draw(total, count, drawn), registers[n]);
    else if ((wanted >> n & 1) != 0)
      tuple_see(total, count, registers[n]);
    const uint64_t *more = term[(n + modes) % order], *less = term[n];
    for (uint64_t p = 0; p < count; ++p)
      total[p] += more[p] - less[p];
  }
}

static void tuple_block_mark(const struct pd_tuple_block *block, int first, int modes,
                             uint64_t *bits) {
  const polyad_tensor *tensor = block->tensor;
  const uint64_t count = block->count;
  uint32_t cell[PD_TUPLE_BLOCK] = {0};
  for (int k = 0; k < modes; ++k) {
    int n = (first + k) % tensor->order;
    const uint32_t *narrow = (const uint32_t *)tensor->index[n] + block->first;
    const uint64_t *wide = (const uint64_t *)tensor->index[n] + block->first;
    const uint32_t dim = (uint32_t)tensor->dims[n];
    if (tensor->index_bytes[n] == 4)
      for (uint64_t p = 0; p < count; ++p)
        cell[p] = cell[p] * dim + narrow[p];
    else
      for (uint64_t p = 0; p < count; ++p)
        cell[p] = cell[p] * dim + (uint32_t)wide[p];
  }
  for (uint64_t p = 0; p < count; ++p)
    bits[cell[p] >> 6] |= UINT64_C(1) << (cell[p] & 63);
}

const struct pd_tuple_functions TABLE = {tuple_block_see, tuple_block_mark};
