/* The functions of tuple_block.h for one instruction set; the includer defines TABLE, the name of
 * their table. Each loop over a block does one thing without branches, so that compilers vectorise
 * it; what they cannot (registers, bits) comes last. */
#include "tensor/tuple_block.h"
#include <string.h>

/* Adds the terms of a mode to the hashes of a block's tuples. */
static void tuple_add_terms(const struct pd_tuple_block *block, int mode,
                            uint64_t *restrict total) {
  const polyad_tensor *tensor = block->tensor;
  const uint32_t *narrow = (const uint32_t *)tensor->index[mode] + block->first;
  const uint64_t *wide = (const uint64_t *)tensor->index[mode] + block->first;
  const uint64_t factor = pd_tuple_factor(mode), count = block->count;
  if (tensor->index_bytes[mode] == 4)
    for (uint64_t p = 0; p < count; ++p)
      total[p] += factor * narrow[p];
  else
    for (uint64_t p = 0; p < count; ++p)
      total[p] += factor * wide[p];
}

/* The lower halves of the terms of a mode. */
static void tuple_low_terms(const struct pd_tuple_block *block, int mode, uint32_t *restrict term) {
  const polyad_tensor *tensor = block->tensor;
  const uint32_t *narrow = (const uint32_t *)tensor->index[mode] + block->first;
  const uint64_t *wide = (const uint64_t *)tensor->index[mode] + block->first;
  const uint32_t factor = (uint32_t)pd_tuple_factor(mode);
  const uint64_t count = block->count;
  if (tensor->index_bytes[mode] == 4)
    for (uint64_t p = 0; p < count; ++p)
      term[p] = factor * narrow[p];
  else
    for (uint64_t p = 0; p < count; ++p)
      term[p] = factor * (uint32_t)wide[p];
}

static inline void tuple_raise(uint64_t hash, uint8_t *registers) {
  uint8_t rank = (uint8_t)pd_tuple_rank(hash);
  uint8_t *place = &registers[pd_tuple_register(hash)];
  if (rank > *place) *place = rank;
}

static void tuple_see(const struct pd_tuple_block *block, int n, int modes, uint8_t *registers) {
  uint64_t total[PD_TUPLE_BLOCK] = {0};
  for (int k = 0; k < modes; ++k)
    tuple_add_terms(block, (n + k) % block->tensor->order, total);
  for (uint64_t p = 0; p < block->count; ++p)
    total[p] = pd_mix64(total[p]);
  for (uint64_t p = 0; p < block->count; ++p)
    tuple_raise(total[p], registers);
}

/* Sees the tuples that a sample has, whose hashes are computed whole. Flags become bits of a word
 * first: a loop over the bits of 64 nonzeros is left once, one over those of eight eight times,
 * each time at a number of bits that no processor foresees. */
static void tuple_see_drawn(const struct pd_tuple_block *block, int n, int modes,
                            const uint32_t *restrict low, uint8_t *registers) {
  enum { AT_ONCE = 64 };
  uint8_t is_drawn[PD_TUPLE_BLOCK + AT_ONCE] = {0};
  uint64_t factor[POLYAD_MAX_ORDER];
  int mode[POLYAD_MAX_ORDER];
  for (int k = 0; k < modes; ++k) {
    mode[k] = (n + k) % block->tensor->order;
    factor[k] = pd_tuple_factor(mode[k]);
  }
  for (uint64_t p = 0; p < block->count; ++p)
    is_drawn[p] = (uint8_t)pd_tuple_drawn(low[p]);
  for (uint64_t p = 0; p < block->count; p += AT_ONCE) {
    uint64_t some = 0;
    for (uint64_t k = 0; k < AT_ONCE; k += 8) {
      uint64_t flags;
      memcpy(&flags, is_drawn + p + k, sizeof flags);
      some |= (flags * UINT64_C(0x0102040810204080) >> 56) << k;
    }
    for (; some != 0; some &= some - 1) {
      uint64_t at = block->first + p + (uint64_t)__builtin_ctzll(some), total = 0;
      for (int k = 0; k < modes; ++k)
        total += factor[k] * pd_tensor_index(block->tensor, mode[k], at);
      tuple_raise(pd_mix64(total), registers);
    }
  }
}

/* From each mode on: a tuple's sum of terms is that of the mode before, without its first term and
 * with the next. */
static void tuple_block_sample(const struct pd_tuple_block *block, int modes, uint32_t wanted,
                               uint8_t (*registers)[PD_TUPLE_REGISTERS]) {
  uint32_t term[POLYAD_MAX_ORDER][PD_TUPLE_BLOCK], total[PD_TUPLE_BLOCK] = {0};
  const int order = block->tensor->order;
  const uint64_t count = block->count;
  for (int n = 0; n < order; ++n) {
    tuple_low_terms(block, n, term[n]);
    for (uint64_t p = 0; p < count && n < modes; ++p)
      total[p] += term[n][p];
  }
  for (int n = 0; n < order; ++n) {
    if ((wanted >> n & 1) != 0) tuple_see_drawn(block, n, modes, total, registers[n]);
    const uint32_t *more = term[(n + modes) % order], *less = term[n];
    for (uint64_t p = 0; p < count; ++p)
      total[p] += more[p] - less[p];
  }
}

static void tuple_block_see(const struct pd_tuple_block *block, int modes, bool sampled,
                            uint32_t wanted, uint8_t (*registers)[PD_TUPLE_REGISTERS]) {
  if (sampled) {
    tuple_block_sample(block, modes, wanted, registers);
    return;
  }
  for (int n = 0; n < block->tensor->order; ++n)
    if ((wanted >> n & 1) != 0) tuple_see(block, n, modes, registers[n]);
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
  /* Without the last mode, neighbours of a sorted tensor have the same cell: a bit that is set is
   * only read, as a word that was written must be waited for. */
  const bool repeat = first + modes < tensor->order;
  for (uint64_t p = 0; p < count && repeat; ++p) {
    uint64_t *word = &bits[cell[p] >> 6], bit = UINT64_C(1) << (cell[p] & 63);
    if ((*word & bit) == 0) *word |= bit;
  }
  for (uint64_t p = 0; p < count && !repeat; ++p)
    bits[cell[p] >> 6] |= UINT64_C(1) << (cell[p] & 63);
}

static uint64_t tuple_block_changes(const struct pd_tuple_block *block, int modes) {
  uint32_t differs[PD_TUPLE_BLOCK] = {0};
  uint64_t changes = 0;
  for (int n = 0; n < modes; ++n) {
    const uint32_t *narrow = (const uint32_t *)block->tensor->index[n] + block->first;
    const uint64_t *wide = (const uint64_t *)block->tensor->index[n] + block->first;
    if (block->tensor->index_bytes[n] == 4)
      for (uint64_t p = 0; p < block->count; ++p)
        differs[p] |= narrow[p] ^ narrow[p - 1];
    else
      for (uint64_t p = 0; p < block->count; ++p)
        differs[p] |= wide[p] != wide[p - 1];
  }
  for (uint64_t p = 0; p < block->count; ++p)
    changes += differs[p] != 0;
  return changes;
}

const struct pd_tuple_functions TABLE = {tuple_block_see, tuple_block_mark, tuple_block_changes};
