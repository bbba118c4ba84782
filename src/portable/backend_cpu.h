/* Backend: the host's C compiler with OpenMP. A work item is one call of the kernel, and a group
 * is one item with vectors as wide as the instruction set's: barriers have nothing to wait for. */
#ifndef PD_BACKEND_CPU_H
#define PD_BACKEND_CPU_H

#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef uint32_t pd_u32;
typedef uint64_t pd_u64;

#define PD_KERNEL static inline __attribute__((always_inline)) void
#define PD_ITEM pd_u64 pd_item,
#define PD_INDEX pd_item
#define PD_FUNCTION static inline __attribute__((always_inline))
#define PD_JOB(type) const struct type
#define PD_GLOBAL
#define PD_LOCAL
#define PD_LOCAL_ARRAY
#define PD_RESTRICT __restrict
#define PD_BARRIER() ((void)0)
#define PD_UNROLL _Pragma("GCC unroll 16")
#define PD_PREFETCH(address) __builtin_prefetch(address, 0, 3)

#define PD_GROUPS 1
#define PD_TILE0_LANES 1
#define PD_TILE0_VECTORS 1
#define PD_TILE1_LANES 1
#define PD_TILE1_VECTORS 2
#define PD_TILE2_LANES 1
#define PD_TILE2_VECTORS 4
#define PD_REUSE_ROWS 0 /* a row that was just used is loaded again: it is in the cache */
#define PD_WIDE_SUMS 1  /* float sums of at most PD_PORTABLE_CHUNK terms go into double */

#if defined(__AVX512F__)
#define PD_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define PD_VECTOR_BYTES 32
#else
#define PD_VECTOR_BYTES 16
#endif
#define PD_WIDTH_f32 (PD_VECTOR_BYTES / 4)
#define PD_WIDTH_f64 (PD_VECTOR_BYTES / 8)

typedef float vec_f32 __attribute__((vector_size(PD_VECTOR_BYTES), aligned(4), may_alias));
typedef double vec_f64 __attribute__((vector_size(PD_VECTOR_BYTES), aligned(8), may_alias));
typedef double wide_f32 __attribute__((vector_size(2 * PD_VECTOR_BYTES), aligned(8)));
typedef vec_f64 wide_f64;

PD_FUNCTION wide_f32 widen_f32(vec_f32 x) { return __builtin_convertvector(x, wide_f32); }
PD_FUNCTION vec_f32 narrow_f32(wide_f32 x) { return __builtin_convertvector(x, vec_f32); }
PD_FUNCTION wide_f64 widen_f64(vec_f64 x) { return x; }
PD_FUNCTION vec_f64 narrow_f64(wide_f64 x) { return x; }

/* Stores that bypass the cache: of what is not read again soon. */
#if defined(__clang__)
#define PD_STORE_PAST_CACHE_f32(to, x) __builtin_nontemporal_store(x, (vec_f32 *)(to))
#define PD_STORE_PAST_CACHE_f64(to, x) __builtin_nontemporal_store(x, (vec_f64 *)(to))
#elif defined(__AVX512F__)
#define PD_STORE_PAST_CACHE_f32(to, x) _mm512_stream_ps((void *)(to), (__m512)(x))
#define PD_STORE_PAST_CACHE_f64(to, x) _mm512_stream_pd((void *)(to), (__m512d)(x))
#elif defined(__AVX2__)
#define PD_STORE_PAST_CACHE_f32(to, x) _mm256_stream_ps((void *)(to), (__m256)(x))
#define PD_STORE_PAST_CACHE_f64(to, x) _mm256_stream_pd((void *)(to), (__m256d)(x))
#elif defined(__SSE2__)
#define PD_STORE_PAST_CACHE_f32(to, x) _mm_stream_ps((void *)(to), (__m128)(x))
#define PD_STORE_PAST_CACHE_f64(to, x) _mm_stream_pd((void *)(to), (__m128d)(x))
#else
#define PD_STORE_PAST_CACHE_f32(to, x) (*(vec_f32 *)(to) = (x))
#define PD_STORE_PAST_CACHE_f64(to, x) (*(vec_f64 *)(to) = (x))
#endif

/* Parts of vectors: the first `count` entries, by masks where the instruction set has them. */
#if defined(__AVX512F__)
PD_FUNCTION vec_f32 load_part_f32(const float *from, pd_u32 count) {
  return (vec_f32)_mm512_maskz_loadu_ps(count < 16 ? (__mmask16)((1u << count) - 1) : 0xffff, from);
}
PD_FUNCTION vec_f64 load_part_f64(const double *from, pd_u32 count) {
  return (vec_f64)_mm512_maskz_loadu_pd(count < 8 ? (__mmask8)((1u << count) - 1) : 0xff, from);
}
PD_FUNCTION void store_part_f32(float *to, vec_f32 x, pd_u32 count) {
  _mm512_mask_storeu_ps(to, count < 16 ? (__mmask16)((1u << count) - 1) : 0xffff, (__m512)x);
}
PD_FUNCTION void store_part_f64(double *to, vec_f64 x, pd_u32 count) {
  _mm512_mask_storeu_pd(to, count < 8 ? (__mmask8)((1u << count) - 1) : 0xff, (__m512d)x);
}
#elif defined(__AVX2__)
/* Entries that are wanted have all bits set: a window of this table. */
static const int32_t pd_mask_f32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t pd_mask_f64[8] = {-1, -1, -1, -1};
PD_FUNCTION __m256i mask_f32(pd_u32 count) {
  return _mm256_loadu_si256((const __m256i *)(pd_mask_f32 + 8 - (count < 8 ? count : 8)));
}
PD_FUNCTION __m256i mask_f64(pd_u32 count) {
  return _mm256_loadu_si256((const __m256i *)(pd_mask_f64 + 4 - (count < 4 ? count : 4)));
}
PD_FUNCTION vec_f32 load_part_f32(const float *from, pd_u32 count) {
  return (vec_f32)_mm256_maskload_ps(from, mask_f32(count));
}
PD_FUNCTION vec_f64 load_part_f64(const double *from, pd_u32 count) {
  return (vec_f64)_mm256_maskload_pd(from, mask_f64(count));
}
PD_FUNCTION void store_part_f32(float *to, vec_f32 x, pd_u32 count) {
  _mm256_maskstore_ps(to, mask_f32(count), (__m256)x);
}
PD_FUNCTION void store_part_f64(double *to, vec_f64 x, pd_u32 count) {
  _mm256_maskstore_pd(to, mask_f64(count), (__m256d)x);
}
#else
#define PD_CPU_PARTS(REAL, S)                                                                      \
  PD_FUNCTION vec_##S load_part_##S(const REAL *from, pd_u32 count) {                              \
    vec_##S x = {0};                                                                               \
    for (pd_u32 k = 0; k < PD_WIDTH_##S && k < count; ++k)                                         \
      x[k] = from[k];                                                                              \
    return x;                                                                                      \
  }                                                                                                \
  PD_FUNCTION void store_part_##S(REAL *to, vec_##S x, pd_u32 count) {                             \
    for (pd_u32 k = 0; k < PD_WIDTH_##S && k < count; ++k)                                         \
      to[k] = x[k];                                                                                \
  }
PD_CPU_PARTS(float, f32)
PD_CPU_PARTS(double, f64)
#endif

/* Rows that threads share are added once per part: not worth a copy in every kernel. */
#define PD_CPU_OPERATIONS(REAL, S)                                                                 \
  PD_FUNCTION vec_##S load_##S(const REAL *from) { return *(const vec_##S *)from; }                \
  PD_FUNCTION void store_##S(REAL *to, vec_##S x) { *(vec_##S *)to = x; }                          \
  PD_FUNCTION void store_once_##S(REAL *to, vec_##S x) { PD_STORE_PAST_CACHE_##S(to, x); }         \
  PD_FUNCTION vec_##S splat_##S(REAL x) { return x - (vec_##S){0}; }                               \
  PD_FUNCTION REAL entry_##S(vec_##S x, int k) { return x[k]; }                                    \
  static __attribute__((noinline)) void add_part_##S(REAL *to, vec_##S x, pd_u32 count) {          \
    for (pd_u32 k = 0; k < PD_WIDTH_##S && k < count; ++k) {                                       \
      REAL part = x[k];                                                                            \
      _Pragma("omp atomic") to[k] += part;                                                         \
    }                                                                                              \
  }                                                                                                \
  PD_FUNCTION void load_step_##S(const REAL *from, REAL *value) {                                  \
    for (int j = 0; j < 4; ++j)                                                                    \
      value[j] = from[j];                                                                          \
  }                                                                                                \
  PD_FUNCTION REAL sum_lanes_##S(REAL x, int lanes) { return (void)lanes, x; }                     \
  PD_FUNCTION void atomic_add_##S(REAL *to, REAL x) { _Pragma("omp atomic") *to += x; }

PD_FUNCTION void load_words(const pd_u32 *from, pd_u32 *word) {
  for (int j = 0; j < 4; ++j)
    word[j] = from[j];
}

/* Sums of a vector's entries, by halves. */
typedef double pd_two __attribute__((vector_size(16)));
typedef double pd_four __attribute__((vector_size(32)));
typedef float pd_two_floats __attribute__((vector_size(8)));
typedef float pd_four_floats __attribute__((vector_size(16)));
typedef float pd_eight_floats __attribute__((vector_size(32)));
#define PD_HALVES(NAME, FROM, TO)                                                                  \
  PD_FUNCTION TO NAME(FROM x) {                                                                    \
    TO half[2];                                                                                    \
    __builtin_memcpy(half, &x, sizeof half);                                                       \
    return half[0] + half[1];                                                                      \
  }
#if PD_VECTOR_BYTES == 64
PD_HALVES(halve_eight, vec_f64, pd_four)
PD_HALVES(halve_sixteen_floats, vec_f32, pd_eight_floats)
#define PD_TO_FOUR(x) halve_eight(x)
#define PD_TO_EIGHT_FLOATS(x) halve_sixteen_floats(x)
#else
#define PD_TO_FOUR(x) (x)
#define PD_TO_EIGHT_FLOATS(x) (x)
#endif
#if PD_VECTOR_BYTES >= 32
PD_HALVES(halve_four, pd_four, pd_two)
PD_HALVES(halve_eight_floats, pd_eight_floats, pd_four_floats)
#define PD_TO_TWO(x) halve_four(PD_TO_FOUR(x))
#define PD_TO_FOUR_FLOATS(x) halve_eight_floats(PD_TO_EIGHT_FLOATS(x))
#else
#define PD_TO_TWO(x) (x)
#define PD_TO_FOUR_FLOATS(x) (x)
#endif
PD_HALVES(halve_four_floats, pd_four_floats, pd_two_floats)
PD_FUNCTION double sum_entries_f64(vec_f64 x) {
  pd_two y = PD_TO_TWO(x);
  return y[0] + y[1];
}
PD_FUNCTION float sum_entries_f32(vec_f32 x) {
  pd_two_floats y = halve_four_floats(PD_TO_FOUR_FLOATS(x));
  return y[0] + y[1];
}
PD_CPU_OPERATIONS(float, f32)
PD_CPU_OPERATIONS(double, f64)

#endif
