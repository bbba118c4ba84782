/* Sums runs of nonzeros: one instance per (VAL, LANES, VECTORS), included by instances.h.
 *
 * Per nonzero: one broadcast of its value and (columns x VECTORS) vector loads of factor rows; the
 * sums stay in registers for the whole run. Short rows are unrolled into independent sums, since
 * one chain of additions waits for its latency. */

#include "formats/rowsum/kernel_vector.h"

#define COLUMN (PD_BLOCK + PD_AHEAD)
#if VECTORS == 1
#define CHAINS 4
#elif VECTORS <= 3
#define CHAINS 2
#else
#define CHAINS 1
#endif

#if VECTORS <= 2
#define PD_UNROLL _Pragma("GCC unroll 16")
#else
#define PD_UNROLL _Pragma("GCC unroll 1")
#endif

/* One nonzero into `sum`; `columns` is a constant wherever this is inlined, but for many modes. */
static inline __attribute__((always_inline)) void PD_NAME(add)(const struct pd_run *run,
                                                               const char *const *at, VAL x,
                                                               int columns, bool prefetches,
                                                               VEC *sum) {
  const uint64_t first = run->first;
  if (prefetches)
    for (int g = 0; g < columns; ++g)
      if (run->prefetch[g])
        for (int line = 0; line < (int)(VECTORS * LANES * sizeof(VAL) + 63) / 64; ++line)
          __builtin_prefetch(at[g * COLUMN + PD_AHEAD] + first + line * 64, 0, 3);
  for (int v = 0; v < VECTORS; ++v) {
    uint64_t place = first + PD_NAME(place)(run->tail, v);
    if (columns == 0) {
      sum[v] += x;
      continue;
    }
    VEC product = x * *(const VEC *)(at[0] + place);
    for (int g = 1; g < columns - 1; ++g)
      product *= *(const VEC *)(at[g * COLUMN] + place);
    if (columns == 1)
      sum[v] += product;
    else
      sum[v] += product * *(const VEC *)(at[(columns - 1) * COLUMN] + place);
  }
}

/* total = the sum of the nonzeros [x, end), whose rows are at `at`. */
static inline __attribute__((always_inline)) void
PD_NAME(sum_terms)(const struct pd_run *run, const VAL *x, const VAL *end, const char *const *at,
                   int columns, bool prefetches, VEC *total) {
  VEC sum[CHAINS][VECTORS];
  for (int c = 0; c < CHAINS; ++c)
    for (int v = 0; v < VECTORS; ++v)
      sum[c][v] = (VEC){0};
  for (; x + CHAINS <= end; x += CHAINS, at += CHAINS)
    for (int c = 0; c < CHAINS; ++c)
      PD_NAME(add)(run, at + c, x[c], columns, prefetches, sum[c]);
  for (; x < end; ++x, ++at)
    PD_NAME(add)(run, at, *x, columns, prefetches, sum[0]);
  for (int v = 0; v < VECTORS; ++v) {
    total[v] = sum[0][v];
    for (int c = 1; c < CHAINS; ++c)
      total[v] += sum[c][v];
  }
}

/* Sums of PD_TERMS nonzeros are added up, so that none goes through many additions of floats. */
static inline __attribute__((always_inline)) void
PD_NAME(sum)(const struct pd_run *run, int columns, bool prefetches, double *sums) {
  const VAL *x = run->values, *end = x + run->count;
  const char *const *at = run->row[0];
  VEC total[VECTORS], part[VECTORS];
  if (VAL_IS_DOUBLE) {
    PD_NAME(sum_terms)(run, x, end, at, columns, prefetches, total);
  } else {
    for (int v = 0; v < VECTORS; ++v)
      total[v] = (VEC){0};
    for (; x < end; x += PD_TERMS, at += PD_TERMS) {
      const VAL *stop = end - x < PD_TERMS ? end : x + PD_TERMS;
      PD_NAME(sum_terms)(run, x, stop, at, columns, prefetches, part);
      for (int v = 0; v < VECTORS; ++v)
        total[v] += part[v];
      if (stop == end) break; /* no address behind the values */
    }
  }
  for (int v = 0; v < VECTORS; ++v)
    PD_NAME(flush)(&total[v], run->fresh, sums + v * LANES);
}

static void PD_NAME(run)(const struct pd_run *run, double *sums) {
  if (run->columns < 0) __builtin_unreachable();
  if (run->prefetches) switch (run->columns) {
    case 1:
      PD_NAME(sum)(run, 1, true, sums);
      return;
    case 2:
      PD_NAME(sum)(run, 2, true, sums);
      return;
    case 3:
      PD_NAME(sum)(run, 3, true, sums);
      return;
    case 4:
      PD_NAME(sum)(run, 4, true, sums);
      return;
    default:
      PD_NAME(sum)(run, run->columns, true, sums);
      return;
    }
  switch (run->columns) {
  case 1:
    PD_NAME(sum)(run, 1, false, sums);
    return;
  case 2:
    PD_NAME(sum)(run, 2, false, sums);
    return;
  case 3:
    PD_NAME(sum)(run, 3, false, sums);
    return;
  case 4:
    PD_NAME(sum)(run, 4, false, sums);
    return;
  default:
    PD_NAME(sum)(run, run->columns, false, sums);
    return;
  }
}

/* The columns of vector v of a nonzero's row of Pi. */
static inline __attribute__((always_inline)) VEC PD_NAME(product)(const char *const *at,
                                                                  uint64_t place, int columns) {
  if (columns == 0) return (VEC){0} + (VAL)1;
  VEC product = *(const VEC *)(at[0] + place);
  for (int g = 1; g < columns; ++g)
    product *= *(const VEC *)(at[g * COLUMN] + place);
  return product;
}

/* One nonzero's row of Pi times b: a vector of partial sums. */
static inline __attribute__((always_inline)) VEC PD_NAME(times)(const struct pd_run *run,
                                                                const char *const *at, int columns,
                                                                const VEC *b, char *tile) {
  VEC sum = (VEC){0};
  for (int v = 0; v < VECTORS; ++v) {
    uint64_t place = run->first + PD_NAME(place)(run->tail, v);
    VEC product = PD_NAME(product)(at, place, columns);
    if (tile != NULL) *(VEC *)(tile + place) = product;
    sum += product * b[v];
  }
  return sum;
}

/* Rows of the nonzeros after the next ones. */
static void PD_NAME(fetch)(const struct pd_run *run, const char *const *at) {
  for (int g = 0; g < run->columns; ++g)
    for (int c = 0; c < LANES && run->prefetch[g]; ++c)
      for (int line = 0; line < (int)(VECTORS * LANES * sizeof(VAL) + 63) / 64; ++line)
        __builtin_prefetch(at[g * COLUMN + c + PD_AHEAD] + run->first + line * 64, 0, 3);
}

/* The vector of the sums of LANES vectors' lanes; overwrites them. */
static inline __attribute__((always_inline)) VEC PD_NAME(fold)(VEC *part) {
  PD_FOLD_ALL(part);
  return part[0];
}

static inline __attribute__((always_inline)) void
PD_NAME(weigh)(const struct pd_run *run, int columns, const struct pd_dots *to) {
  VEC b[VECTORS];
  for (int v = 0; v < VECTORS; ++v)
    b[v] = *(const VEC *)((const VAL *)to->b + v * LANES);
  const char *const *at = run->row[0];
  VAL *out = to->dots;
  char *tile = to->tile;
  const uint64_t step = tile == NULL ? 0 : to->tile_stride;
  for (int64_t left = run->count; left > 0; left -= LANES, at += LANES, out += LANES) {
    VEC part[LANES];
    if (run->prefetches && left >= LANES) PD_NAME(fetch)(run, at);
    if (left >= LANES) {
      PD_UNROLL
      for (int c = 0; c < LANES; ++c, tile += step)
        part[c] = PD_NAME(times)(run, at + c, columns, b, tile);
    } else {
      for (int c = 0; c < LANES; ++c)
        part[c] = (VEC){0};
      for (int c = 0; c < left; ++c, tile += step)
        part[c] = PD_NAME(times)(run, at + c, columns, b, tile);
    }
    VEC dots = PD_NAME(fold)(part);
    if (!to->fresh) dots += *(const VEC *)out;
    *(VEC *)out = dots;
  }
}

static void PD_NAME(dots)(const struct pd_run *run, const struct pd_dots *to) {
  switch (run->columns) {
  case 1:
    PD_NAME(weigh)(run, 1, to);
    return;
  case 2:
    PD_NAME(weigh)(run, 2, to);
    return;
  case 3:
    PD_NAME(weigh)(run, 3, to);
    return;
  default:
    PD_NAME(weigh)(run, run->columns, to);
    return;
  }
}

static const struct pd_instance PD_NAME(instance) = {PD_NAME(run), PD_NAME(dots)};

#undef PD_UNROLL
#undef CHAINS
#undef COLUMN
#include "formats/rowsum/kernel_vector_end.h"
