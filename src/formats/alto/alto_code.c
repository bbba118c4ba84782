#include "formats/alto/alto_code.h"
#include "core/isa.h"

/* ---- by shifts and masks ------------------------------------------------------------------- */

/* One run for all nonzeros after the other: loops without branches that compilers vectorise. */
static inline __attribute__((always_inline)) void decode_run(const struct pd_alto_run *run,
                                                             const void *word, int bytes,
                                                             uint64_t first, uint64_t count,
                                                             bool fresh, uint64_t *restrict index) {
  const uint64_t mask = pd_low_mask(run->bits);
  const int from = run->from, to = run->to;
  for (uint64_t p = 0; p < count; ++p) {
    uint64_t bits = (pd_alto_number(word, bytes, first + p) >> from & mask) << to;
    index[p] = fresh ? bits : index[p] | bits;
  }
}

static void decode_shifts(const struct pd_alto *alto, int mode, uint64_t first, uint64_t count,
                          uint64_t *index) {
  const struct pd_alto_mode *m = &alto->field[mode];
  if (m->runs == 0)
    for (uint64_t p = 0; p < count; ++p)
      index[p] = 0;
  for (int r = 0; r < m->runs; ++r) {
    const struct pd_alto_run *run = &m->run[r];
    const void *word = run->word == 0 ? alto->low : alto->high;
    int bytes = run->word == 0 ? alto->low_bytes : alto->high_bytes;
    if (bytes == 4 && r == 0)
      decode_run(run, word, 4, first, count, true, index);
    else if (bytes == 4)
      decode_run(run, word, 4, first, count, false, index);
    else
      decode_run(run, word, 8, first, count, r == 0, index);
  }
}

static void encode_shifts(int modes, const struct pd_alto_mode *mode, const void *const *index,
                          const int *bytes, uint64_t count, uint64_t *low, uint64_t *high) {
  for (uint64_t p = 0; p < count; ++p) {
    struct pd_alto_key key = {{low[p], high == NULL ? 0 : high[p]}};
    for (int n = 0; n < modes; ++n)
      pd_alto_deposit(&mode[n], pd_alto_number(index[n], bytes[n], p), &key);
    low[p] = key.word[0];
    if (high != NULL) high[p] = key.word[1];
  }
}

const struct pd_alto_coder pd_alto_coder_shifts = {"shifts", decode_shifts, encode_shifts};

/* ---- which of them ------------------------------------------------------------------------- */

const struct pd_alto_coder *pd_alto_coder_current(void) {
#if defined(__x86_64__)
  if (pd_isa_has_pext()) return &pd_alto_coder_pext;
#endif
  return &pd_alto_coder_shifts;
}

/* ---- variants coo ---------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
read_sized(const void *array, int bytes, uint64_t first, uint64_t count, uint64_t *restrict index) {
  for (uint64_t p = 0; p < count; ++p)
    index[p] = pd_alto_number(array, bytes, first + p);
}

/* Indices of a storage of variants coo. */
static void read_stored_indices(const struct pd_alto *alto, int mode, uint64_t first,
                                uint64_t count, uint64_t *index) {
  const void *array = alto->index[mode];
  if (alto->index_bytes[mode] == 2)
    read_sized(array, 2, first, count, index);
  else if (alto->index_bytes[mode] == 4)
    read_sized(array, 4, first, count, index);
  else
    read_sized(array, 8, first, count, index);
}

pd_alto_decode_function *pd_alto_decoder(const struct pd_alto *alto) {
  return alto->decoded ? read_stored_indices : pd_alto_coder_current()->decode;
}
