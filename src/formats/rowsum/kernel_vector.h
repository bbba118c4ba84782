/* Names and vector types of one kernel instance (VAL, LANES, VECTORS), and how its sums go into
 * sums in double. kernel_vector_end.h takes the names back. */

#define PD_PASTE2(a, b) a##b
#define PD_PASTE(a, b) PD_PASTE2(a, b)
#define PD_NAME(stem)                                                                              \
  PD_PASTE(PD_PASTE(PD_PASTE(PD_PASTE(stem, _), LANES), x), PD_PASTE(VECTORS, VAL))
#define VEC PD_NAME(vec)
#define HALF PD_NAME(half)
#define WIDE PD_NAME(wide)

#if LANES == 1
typedef VAL VEC;
#else
typedef VAL VEC __attribute__((vector_size(LANES * sizeof(VAL)), aligned(sizeof(VAL)), may_alias));
#if LANES > 2
typedef VAL HALF __attribute__((vector_size(LANES / 2 * sizeof(VAL))));
typedef double WIDE
    __attribute__((vector_size(LANES / 2 * sizeof(double)), aligned(sizeof(double)), may_alias));
#else
typedef VAL HALF;
typedef double WIDE;
#endif
#endif

/** Byte of a column block at which vector v begins; the last may overlap the one before. */
static inline __attribute__((always_inline)) uint64_t PD_NAME(place)(uint64_t tail, int v) {
  return v == VECTORS - 1 ? tail : (uint64_t)v * LANES * sizeof(VAL);
}

/* Sets or adds to sums in double; half a vector at a time, since a float vector has twice the
 * lanes of a double one. */
static inline __attribute__((always_inline)) void PD_NAME(flush)(const VEC *total, bool fresh,
                                                                 double *sums) {
#if LANES == 1
  *sums = fresh ? (double)*total : *sums + (double)*total;
#else
  HALF half[2];
  __builtin_memcpy(half, total, sizeof half);
  for (int h = 0; h < 2; ++h) {
    WIDE *to = (WIDE *)(sums + h * (LANES / 2));
#if LANES > 2
    WIDE wide = __builtin_convertvector(half[h], WIDE);
#else
    WIDE wide = (double)half[h];
#endif
    if (!fresh) wide += *to;
    *to = wide;
  }
#endif
}
