#include "tensor/tensor_fibers.h"
#include "core/radix_sort.h"
#include "tensor/tuple_hash.h"
#include <math.h>
#include <string.h>

enum {
  THREAD_GRAIN = 1 << 14,
  REGISTERS = PD_TUPLE_REGISTERS,
  BLOCK = 256,
  CELLS_MOST = 1 << 23, /* a megabyte of bits for each thread */
  CELLS_THREADS = 16
};

/* Places where the coordinate without the last mode changes; the tensor is sorted. */
static uint64_t count_last(const polyad_context *context, const polyad_tensor *tensor) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN), last = tensor->order - 1;
  uint64_t changes = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changes)
  for (uint64_t p = 1; p < tensor->nnz; ++p)
    for (int n = 0; n < last; ++n)
      if (pd_tensor_index(tensor, n, p) != pd_tensor_index(tensor, n, p - 1)) {
        ++changes;
        break;
      }
  return tensor->nnz == 0 ? 0 : changes + 1;
}

/* ---- exactly --------------------------------------------------------------------------------- */

static bool tensor_fibers_differs(int key_count, const struct pd_key *keys, uint32_t p,
                                  uint32_t q) {
  for (int k = 0; k < key_count; ++k)
    if (keys[k].bytes == 4
            ? ((const uint32_t *)keys[k].values)[p] != ((const uint32_t *)keys[k].values)[q]
            : ((const uint64_t *)keys[k].values)[p] != ((const uint64_t *)keys[k].values)[q])
      return true;
  return false;
}

static polyad_status count_by_sorting(polyad_context *context, const polyad_tensor *tensor,
                                      uint32_t *permutation, uint64_t *fibers) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  for (int mode = 0; mode < tensor->order - 1; ++mode) {
    struct pd_key keys[POLYAD_MAX_ORDER];
    int count = 0;
    for (int n = 0; n < tensor->order; ++n)
      if (n != mode)
        keys[count++] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
    PD_TRY(pd_sort_permutation(context, tensor->nnz, count, keys, 4, permutation));
    uint64_t changes = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changes)
    for (uint64_t p = 1; p < tensor->nnz; ++p)
      changes += tensor_fibers_differs(count, keys, permutation[p - 1], permutation[p]);
    fibers[mode] = changes + 1;
  }
  return POLYAD_OK;
}

/* ---- estimated ------------------------------------------------------------------------------- */

static inline void see(uint8_t *registers, uint64_t hash) {
  uint8_t rank = (uint8_t)pd_tuple_rank(hash), *place = &registers[pd_tuple_register(hash)];
  if (rank > *place) *place = rank;
}

/* Tuples of indices in `modes` modes of the cyclic order, from each mode on. The
 * terms of a block stay in the nearest cache, as do the registers of one mode. */
static void see_block(const polyad_tensor *tensor, int modes, uint64_t first, uint64_t count,
                      uint8_t (*registers)[REGISTERS]) {
  uint64_t term[POLYAD_MAX_ORDER][BLOCK], total[BLOCK] = {0};
  const int order = tensor->order;
  for (int n = 0; n < order; ++n)
    for (uint64_t p = 0; p < count; ++p) {
      term[n][p] = pd_tuple_term(n, pd_tensor_index(tensor, n, first + p));
      if (n < modes) total[p] += term[n][p];
    }
  for (int n = 0; n < order; ++n)
    for (uint64_t p = 0; p < count; ++p) {
      see(registers[n], pd_mix64(total[p]));
      total[p] += term[(n + modes) % order][p] - term[n][p];
    }
}

/* As above for sampled tuples, which a cheaper hash picks: a sum of the indices, each times an odd
 * number of its mode. */
static void sample_block(const polyad_tensor *tensor, int modes, uint64_t first, uint64_t count,
                         uint8_t (*registers)[REGISTERS]) {
  uint64_t factor[POLYAD_MAX_ORDER], total[BLOCK] = {0};
  const int order = tensor->order;
  for (int n = 0; n < order; ++n) {
    factor[n] = pd_tuple_factor(n);
    for (uint64_t p = 0; p < count && n < modes; ++p)
      total[p] += factor[n] * pd_tensor_index(tensor, n, first + p);
  }
  for (int n = 0; n < order; ++n) {
    int next = (n + modes) % order;
    for (uint64_t p = 0; p < count; ++p) {
      if (pd_tuple_drawn(total[p])) see(registers[n], pd_mix64(total[p]));
      total[p] += factor[next] * pd_tensor_index(tensor, next, first + p) -
                  factor[n] * pd_tensor_index(tensor, n, first + p);
    }
  }
}

typedef void (*block_function)(const polyad_tensor *tensor, int modes, uint64_t first,
                               uint64_t count, uint8_t (*registers)[REGISTERS]);

static void see_part(const polyad_tensor *tensor, int modes, uint64_t begin, uint64_t end,
                     block_function block, uint8_t (*registers)[REGISTERS]) {
  for (; begin < end; begin += BLOCK)
    block(tensor, modes, begin, end - begin < BLOCK ? end - begin : BLOCK, registers);
}

static double estimate(const uint8_t *registers) {
  double sum = 0, bias = 0.7213 / (1 + 1.079 / REGISTERS);
  int empty = 0;
  for (int k = 0; k < REGISTERS; ++k) {
    sum += ldexp(1, -registers[k]);
    empty += registers[k] == 0;
  }
  double count = bias * REGISTERS * REGISTERS / sum;
  if (count <= 2.5 * REGISTERS && empty > 0) /* few: registers that stayed empty tell more */
    return REGISTERS * log((double)REGISTERS / empty);
  return count;
}

/* The host's: the first thread has the registers, the others have their own until the end. */
static polyad_status see_all(polyad_context *context, const polyad_tensor *tensor, int modes,
                             bool sampled, uint8_t (*registers)[REGISTERS]) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN), order = tensor->order;
  uint64_t others = (uint64_t)(threads - 1) * (uint64_t)order;
  uint8_t(*own)[REGISTERS];
  PD_TRY(PD_NEW_ZERO(context, others, &own));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    see_part(tensor, modes, pd_part_begin(tensor->nnz, part, threads),
             pd_part_begin(tensor->nnz, part + 1, threads), sampled ? sample_block : see_block,
             part == 0 ? registers : own + (part - 1) * order);
  for (uint64_t o = 0; o < others; ++o)
    for (int k = 0; k < REGISTERS; ++k) {
      uint8_t *place = &registers[o % (uint64_t)order][k];
      if (own[o][k] > *place) *place = own[o][k];
    }
  pd_free(context, own);
  return POLYAD_OK;
}

/* count[n] = distinct tuples of `modes` modes from mode n on. */
static polyad_status count_distinct(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_tuple_source *source, int modes, bool sampled,
                                    double count[POLYAD_MAX_ORDER]) {
  uint8_t(*registers)[REGISTERS];
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)tensor->order, &registers));
  polyad_status status = source == NULL
                             ? see_all(context, tensor, modes, sampled, registers)
                             : source->see(context, source->user, modes, sampled, registers[0]);
  for (int n = 0; n < tensor->order; ++n)
    count[n] = estimate(registers[n]);
  pd_free(context, registers);
  return status;
}

/* ---- exactly, of few possible ones ----------------------------------------------------------- */

/* How many tuples of `modes` modes from mode `first` on there can be. */
static uint64_t cells_of(const polyad_tensor *tensor, int first, int modes) {
  uint64_t cells = 1;
  for (int k = 0; k < modes; ++k)
    cells = pd_mul_saturated(cells, tensor->dims[(first + k) % tensor->order]);
  return cells;
}

static void mark_cells(const polyad_tensor *tensor, int first, int modes, uint64_t begin,
                       uint64_t end, uint64_t *bits) {
  uint64_t cell[BLOCK];
  for (uint64_t from = begin; from < end; from += BLOCK) {
    uint64_t size = end - from < BLOCK ? end - from : BLOCK;
    memset(cell, 0, sizeof cell);
    for (int k = 0; k < modes; ++k) {
      int n = (first + k) % tensor->order;
      for (uint64_t p = 0; p < size; ++p)
        cell[p] = cell[p] * tensor->dims[n] + pd_tensor_index(tensor, n, from + p);
    }
    for (uint64_t p = 0; p < size; ++p)
      bits[cell[p] >> 6] |= UINT64_C(1) << (cell[p] & 63);
  }
}

/* A bit for each cell, of each thread; a device has one for all. */
static polyad_status count_cells(polyad_context *context, const polyad_tensor *tensor,
                                 const struct pd_tuple_source *source, int first, int modes,
                                 uint64_t cells, double *count) {
  int threads = source != NULL ? 1 : pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  polyad_status status = POLYAD_OK;
  uint64_t words = cells / 64 + 1, found = 0, *bits;
  if (threads > CELLS_THREADS) threads = CELLS_THREADS;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads * words, &bits));
  if (source != NULL) status = source->mark(context, source->user, first, modes, words, bits);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < (source == NULL ? threads : 0); ++part)
    mark_cells(tensor, first, modes, pd_part_begin(tensor->nnz, part, threads),
               pd_part_begin(tensor->nnz, part + 1, threads), bits + (uint64_t)part * words);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : found)
  for (uint64_t w = 0; w < words; ++w) {
    uint64_t all = bits[w];
    for (int part = 1; part < threads; ++part)
      all |= bits[(uint64_t)part * words + w];
    found += (uint64_t)__builtin_popcountll(all);
  }
  *count = (double)found;
  pd_free(context, bits);
  return status;
}

/* Exactly where few are possible; else from a sample where there are enough, or from all. */
static polyad_status count_sampled(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_tuple_source *source, int modes,
                                   double count[POLYAD_MAX_ORDER]) {
  double least = INFINITY, exact[POLYAD_MAX_ORDER];
  bool known[POLYAD_MAX_ORDER] = {false}, all = true;
  for (int n = 0; n < tensor->order; ++n) {
    uint64_t cells = cells_of(tensor, n, modes);
    known[n] = cells <= CELLS_MOST;
    all &= known[n];
    if (known[n]) PD_TRY(count_cells(context, tensor, source, n, modes, cells, &exact[n]));
  }
  bool sample = tensor->nnz >= PD_FIBERS_SAMPLED_LEAST;
  if (!all) PD_TRY(count_distinct(context, tensor, source, modes, sample, count));
  for (int n = 0; n < tensor->order; ++n) {
    if (known[n]) continue;
    if (sample) count[n] *= PD_TUPLE_SAMPLE_RATE;
    least = fmin(least, count[n]);
  }
  if (sample && least < PD_FIBERS_SAMPLED_LEAST)
    PD_TRY(count_distinct(context, tensor, source, modes, false, count));
  for (int n = 0; n < tensor->order; ++n)
    if (known[n]) count[n] = exact[n];
  return POLYAD_OK;
}

static uint64_t round_count(const polyad_tensor *tensor, double count) {
  return round(count) < (double)tensor->nnz ? (uint64_t)round(count) : tensor->nnz;
}

/* A fiber along a mode is a tuple of all modes that follow it. */
static void round_fibers(const polyad_tensor *tensor, const double *count, uint64_t *fibers) {
  for (int n = 0; n < tensor->order; ++n)
    fibers[n] = round_count(tensor, count[(n + 1) % tensor->order]);
}

polyad_status pd_tensor_estimate_fibers(polyad_context *context, const polyad_tensor *tensor,
                                        uint64_t fibers[POLYAD_MAX_ORDER]) {
  double count[POLYAD_MAX_ORDER];
  PD_TRY(count_distinct(context, tensor, NULL, tensor->order - 1, false, count));
  round_fibers(tensor, count, fibers);
  return POLYAD_OK;
}

polyad_status pd_tensor_sample_fibers(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_tuple_source *source,
                                      uint64_t fibers[POLYAD_MAX_ORDER]) {
  double count[POLYAD_MAX_ORDER];
  PD_TRY(count_sampled(context, tensor, source, tensor->order - 1, count));
  round_fibers(tensor, count, fibers);
  return POLYAD_OK;
}

polyad_status pd_tensor_sample_tuples(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_tuple_source *source,
                                      uint64_t tuples[POLYAD_MAX_ORDER][POLYAD_MAX_ORDER]) {
  double count[POLYAD_MAX_ORDER];
  for (int modes = 2; modes < tensor->order - 1; ++modes) {
    PD_TRY(count_sampled(context, tensor, source, modes, count));
    for (int n = 0; n < tensor->order; ++n)
      tuples[n][modes] = round_count(tensor, count[n]);
  }
  return POLYAD_OK;
}

polyad_status pd_tensor_count_fibers(polyad_context *context, const polyad_tensor *tensor,
                                     uint64_t fibers[POLYAD_MAX_ORDER], int *exact) {
  *exact = tensor->nnz <= PD_FIBERS_EXACT_NNZ;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    fibers[n] = 0;
  if (tensor->nnz == 0) return POLYAD_OK;
  if (*exact) {
    uint32_t *permutation;
    PD_TRY(PD_NEW(context, tensor->nnz, &permutation));
    polyad_status status = count_by_sorting(context, tensor, permutation, fibers);
    pd_free(context, permutation);
    PD_TRY(status);
  } else {
    PD_TRY(pd_tensor_estimate_fibers(context, tensor, fibers));
  }
  fibers[tensor->order - 1] = count_last(context, tensor);
  return POLYAD_OK;
}
