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
#if VECTORS <= 2 || (VECTORS <= 4 && LANES * VECTORS <= 16)
#define PD_SOME_UNROLLED PD_UNROLLED
#else
#define PD_SOME_UNROLLED PD_ROLLED
#endif

/* Fetches the rows of the nonzeros that come PD_AHEAD after the next `count`, a constant. */
static inline __attribute__((always_inline)) void
PD_NAME(fetch)(const struct pd_run *run, const char *const *at, int columns, int count) {
  for (int g = 0; g < columns; ++g) {
    if (!run->prefetch[g]) continue;
    const char *const *row = at + g * COLUMN + PD_AHEAD;
    PD_UNROLLED for (int c = 0; c < count; ++c)
        PD_UNROLLED for (int line = 0; line < (int)(VECTORS * LANES * sizeof(VAL) + 63) / 64;
                         ++line) __builtin_prefetch(row[c] + run->first + line * 64, 0, 3);
  }
}

/* One nonzero into `sum`. */
static inline __attribute__((always_inline)) void
PD_NAME(add)(const struct pd_run *run, const char *const *at, VAL x, int columns, VEC *sum) {
  VEC product[VECTORS];
  PD_NAME(multiply)(at, COLUMN, columns, run->first, run->tail, x, product);
  PD_EACH_VECTOR sum[v] += product[v];
}

/* total = the sum of the nonzeros [x, end), whose rows are at `at`; `columns` is a constant up to
 * 4, and what is more has one chain. Whether rows are fetched is a constant, too: asked in the loop
 * it costs moves between registers beside the question. */
static inline __attribute__((always_inline)) void
PD_NAME(sum_terms)(const struct pd_run *run, const VAL *x, const VAL *end, const char *const *at,
                   int columns, int chains, bool fetches, VEC *total) {
  VEC sum[CHAINS][VECTORS];
  PD_UNROLLED for (int c = 0; c < CHAINS; ++c) PD_EACH_VECTOR sum[c][v] = (VEC){0};
  for (; x + chains <= end; x += chains, at += chains) {
    if (fetches) PD_NAME(fetch)(run, at, columns, chains);
    PD_UNROLLED for (int c = 0; c < chains; ++c) PD_NAME(add)(run, at + c, x[c], columns, sum[c]);
  }
  if (chains > 1) PD_ROLLED for (; x < end; ++x, ++at) {
      if (fetches) PD_NAME(fetch)(run, at, columns, 1);
      PD_NAME(add)(run, at, *x, columns, sum[0]);
    }
  PD_EACH_VECTOR total[v] = sum[0][v];
  PD_UNROLLED for (int c = 1; c < chains; ++c) PD_EACH_VECTOR total[v] += sum[c][v];
}

/* Sums of PD_TERMS nonzeros are added up, so that none goes through many additions of floats. */
static inline __attribute__((always_inline)) void
PD_NAME(sum)(const struct pd_run *run, int columns, int chains, double *sums) {
  const VAL *x = run->values, *end = x + run->count;
  const char *const *at = run->row[0];
  VEC total[VECTORS], part[VECTORS];
  if (VAL_IS_DOUBLE && run->prefetches) {
    PD_NAME(sum_terms)(run, x, end, at, columns, chains, true, total);
  } else if (VAL_IS_DOUBLE) {
    PD_NAME(sum_terms)(run, x, end, at, columns, chains, false, total);
  } else {
    PD_EACH_VECTOR total[v] = (VEC){0};
    for (; x < end; x += PD_TERMS, at += PD_TERMS) {
      const VAL *stop = end - x < PD_TERMS ? end : x + PD_TERMS;
      PD_NAME(sum_terms)(run, x, stop, at, columns, chains, run->prefetches, part);
      PD_EACH_VECTOR total[v] += part[v];
      if (stop == end) break; /* no address behind the values */
    }
  }
  PD_EACH_VECTOR PD_NAME(flush)(&total[v], run->fresh, sums + v * LANES);
}

static void PD_NAME(run)(const struct pd_run *run, double *sums) {
  switch (run->columns) {
  case 1:
    PD_NAME(sum)(run, 1, CHAINS, sums);
    return;
  case 2:
    PD_NAME(sum)(run, 2, CHAINS, sums);
    return;
  case 3:
    PD_NAME(sum)(run, 3, CHAINS, sums);
    return;
  case 4:
    PD_NAME(sum)(run, 4, CHAINS, sums);
    return;
  default:
    PD_NAME(sum)(run, run->columns, 1, sums);
    return;
  }
}

/* One nonzero's row of Pi times b: a vector of partial sums. `tile` gets the row, if it is to. */
static inline __attribute__((always_inline)) VEC PD_NAME(times)(const char *const *at, int columns,
                                                                uint64_t first, uint64_t tail,
                                                                const VEC *b, char *tile) {
  VEC product[VECTORS], sum;
  PD_NAME(multiply)(at, COLUMN, columns, first, tail, 1, product);
  sum = product[0] * b[0];
  PD_UNROLLED for (int v = 1; v < VECTORS; ++v) sum += product[v] * b[v];
  if (tile != NULL) PD_EACH_VECTOR *(VEC *)(tile + PD_NAME(place)(tail, v)) = product[v];
  return sum;
}

/* The vector of the sums of LANES vectors' lanes; overwrites them. */
static inline __attribute__((always_inline)) VEC PD_NAME(fold)(VEC *part) {
  PD_FOLD_ALL(part);
  return part[0];
}

static inline __attribute__((always_inline)) void
PD_NAME(weigh)(const struct pd_run *run, int columns, const struct pd_dots *to) {
  VEC b[VECTORS];
  PD_EACH_VECTOR b[v] = *(const VEC *)((const VAL *)to->b + v * LANES);
  const char *const *at = run->row[0];
  VAL *out = to->dots;
  /* what stores might change, as far as the compiler sees, is read once */
  const uint64_t first = run->first, tail = run->tail;
  const bool fetches = run->prefetches, fresh = to->fresh;
  char *tile = to->tile == NULL ? NULL : to->tile + first;
  const uint64_t step = tile == NULL ? 0 : to->tile_stride;
  for (int64_t left = run->count; left > 0; left -= LANES, at += LANES, out += LANES) {
    VEC part[LANES];
    if (left >= LANES) {
      if (fetches) PD_NAME(fetch)(run, at, run->columns, LANES);
      PD_SOME_UNROLLED for (int c = 0; c < LANES; ++c, tile += step) part[c] =
          PD_NAME(times)(at + c, columns, first, tail, b, tile);
    } else {
      PD_UNROLLED for (int c = 0; c < LANES; ++c) part[c] = (VEC){0};
      PD_ROLLED for (int c = 0; c < left; ++c, tile += step) part[c] =
          PD_NAME(times)(at + c, columns, first, tail, b, tile);
    }
    VEC dots = PD_NAME(fold)(part);
    if (!fresh) dots += *(const VEC *)out;
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

#undef PD_SOME_UNROLLED
#undef CHAINS
#undef COLUMN
#include "formats/rowsum/kernel_vector_end.h"
