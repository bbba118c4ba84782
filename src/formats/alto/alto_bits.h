/* Keys of format "alto": the bits of all indices of a nonzero, interleaved into one number.
 *
 * From the highest bit down, each bit halves the box that is left along its longest side, so a
 * mode gets as many bits as its length needs and no more:
 *
 *   dims 16 x 4 x 8    modes of the bits, high to low:  0  0 2  0 1 2  0 1 2
 *
 * A key of up to 128 bits is two words. */
#ifndef PD_ALTO_BITS_H
#define PD_ALTO_BITS_H

#include "core/bits.h"
#include <polyad/tensor.h>
#include <stdbool.h>

enum { PD_ALTO_BITS_MAX = 128, PD_ALTO_RUNS_MAX = 65 };

struct pd_alto_key {
  uint64_t word[2]; /* low, high */
};

/** Bits that lie side by side in the key and in the index. */
struct pd_alto_run {
  uint8_t word; /* of the key */
  uint8_t from; /* lowest bit in this word */
  uint8_t to;   /* lowest bit in the index */
  uint8_t bits;
};

/** Where the bits of one mode's index are. */
struct pd_alto_mode {
  int bits;
  int low_bits;     /* those in the low word */
  uint64_t mask[2]; /* of each word */
  int runs;
  struct pd_alto_run run[PD_ALTO_RUNS_MAX];
};

/** Deals the bits of a key; returns their number, which may be over PD_ALTO_BITS_MAX: then `mode`
 *  is not set. */
int pd_alto_interleave(int order, const uint64_t *dims, struct pd_alto_mode *mode);

/** Lays the indices side by side instead, each in one word where that can be done with `high_bits`
 *  bits in the high word: the same number of bits, and one shift and mask decode each index. */
void pd_alto_concatenate(int order, const uint64_t *dims, int high_bits, struct pd_alto_mode *mode);

/** Index of a mode by shifts and masks: what every processor can do. */
static inline uint64_t pd_alto_extract(const struct pd_alto_mode *mode, struct pd_alto_key key) {
  uint64_t index = 0;
  for (int r = 0; r < mode->runs; ++r) {
    const struct pd_alto_run *run = &mode->run[r];
    index |= (key.word[run->word] >> run->from & pd_low_mask(run->bits)) << run->to;
  }
  return index;
}

/** Puts an index of a mode into a key whose bits of this mode are zero. */
static inline void pd_alto_deposit(const struct pd_alto_mode *mode, uint64_t index,
                                   struct pd_alto_key *key) {
  for (int r = 0; r < mode->runs; ++r) {
    const struct pd_alto_run *run = &mode->run[r];
    key->word[run->word] |= (index >> run->to & pd_low_mask(run->bits)) << run->from;
  }
}

#endif
