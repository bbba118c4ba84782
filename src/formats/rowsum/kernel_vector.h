/* Names and vector types of one kernel instance (VAL, LANES, VECTORS), and how its sums go into
 * sums in double. kernel_vector_end.h takes the names back. */

#define PD_PASTE2(a, b) a##b
#define PD_PASTE(a, b) PD_PASTE2(a, b)
#define PD_NAME(stem)                                                                              \
  PD_PASTE(PD_PASTE(PD_PASTE(PD_PASTE(stem, _), LANES), x), PD_PASTE(VECTORS, VAL))
#define VEC PD_NAME(vec)
#define HALF PD_NAME(half)
#define WIDE PD_NAME(wide)

#define PD_EACH_VECTOR PD_UNROLLED for (int v = 0; v < VECTORS; ++v)

/* From float to double: GCC 12 takes four instructions where the processor has one. */
#if LANES == 16 && defined __AVX512F__
#define PD_WIDEN(half) ((WIDE)_mm512_cvtps_pd((__m256)(half)))
#elif LANES == 8 && defined __AVX__
#define PD_WIDEN(half) ((WIDE)_mm256_cvtps_pd((__m128)(half)))
#else
#define PD_WIDEN(half) __builtin_convertvector(half, WIDE)
#endif

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

/* Columns of a row from byte `first` on. The compiler does not see through the sum of many vectors:
 * it would add each one's distance to `first`, once for all rows, and run out of registers. */
static inline __attribute__((always_inline)) const char *PD_NAME(from)(const char *row,
                                                                       uint64_t first) {
  row += first;
#if VECTORS > 2
  __asm__("" : "+r"(row));
#endif
  return row;
}

/* product = x times the rows at[g * distance]. Up to four rows are a constant wherever this is
 * inlined, and each vector is made at once; of more, or none, each row is taken whole. */
static inline __attribute__((always_inline)) void PD_NAME(multiply)(const char *const *at,
                                                                    int distance, int columns,
                                                                    uint64_t first, uint64_t tail,
                                                                    VAL x, VEC *product) {
  PD_EACH_VECTOR product[v] = x - (VEC){0}; /* x in every lane; 0 + x would add, for 0 + -0 is 0 */
  if (columns < 1 || columns > 4) {
    PD_ROLLED for (int g = 0; g < columns; ++g) {
      const char *row = PD_NAME(from)(at[g * distance], first);
      PD_EACH_VECTOR product[v] *= *(const VEC *)(row + PD_NAME(place)(tail, v));
    }
    return;
  }
  const char *row[4];
  PD_UNROLLED for (int g = 0; g < 4; ++g) if (g < columns) row[g] =
      PD_NAME(from)(at[g * distance], first);
  PD_EACH_VECTOR {
    const uint64_t place = PD_NAME(place)(tail, v);
    PD_UNROLLED for (int g = 0; g < 4; ++g) if (g < columns) product[v] *=
        *(const VEC *)(row[g] + place);
  }
}

/* Sets or adds to sums in double; half a float vector at a time, since a double one has half the
 * lanes. */
static inline __attribute__((always_inline)) void PD_NAME(flush)(const VEC *total, bool fresh,
                                                                 double *sums) {
#if LANES == 1
  *sums = fresh ? (double)*total : *sums + (double)*total;
#elif VAL_IS_DOUBLE
  VEC sum = *total;
  if (!fresh) sum += *(VEC *)sums;
  *(VEC *)sums = sum;
#else
  HALF half[2];
  __builtin_memcpy(half, total, sizeof half);
  PD_UNROLLED for (int h = 0; h < 2; ++h) {
    WIDE *to = (WIDE *)(sums + h * (LANES / 2));
    WIDE wide = PD_WIDEN(half[h]);
    if (!fresh) wide += *to;
    *to = wide;
  }
#endif
}
