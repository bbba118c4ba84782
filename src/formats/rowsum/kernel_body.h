/* Sums runs of nonzeros: one instance per (VAL, LANES, VECTORS), included by instances.h.
 *
 * Per nonzero: one broadcast of its value and (columns x VECTORS) vector loads of factor rows; the
 * sums stay in registers for the whole run. Short rows are unrolled into independent sums, since
 * one chain of additions waits for its latency. */

#define PD_PASTE2(a, b) a##b
#define PD_PASTE(a, b) PD_PASTE2(a, b)
#define PD_NAME(stem)                                                                              \
  PD_PASTE(PD_PASTE(PD_PASTE(PD_PASTE(stem, _), LANES), x), PD_PASTE(VECTORS, VAL))
#define VEC PD_NAME(vec)
#if VECTORS == 1
#define CHAINS 4
#elif VECTORS <= 3
#define CHAINS 2
#else
#define CHAINS 1
#endif

#if LANES == 1
typedef VAL VEC;
#else
typedef VAL VEC __attribute__((vector_size(LANES * sizeof(VAL)), aligned(sizeof(VAL)), may_alias));
#endif

static inline __attribute__((always_inline)) uint64_t PD_NAME(place)(const struct pd_run *run,
                                                                     int v) {
  return v == VECTORS - 1 ? run->tail : (uint64_t)v * LANES * sizeof(VAL);
}

/* One nonzero into `sum`; `columns` is a constant wherever this is inlined, but for many modes. */
static inline __attribute__((always_inline)) void PD_NAME(add)(const struct pd_run *run, uint32_t p,
                                                               int columns, VEC *sum) {
  VAL x = ((const VAL *)run->values)[p];
  const char *row[POLYAD_MAX_ORDER];
  for (int g = 0; g < columns; ++g) {
    row[g] = run->base[g] + run->offset[g][p];
    if (run->prefetch[g]) {
      const char *ahead = run->base[g] + run->offset[g][p + PD_AHEAD];
      for (int line = 0; line < (int)(VECTORS * LANES * sizeof(VAL) + 63) / 64; ++line)
        __builtin_prefetch(ahead + line * 64, 0, 3);
    }
  }
  for (int v = 0; v < VECTORS; ++v) {
    uint64_t at = PD_NAME(place)(run, v);
    VEC product;
    if (columns == 0) {
      sum[v] += x;
      continue;
    }
    product = x * *(const VEC *)(row[0] + at);
    for (int g = 1; g < columns - 1; ++g)
      product *= *(const VEC *)(row[g] + at);
    if (columns == 1)
      sum[v] += product;
    else
      sum[v] += product * *(const VEC *)(row[columns - 1] + at);
  }
}

static inline __attribute__((always_inline)) void PD_NAME(sum)(const struct pd_run *run,
                                                               int columns, double *sums) {
  VEC sum[CHAINS][VECTORS];
  for (int c = 0; c < CHAINS; ++c)
    for (int v = 0; v < VECTORS; ++v)
      sum[c][v] = (VEC){0};
  uint32_t p = 0;
  for (; p + CHAINS <= run->count; p += CHAINS)
    for (int c = 0; c < CHAINS; ++c)
      PD_NAME(add)(run, p + (uint32_t)c, columns, sum[c]);
  for (; p < run->count; ++p)
    PD_NAME(add)(run, p, columns, sum[0]);
  for (int v = 0; v < VECTORS; ++v) {
    VEC total = sum[0][v];
    for (int c = 1; c < CHAINS; ++c)
      total += sum[c][v];
    VAL lane[LANES];
    __builtin_memcpy(lane, &total, sizeof lane);
    double *to = sums + v * LANES;
    if (run->fresh)
      for (int w = 0; w < LANES; ++w)
        to[w] = (double)lane[w];
    else
      for (int w = 0; w < LANES; ++w)
        to[w] += (double)lane[w];
  }
}

static void PD_NAME(run)(const struct pd_run *run, double *sums) {
  if (run->columns < 0) __builtin_unreachable();
  switch (run->columns) {
  case 0:
    PD_NAME(sum)(run, 0, sums);
    break;
  case 1:
    PD_NAME(sum)(run, 1, sums);
    break;
  case 2:
    PD_NAME(sum)(run, 2, sums);
    break;
  case 3:
    PD_NAME(sum)(run, 3, sums);
    break;
  case 4:
    PD_NAME(sum)(run, 4, sums);
    break;
  default:
    PD_NAME(sum)(run, run->columns, sums);
    break;
  }
}

#undef CHAINS
#undef VEC
#undef PD_NAME
#undef PD_PASTE
#undef PD_PASTE2
