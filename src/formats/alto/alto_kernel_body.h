/* MTTKRP and Phi of a block of nonzeros: one instance per (VAL, LANES, VECTORS).
 *
 * Consecutive nonzeros mostly have different output rows, so sums live in memory, in double. */

#include "formats/rowsum/kernel_vector.h"

/* Fetches what the nonzero PD_ALTO_AHEAD places on will need. It is called where matrices are
 * larger than the cache, and then costs little beside what it waits for: inlined everywhere, it was
 * a third of the kernels' machine code. */
static __attribute__((noinline)) void PD_NAME(fetch)(const struct pd_alto_work *work,
                                                     const char *const *at, uint32_t p) {
  const int bytes = (int)(VECTORS * LANES * sizeof(VAL));
  const uint32_t next = p + PD_ALTO_AHEAD;
  for (int g = 0; g < work->columns; ++g)
    if (work->prefetch[g])
      PD_UNROLLED for (int line = 0; line < (bytes + 63) / 64; ++line) __builtin_prefetch(
          at[g * PD_ALTO_COLUMN + PD_ALTO_AHEAD] + work->first + line * 64, 0, 3);
  if (work->prefetch_own)
    PD_UNROLLED for (int line = 0; line < (bytes + 63) / 64; ++line)
        __builtin_prefetch(work->own[next] + line * 64, 0, 3);
  if (work->prefetch_sums)
    PD_UNROLLED for (int line = 0; line < (VECTORS * LANES * 8 + 63) / 64; ++line)
        __builtin_prefetch(work->sum[next] + work->sums_first + line * 64, 1, 3);
}

/* product = the rows at[g * PD_ALTO_COLUMN], of which there are `columns`, a constant wherever this
 * is inlined, or as many as the work says where that is 0: then each row is taken whole. */
static inline __attribute__((always_inline)) void
PD_NAME(multiply_rows)(const struct pd_alto_work *work, const char *const *at, int columns,
                       uint64_t first, uint64_t tail, VEC *product) {
  if (columns > 0) {
    PD_NAME(multiply)(at, PD_ALTO_COLUMN, columns, first, tail, 1, product);
    return;
  }
  PD_EACH_VECTOR product[v] = 1 - (VEC){0};
  PD_ROLLED for (int g = 0; g < work->columns; ++g) {
    const char *row = PD_NAME(from)(at[g * PD_ALTO_COLUMN], first);
    PD_EACH_VECTOR product[v] *= *(const VEC *)(row + PD_NAME(place)(tail, v));
  }
}

/* Calls a function with the number of columns as a constant: with two and three, which tensors of
 * three and four modes have, and with one where it is so few vectors that the loop over columns
 * takes as long as what is in it. More columns gain nothing by it. */
#define PD_BY_COLUMNS(function)                                                                    \
  if (work->columns == 2)                                                                          \
    PD_NAME(function)(work, 2);                                                                    \
  else if (VECTORS <= 2 && work->columns == 1)                                                     \
    PD_NAME(function)(work, 1);                                                                    \
  else if (work->columns == 3)                                                                     \
    PD_NAME(function)(work, 3);                                                                    \
  else                                                                                             \
    PD_NAME(function)(work, 0)

static inline __attribute__((always_inline)) VEC PD_NAME(row)(const char *row, uint64_t place) {
  return *(const VEC *)(row + place);
}

/* sums += x * product, in double. */
static inline __attribute__((always_inline)) void PD_NAME(into)(VAL x, const VEC *product,
                                                                double *sums) {
  VEC total[VECTORS];
  PD_EACH_VECTOR {
    total[v] = x * product[v];
    if (VAL_IS_DOUBLE) total[v] += *(const VEC *)(sums + v * LANES);
  }
  PD_EACH_VECTOR {
    if (VAL_IS_DOUBLE)
      *(VEC *)(sums + v * LANES) = total[v];
    else
      PD_NAME(flush)(&total[v], false, sums + v * LANES);
  }
}

static inline __attribute__((always_inline)) void
PD_NAME(add_columns)(const struct pd_alto_work *work, int columns) {
  const VAL *x = work->values;
  const char *const *at = work->row[0];
  /* copies, which no store into a sum might change, for all that the compiler knows */
  const uint64_t first = work->first, tail = work->tail, sums_first = work->sums_first;
  const char *const *sum = work->sum;
  const uint32_t count = work->count;
  const bool prefetches = work->prefetches;
  for (uint32_t p = 0; p < count; ++p) {
    VEC product[VECTORS];
    if (prefetches) PD_NAME(fetch)(work, at + p, p);
    /* all vectors before anything is stored: a store might change any pointer, for all that the
     * compiler knows */
    PD_NAME(multiply_rows)(work, at + p, columns, first, tail, product);
    PD_NAME(into)(x[p], product, (double *)(uintptr_t)PD_NAME(from)(sum[p], sums_first));
  }
}

static void PD_NAME(add)(const struct pd_alto_work *work) { PD_BY_COLUMNS(add_columns); }

/* Sum over the lanes, halves first. */
static inline __attribute__((always_inline)) VAL PD_NAME(over_lanes)(const VEC *all) {
#if LANES == 1
  return *all;
#else
  HALF half[2];
  __builtin_memcpy(half, all, sizeof half);
  half[0] += half[1];
#if LANES == 2
  return half[0];
#else
  VAL lane[LANES / 2], sum = 0;
  __builtin_memcpy(lane, half, sizeof lane);
#if LANES == 4
  sum = lane[0] + lane[1];
#else
  typedef VAL QUARTER __attribute__((vector_size(LANES / 4 * sizeof(VAL))));
  QUARTER quarter[2];
  __builtin_memcpy(quarter, half, sizeof quarter);
  quarter[0] += quarter[1];
  for (int w = 0; w < LANES / 4; ++w)
    sum += quarter[0][w];
#endif
  return sum;
#endif
#endif
}

static inline __attribute__((always_inline)) void
PD_NAME(phi_columns)(const struct pd_alto_work *work, int columns) {
  const VAL *x = work->values;
  const char *const *at = work->row[0];
  const VAL least = (VAL)work->least;
  const VEC keep = *(const VEC *)work->keep;
  const uint64_t tail = work->tail;
  const char *const *sum = work->sum, *const *owns = work->own;
  const uint32_t count = work->count;
  const bool prefetches = work->prefetches;
  for (uint32_t p = 0; p < count; ++p) {
    VEC product[VECTORS], dot = {0};
    if (prefetches) PD_NAME(fetch)(work, at + p, p);
    PD_NAME(multiply_rows)(work, at + p, columns, 0, tail, product);
    PD_EACH_VECTOR {
      VEC mine = PD_NAME(row)(owns[p], PD_NAME(place)(tail, v));
      if (v == VECTORS - 1) mine *= keep;
      dot += mine * product[v];
    }
    VAL model = PD_NAME(over_lanes)(&dot);
    PD_NAME(into)(PD_POISSON_SLOPE(x[p], model, least), product, (double *)sum[p]);
  }
}

static void PD_NAME(phi)(const struct pd_alto_work *work) { PD_BY_COLUMNS(phi_columns); }

static const struct pd_alto_kernel PD_NAME(instance) = {PD_NAME(add), PD_NAME(phi)};

#undef PD_BY_COLUMNS
#include "formats/rowsum/kernel_vector_end.h"
