/* Keys by the instructions pdep and pext; built with -mbmi2. */
#include "formats/alto/alto_code.h"
#include <immintrin.h>

static inline __attribute__((always_inline)) void
decode_sized(const struct pd_alto *alto, const struct pd_alto_mode *mode, int low_bytes,
             int high_bytes, uint64_t first, uint64_t count, uint64_t *restrict index) {
  const uint64_t low_mask = mode->mask[0], high_mask = mode->mask[1];
  const int low_bits = mode->low_bits;
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t bits = _pext_u64(pd_alto_number(alto->low, low_bytes, first + p), low_mask);
    if (high_bytes != 0)
      bits |= _pext_u64(pd_alto_number(alto->high, high_bytes, first + p), high_mask) << low_bits;
    index[p] = bits;
  }
}

static void decode_pext(const struct pd_alto *alto, int mode, uint64_t first, uint64_t count,
                        uint64_t *index) {
  const struct pd_alto_mode *m = &alto->field[mode];
  /* A shift by 64 means no shift; then the high word has no bits of this mode or all of them. */
  if (m->mask[1] == 0 && alto->low_bytes == 4)
    decode_sized(alto, m, 4, 0, first, count, index);
  else if (m->mask[1] == 0)
    decode_sized(alto, m, 8, 0, first, count, index);
  else if (alto->high_bytes == 4)
    decode_sized(alto, m, 8, 4, first, count, index);
  else
    decode_sized(alto, m, 8, 8, first, count, index);
}

static inline __attribute__((always_inline)) void
encode_sized(struct pd_alto_mode mode, const void *index, int index_bytes, uint64_t count,
             uint64_t *restrict low, uint64_t *restrict high) {
  const uint64_t low_mask = mode.mask[0], high_mask = mode.mask[1];
  for (uint64_t p = 0; p < count && low_mask != 0; ++p)
    low[p] |= _pdep_u64(pd_alto_number(index, index_bytes, p), low_mask);
  for (uint64_t p = 0; p < count && high_mask != 0; ++p)
    high[p] |= _pdep_u64(pd_alto_number(index, index_bytes, p) >> mode.low_bits, high_mask);
}

static void encode_pdep(const struct pd_alto_mode *mode, const void *index, int index_bytes,
                        uint64_t count, uint64_t *low, uint64_t *high) {
  if (index_bytes == 4)
    encode_sized(*mode, index, 4, count, low, high);
  else
    encode_sized(*mode, index, index_bytes, count, low, high);
}

const struct pd_alto_coder pd_alto_coder_pext = {"pext", decode_pext, encode_pdep};
