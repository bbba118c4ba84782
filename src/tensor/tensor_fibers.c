#include "tensor/tensor_fibers.h"
#include "core/isa.h"
#include "core/radix_sort.h"
#include "tensor/tuple_block.h"
#include <math.h>

enum {
  THREAD_GRAIN = 1 << 14,
  REGISTERS = PD_TUPLE_REGISTERS,
  CELLS_MOST = 1 << 23,    /* a megabyte of bits for each thread */
  CELLS_AT_ONCE = 1 << 18, /* bits that stay in the nearest cache: no dearer than a sample */
  CELLS_THREADS = 16
};

extern const struct pd_tuple_functions pd_tuple_functions_plain, pd_tuple_functions_avx2,
    pd_tuple_functions_avx512;
static const struct pd_tuple_functions *const tuple_functions[] =
    PD_FOR_EACH_ISA(&pd_tuple_functions);

static uint64_t part_size(uint64_t count, int part, int parts) {
  return pd_part_begin(count, part + 1, parts) - pd_part_begin(count, part, parts);
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

static void see_part(const struct pd_tuple_block *part, int modes, bool sampled, uint32_t wanted,
                     uint8_t (*registers)[REGISTERS]) {
  const struct pd_tuple_functions *functions = tuple_functions[pd_isa_current()];
  uint64_t end = part->first + part->count;
  struct pd_tuple_block block = *part;
  for (; block.first < end; block.first += PD_TUPLE_BLOCK) {
    block.count = end - block.first < PD_TUPLE_BLOCK ? end - block.first : PD_TUPLE_BLOCK;
    functions->see(&block, modes, sampled, wanted, registers);
  }
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
                             bool sampled, uint32_t wanted, uint8_t (*registers)[REGISTERS]) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN), order = tensor->order;
  uint64_t others = (uint64_t)(threads - 1) * (uint64_t)order;
  uint8_t(*own)[REGISTERS];
  PD_TRY(PD_NEW_ZERO(context, others, &own));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part)
    see_part(&(struct pd_tuple_block){tensor, pd_part_begin(tensor->nnz, part, threads),
                                      part_size(tensor->nnz, part, threads)},
             modes, sampled, wanted, part == 0 ? registers : own + (part - 1) * order);
  for (uint64_t o = 0; o < others; ++o)
    for (int k = 0; k < REGISTERS; ++k) {
      uint8_t *place = &registers[o % (uint64_t)order][k];
      if (own[o][k] > *place) *place = own[o][k];
    }
  pd_free(context, own);
  return POLYAD_OK;
}

/* count[n] = distinct tuples of `modes` modes from mode n on, for the modes n whose bits are in
 * `wanted`; the others stay. */
static polyad_status count_distinct(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_tuple_source *source, int modes, bool sampled,
                                    uint32_t wanted, double count[POLYAD_MAX_ORDER]) {
  uint8_t(*registers)[REGISTERS];
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)tensor->order, &registers));
  polyad_status status = source == NULL
                             ? see_all(context, tensor, modes, sampled, wanted, registers)
                             : source->see(context, source->user, modes, sampled, registers[0]);
  for (int n = 0; n < tensor->order; ++n)
    if ((wanted >> n & 1) != 0) count[n] = estimate(registers[n]);
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

static void mark_cells(const struct pd_tuple_block *part, int first, int modes, uint64_t *bits) {
  const struct pd_tuple_functions *functions = tuple_functions[pd_isa_current()];
  uint64_t end = part->first + part->count;
  struct pd_tuple_block block = *part;
  for (; block.first < end; block.first += PD_TUPLE_BLOCK) {
    block.count = end - block.first < PD_TUPLE_BLOCK ? end - block.first : PD_TUPLE_BLOCK;
    functions->mark(&block, first, modes, bits);
  }
}

/* A bit for each cell, of each thread; a device has one for all. */
static polyad_status count_cells(polyad_context *context, const polyad_tensor *tensor,
                                 const struct pd_tuple_source *source, int first, int modes,
                                 uint64_t cells, double *count) {
  int threads = source != NULL ? 1 : pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  polyad_status status = POLYAD_OK;
  uint64_t words = cells / 64 + 1, each = pd_apart(words), found = 0, *bits;
  if (threads > CELLS_THREADS) threads = CELLS_THREADS;
  PD_TRY(PD_NEW_ZERO(context, pd_mul_saturated((uint64_t)threads, each), &bits));
  if (source != NULL) status = source->mark(context, source->user, first, modes, words, bits);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < (source == NULL ? threads : 0); ++part)
    mark_cells(&(struct pd_tuple_block){tensor, pd_part_begin(tensor->nnz, part, threads),
                                        part_size(tensor->nnz, part, threads)},
               first, modes, bits + (uint64_t)part * each);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : found)
  for (uint64_t w = 0; w < words; ++w) {
    uint64_t all = bits[w];
    for (int part = 1; part < threads; ++part)
      all |= bits[(uint64_t)part * each + w];
    found += (uint64_t)__builtin_popcountll(all);
  }
  *count = (double)found;
  pd_free(context, bits);
  return status;
}

/* Places of a sorted tensor at which one of the first `modes` indices changes: as many as there are
 * tuples of them. */
static uint64_t count_leading(const polyad_context *context, const polyad_tensor *tensor,
                              int modes) {
  const struct pd_tuple_functions *functions = tuple_functions[pd_isa_current()];
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint64_t changes = 1, blocks = tensor->nnz / PD_TUPLE_BLOCK + 1;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changes)
  for (uint64_t b = 0; b < blocks; ++b) {
    struct pd_tuple_block block = {tensor, b * PD_TUPLE_BLOCK, PD_TUPLE_BLOCK};
    if (b == 0) block.first = 1; /* the first nonzero follows none */
    uint64_t end = (b + 1) * PD_TUPLE_BLOCK < tensor->nnz ? (b + 1) * PD_TUPLE_BLOCK : tensor->nnz;
    block.count = end > block.first ? end - block.first : 0;
    changes += functions->changes(&block, modes);
  }
  return changes;
}

/* The modes n in `wanted` from which on at most `most` tuples are possible. */
static uint32_t with_cells(const polyad_tensor *tensor, int modes, uint32_t wanted, uint64_t most) {
  uint32_t found = 0;
  for (int n = 0; n < tensor->order; ++n)
    if ((wanted >> n & 1) != 0 && cells_of(tensor, n, modes) <= most) found |= UINT32_C(1) << n;
  return found;
}

static polyad_status count_cells_from(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_tuple_source *source, int modes,
                                      uint32_t from, double count[POLYAD_MAX_ORDER]) {
  for (int n = 0; n < tensor->order; ++n) {
    if ((from >> n & 1) == 0) continue;
    if (n == 0 && source == NULL)
      count[n] = (double)count_leading(context, tensor, modes);
    else
      PD_TRY(count_cells(context, tensor, source, n, modes, cells_of(tensor, n, modes), &count[n]));
  }
  return POLYAD_OK;
}

/* Exactly where the order of the nonzeros or a few cells tell; else from a sample where it has
 * enough, and again exactly where it has not and the cells are not too many, or from all. */
static polyad_status count_sampled(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_tuple_source *source, int modes,
                                   double count[POLYAD_MAX_ORDER]) {
  const uint32_t all = (UINT32_C(1) << tensor->order) - 1;
  bool sample = tensor->nnz >= PD_FIBERS_SAMPLED_LEAST;
  uint32_t countable = with_cells(tensor, modes, all, CELLS_MOST), few = 0;
  uint32_t exactly =
      sample ? with_cells(tensor, modes, countable, CELLS_AT_ONCE) | (countable & 1) : countable;
  PD_TRY(count_cells_from(context, tensor, source, modes, exactly, count));
  if (exactly == all) return POLYAD_OK;
  PD_TRY(count_distinct(context, tensor, source, modes, sample, all & ~exactly, count));
  for (int n = 0; n < tensor->order && sample; ++n) {
    if ((exactly >> n & 1) != 0) continue;
    count[n] *= PD_TUPLE_SAMPLE_RATE;
    if (count[n] < PD_FIBERS_SAMPLED_LEAST) few |= UINT32_C(1) << n;
  }
  PD_TRY(count_cells_from(context, tensor, source, modes, few & countable, count));
  few &= ~countable;
  return few == 0 ? POLYAD_OK : count_distinct(context, tensor, source, modes, false, few, count);
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
  PD_TRY(count_distinct(context, tensor, NULL, tensor->order - 1, false, UINT32_MAX, count));
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
  fibers[tensor->order - 1] = count_leading(context, tensor, tensor->order - 1);
  return POLYAD_OK;
}
