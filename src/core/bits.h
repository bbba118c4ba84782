/* Small questions about bits. */
#ifndef PD_BITS_H
#define PD_BITS_H

#include <stdint.h>

/** Bits that the number has without leading zeros: 0 for 0, 3 for 5. */
static inline int pd_bit_length(uint64_t number) {
  return number == 0 ? 0 : 64 - __builtin_clzll(number);
}

/** A number whose lowest `bits` bits are set; `bits` is 0 to 64. */
static inline uint64_t pd_low_mask(int bits) {
  return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

#endif
