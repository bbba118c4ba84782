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

static void encode_mode(const struct pd_alto_mode *mode, const void *index, int bytes,
                        uint64_t count, uint64_t *restrict low, uint64_t *restrict high) {
  const uint64_t low_mask = mode->mask[0], high_mask = mode->mask[1];
  const int low_bits = mode->low_bits;
  for (uint64_t p = 0; p < count && low_mask != 0; ++p)
    low[p] |= _pdep_u64(pd_alto_number(index, bytes, p), low_mask);
  for (uint64_t p = 0; p < count && high_mask != 0; ++p)
    high[p] |= _pdep_u64(pd_alto_number(index, bytes, p) >> low_bits, high_mask);
}

/* Keys of one word from indices of 4 bytes, all modes at once. */
static inline __attribute__((always_inline)) void
encode_short(int modes, const struct pd_alto_mode *mode, const void *const *index, uint64_t count,
             uint64_t *restrict low) {
  const uint32_t *from[POLYAD_MAX_ORDER];
  uint64_t mask[POLYAD_MAX_ORDER];
  for (int n = 0; n < modes; ++n) {
    from[n] = index[n];
    mask[n] = mode[n].mask[0];
  }
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t key = low[p];
#pragma GCC unroll 8
    for (int n = 0; n < modes; ++n)
      key |= _pdep_u64(from[n][p], mask[n]);
    low[p] = key;
  }
}

static void encode_pdep(int modes, const struct pd_alto_mode *mode, const void *const *index,
                        const int *bytes, uint64_t count, uint64_t *low, uint64_t *high) {
  bool is_short = high == NULL;
  for (int n = 0; n < modes; ++n)
    is_short = is_short && bytes[n] == 4;
  if (is_short && modes == 3)
    encode_short(3, mode, index, count, low);
  else if (is_short && modes == 4)
    encode_short(4, mode, index, count, low);
  else if (is_short)
    encode_short(modes, mode, index, count, low);
  else
    for (int n = 0; n < modes; ++n)
      encode_mode(&mode[n], index[n], bytes[n], count, low, high);
}

const struct pd_alto_coder pd_alto_coder_pext = {"pext", decode_pext, encode_pdep};
