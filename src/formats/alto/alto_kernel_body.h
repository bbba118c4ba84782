/* MTTKRP and Phi of a block of nonzeros: one instance per (VAL, LANES, VECTORS).
 *
 * Consecutive nonzeros mostly have different output rows, so sums live in memory, in double. */

#include "formats/rowsum/kernel_vector.h"

/* Fetches what the nonzero PD_ALTO_AHEAD places on will need. */
static inline __attribute__((always_inline)) void
PD_NAME(fetch)(const struct pd_alto_work *work, const char *const *at, uint32_t p) {
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
    PD_NAME(multiply)(at + p, PD_ALTO_COLUMN, columns, first, tail, 1, product);
    PD_NAME(into)(x[p], product, (double *)(uintptr_t)PD_NAME(from)(sum[p], sums_first));
  }
}

static void PD_NAME(add)(const struct pd_alto_work *work) {
  switch (work->columns) {
  case 1:
    PD_NAME(add_columns)(work, 1);
    return;
  case 2:
    PD_NAME(add_columns)(work, 2);
    return;
  case 3:
    PD_NAME(add_columns)(work, 3);
    return;
  case 4:
    PD_NAME(add_columns)(work, 4);
    return;
  default:
    PD_NAME(add_columns)(work, work->columns);
    return;
  }
}

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
    PD_NAME(multiply)(at + p, PD_ALTO_COLUMN, columns, 0, tail, 1, product);
    PD_EACH_VECTOR {
      VEC mine = PD_NAME(row)(owns[p], PD_NAME(place)(tail, v));
      if (v == VECTORS - 1) mine *= keep;
      dot += mine * product[v];
    }
    VAL model = PD_NAME(over_lanes)(&dot);
    PD_NAME(into)(PD_POISSON_SLOPE(x[p], model, least), product, (double *)sum[p]);
  }
}

static void PD_NAME(phi)(const struct pd_alto_work *work) {
  switch (work->columns) {
  case 1:
    PD_NAME(phi_columns)(work, 1);
    return;
  case 2:
    PD_NAME(phi_columns)(work, 2);
    return;
  case 3:
    PD_NAME(phi_columns)(work, 3);
    return;
  default:
    PD_NAME(phi_columns)(work, work->columns);
    return;
  }
}

static const struct pd_alto_kernel PD_NAME(instance) = {PD_NAME(add), PD_NAME(phi)};

#include "formats/rowsum/kernel_vector_end.h"
