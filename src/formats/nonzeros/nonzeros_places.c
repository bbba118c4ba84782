/* Finding places in lists by all threads: where runs begin, which entries are chosen. */
#include "formats/nonzeros/nonzeros.h"

enum { GRAIN_WORDS = 1 << 8 };

static uint64_t words_of(uint64_t count) { return count / 64 + (count % 64 != 0); }

/* One word of marks: bit k is place 64 w + k. */
static uint64_t nonzeros_places_mark(uint64_t count, pd_nz_chosen chosen, const void *user,
                                     uint64_t w) {
  uint64_t bits = 0, left = count - 64 * w;
  for (uint64_t k = 0; k < (left < 64 ? left : 64); ++k)
    bits |= (uint64_t)chosen(user, 64 * w + k) << k;
  return bits;
}

polyad_status pd_nz_mark(polyad_context *context, uint64_t count, pd_nz_chosen chosen,
                         const void *user, uint64_t **marks) {
  uint64_t words = words_of(count);
  PD_TRY(PD_NEW(context, words, marks));
  int threads = pd_threads_for(context, words, GRAIN_WORDS);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t w = 0; w < words; ++w)
    (*marks)[w] = nonzeros_places_mark(count, chosen, user, w);
  return POLYAD_OK;
}

/* Writes the places of the marks of words `begin` to `end` - 1. */
static void list_marks(const uint64_t *marks, uint64_t begin, uint64_t end, uint32_t *places) {
  for (uint64_t w = begin; w < end; ++w)
    for (uint64_t bits = marks[w]; bits != 0; bits &= bits - 1)
      *places++ = (uint32_t)(64 * w + (uint64_t)__builtin_ctzll(bits));
}

polyad_status pd_nz_marked(polyad_context *context, uint64_t count, const uint64_t *marks,
                           uint32_t **places, uint32_t *marked) {
  uint64_t words = words_of(count), *before = NULL, total = 0;
  int threads = pd_threads_for(context, words, GRAIN_WORDS);
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads, &before));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t own = 0, end = pd_part_begin(words, t + 1, threads);
    for (uint64_t w = pd_part_begin(words, t, threads); w < end; ++w)
      own += (uint64_t)__builtin_popcountll(marks[w]);
    before[t] = own;
  }
  for (int t = 0; t < threads; ++t) {
    uint64_t own = before[t];
    before[t] = total;
    total += own;
  }
  polyad_status status = PD_NEW(context, total + 1, places);
  if (status == POLYAD_OK) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      list_marks(marks, pd_part_begin(words, t, threads), pd_part_begin(words, t + 1, threads),
                 *places + before[t]);
    (*places)[total] = (uint32_t)count;
    *marked = (uint32_t)total;
  }
  pd_free(context, before);
  return status;
}

polyad_status pd_nz_places(polyad_context *context, uint64_t count, pd_nz_chosen chosen,
                           const void *user, uint32_t **places, uint32_t *found) {
  uint64_t *marks;
  PD_TRY(pd_nz_mark(context, count, chosen, user, &marks));
  polyad_status status = pd_nz_marked(context, count, marks, places, found);
  pd_free(context, marks);
  return status;
}

struct sorted {
  const polyad_tensor *tensor;
  const uint32_t *permutation;
  int modes, mode[POLYAD_MAX_ORDER], shift[POLYAD_MAX_ORDER]; /* that can differ above `shift` */
};

static bool run_begins(const void *user, uint64_t p) {
  const struct sorted *sorted = user;
  if (p == 0) return true;
  for (int k = 0; k < sorted->modes; ++k)
    if ((pd_tensor_index(sorted->tensor, sorted->mode[k], pd_nz_at(sorted->permutation, p - 1)) ^
         pd_tensor_index(sorted->tensor, sorted->mode[k], pd_nz_at(sorted->permutation, p))) >>
        sorted->shift[k])
      return true;
  return false;
}

polyad_status pd_nz_runs(polyad_context *context, const polyad_tensor *tensor, uint64_t count,
                         const uint32_t *permutation, const int *shift, uint32_t **start,
                         uint32_t *runs) {
  struct sorted sorted = {.tensor = tensor, .permutation = permutation};
  for (int n = 0; n < tensor->order; ++n) {
    if (shift[n] >= PD_NZ_LEFT_OUT || shift[n] >= pd_index_bits(tensor->dims[n])) continue;
    sorted.mode[sorted.modes] = n;
    sorted.shift[sorted.modes++] = shift[n];
  }
  return pd_nz_places(context, count, run_begins, &sorted, start, runs);
}
