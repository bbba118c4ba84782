#include "gpu_tensors.h"
#include "core/bits.h"
#include "core/radix_sort.h"
#include <math.h>
#include <string.h>

static const struct bench_tensor tensors[] = {
    {"uber", 4, {183, 24, 1140, 1717}, 3309490, {.1, .4, .9, .9}, .3},
    {"nips", 4, {2482, 2862, 14036, 17}, 3101609, {.3, .3, .8, .1}, .6},
    {"chicago", 4, {6186, 24, 77, 32}, 5330673, {.1, .2, .4, .5}, .3},
    {"movies", 3, {1238, 5665, 1078}, 11440996, {.3, .4, .3}, .5},
    {"vast", 5, {165427, 11374, 2, 100, 89}, 26021945, {.3, .5, .1, .2, .2}, .5},
    {"nell-2", 3, {12092, 9184, 28818}, 76879419, {.6, .8, .7}, .7},
    {"enron", 4, {6066, 5699, 244268, 1176}, 54202099, {.9, .9, .8, .5}, .5},
    {"delicious", 4, {532924, 17262471, 2480308, 1443}, 140126181, {.7, .4, .9, .2}, .4},
    {"nell-1", 3, {2902330, 2143368, 25495389}, 143599552, {.6, .6, .8}, .5},
    {"amazon", 3, {15200000, 43500000, 7800}, 233100000, {.6, .6, .4}, .4},
    {"music", 3, {23300000, 23300000, 166}, 99500000, {.6, .6, .4}, .4},
    {"twitch", 5, {15500000, 6200000, 783900, 6100, 6100}, 474700000, {.5, .7, .6, .1, .1}, .4},
};

const struct bench_tensor *bench_tensor_find(const char *name) {
  for (size_t k = 0; k < sizeof tensors / sizeof *tensors; ++k)
    if (strcmp(tensors[k].name, name) == 0) return &tensors[k];
  return NULL;
}

enum { BLOCK = 1024 };

static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static double uniform(uint64_t x) { return ((double)(x >> 11) + 0.5) * 0x1p-53; }

/* A number below n from a density that falls as x^-a. */
static uint64_t draw(double u, uint64_t n, double a) {
  double e = 1 - a, top = (double)n + 1;
  double x = pow(1 + u * (pow(top, e) - 1), 1 / e);
  uint64_t k = (uint64_t)x - 1;
  return k >= n ? n - 1 : k;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* What scatters the heavy indices over the mode. */
static uint64_t multiplier(uint64_t dim) {
  uint64_t m = (uint64_t)(0.6180339887 * (double)dim) | 1;
  while (common_divisor(m, dim) != 1)
    m += 2;
  return m;
}

/* Coordinates of the entries of block `block`: each block begins afresh, so that blocks can be
 * made in any order. */
static void draw_block(const struct bench_tensor *from, const uint64_t *multipliers, uint64_t block,
                       uint64_t count, uint64_t (*index)[POLYAD_MAX_ORDER]) {
  uint64_t now[POLYAD_MAX_ORDER] = {0};
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t r = mix(UINT64_C(0x1000003) + block * BLOCK + i);
    int keep = i > 0 && uniform(mix(r ^ 77)) < from->cluster ? from->order - 1 : 0;
    for (int n = keep; n < from->order; ++n)
      now[n] = draw(uniform(mix(r + (uint64_t)n + 1)), from->dims[n], from->skew[n]) *
               multipliers[n] % from->dims[n];
    memcpy(index[i], now, sizeof now);
  }
}

/* Distinct sorted keys; *count gets how many there are (at most `wanted`, dropped evenly). */
static polyad_status make_keys(polyad_context *context, const struct bench_tensor *from,
                               const uint64_t *multipliers, uint64_t wanted, int bits,
                               uint64_t **keys, uint64_t *count) {
  uint64_t drawn = wanted + wanted / 5 + 16;
  double cells = 1;
  for (int n = 0; n < from->order; ++n)
    cells *= (double)from->dims[n];
  for (int attempt = 0;; ++attempt) {
    PD_TRY(PD_NEW(context, drawn, keys));
    uint64_t *key = *keys, blocks = (drawn + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(polyad_threads(context)) schedule(static)
    for (uint64_t b = 0; b < blocks; ++b) {
      uint64_t index[BLOCK][POLYAD_MAX_ORDER];
      uint64_t here = drawn - b * BLOCK < BLOCK ? drawn - b * BLOCK : BLOCK;
      draw_block(from, multipliers, b, here, index);
      for (uint64_t i = 0; i < here; ++i) {
        uint64_t k = 0;
        for (int n = 0; n < from->order; ++n)
          k = k << pd_index_bits(from->dims[n]) | index[i][n];
        key[b * BLOCK + i] = k;
      }
    }
    PD_TRY(pd_sort_u64(context, drawn, key, bits, NULL, 0));
    uint64_t distinct = 0;
    for (uint64_t i = 0; i < drawn; ++i)
      if (i == 0 || key[i] != key[i - 1]) key[distinct++] = key[i];
    *count = distinct;
    if (distinct >= wanted || attempt == 4 || (double)drawn > 20 * cells) break;
    drawn = (uint64_t)((double)drawn * 1.15 * (double)wanted / (double)distinct);
    pd_free(context, key);
  }
  uint64_t *key = *keys, surplus = *count > wanted ? *count - wanted : 0, kept = 0, dropped = 0;
  for (uint64_t i = 0; i < *count; ++i) {
    if (dropped < surplus &&
        (double)i >= ((double)dropped + 0.5) * (double)*count / (double)surplus)
      ++dropped;
    else
      key[kept++] = key[i];
  }
  *count = kept;
  return POLYAD_OK;
}

static polyad_status split_keys(polyad_context *context, const struct bench_tensor *from,
                                const uint64_t *keys, uint64_t count, void **index) {
  int shift = 0;
  for (int n = from->order; n-- > 0;) {
    int bits = pd_index_bits(from->dims[n]);
    PD_TRY(pd_alloc(context, count, sizeof(uint32_t), &index[n]));
    uint32_t *to = index[n];
#pragma omp parallel for num_threads(polyad_threads(context)) schedule(static)
    for (uint64_t p = 0; p < count; ++p)
      to[p] = (uint32_t)(keys[p] >> shift & pd_low_mask(bits));
    shift += bits;
  }
  return POLYAD_OK;
}

/* Too many bits for a key: repeats are rare and merged by the tensor. */
static polyad_status draw_indices(polyad_context *context, const struct bench_tensor *from,
                                  const uint64_t *multipliers, uint64_t count, void **index) {
  for (int n = 0; n < from->order; ++n)
    PD_TRY(pd_alloc(context, count, sizeof(uint32_t), &index[n]));
  uint64_t blocks = (count + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(polyad_threads(context)) schedule(static)
  for (uint64_t b = 0; b < blocks; ++b) {
    uint64_t block[BLOCK][POLYAD_MAX_ORDER];
    uint64_t here = count - b * BLOCK < BLOCK ? count - b * BLOCK : BLOCK;
    draw_block(from, multipliers, b, here, block);
    for (uint64_t i = 0; i < here; ++i)
      for (int n = 0; n < from->order; ++n)
        ((uint32_t *)index[n])[b * BLOCK + i] = (uint32_t)block[i][n];
  }
  return POLYAD_OK;
}

polyad_status bench_tensor_make(polyad_context *context, const struct bench_tensor *from,
                                double scale, polyad_tensor **tensor) {
  polyad_status status = POLYAD_OK;
  uint64_t multipliers[POLYAD_MAX_ORDER] = {0}, *keys = NULL;
  uint64_t count = (uint64_t)((double)from->nnz * scale);
  void *index[POLYAD_MAX_ORDER] = {NULL}, *values = NULL;
  int bits = 0;
  for (int n = 0; n < from->order; ++n) {
    multipliers[n] = multiplier(from->dims[n]);
    bits += pd_index_bits(from->dims[n]);
  }
  if (bits <= 64) {
    PD_TRY_CLEANUP(make_keys(context, from, multipliers, count, bits, &keys, &count));
    PD_TRY_CLEANUP(split_keys(context, from, keys, count, index));
    pd_free(context, keys);
    keys = NULL;
  } else {
    PD_TRY_CLEANUP(draw_indices(context, from, multipliers, count, index));
  }
  PD_TRY_CLEANUP(pd_alloc(context, count, sizeof(float), &values));
  for (uint64_t p = 0; p < count; ++p)
    ((float *)values)[p] = (float)(1 + mix(p ^ 31) % 9);
  status = pd_tensor_create_take(context, from->order, from->dims, count, POLYAD_F32, index,
                                 &values, POLYAD_DUPLICATES_SUM, tensor);
cleanup:
  pd_free(context, keys);
  for (int n = 0; n < from->order; ++n)
    pd_free(context, index[n]);
  pd_free(context, values);
  return status;
}
