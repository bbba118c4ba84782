/* Backend: the host's C compiler with OpenMP. A work item is one call of the kernel, and a group
 * is one item with vectors as wide as the instruction set's: barriers have nothing to wait for. */
#ifndef PD_BACKEND_CPU_H
#define PD_BACKEND_CPU_H

#include <stdint.h>
#if defined(__x86_64__) && !defined(__clang__)
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

#define PD_CPU_OPERATIONS(REAL, S)                                                                 \
  PD_FUNCTION vec_##S load_##S(const REAL *from) { return *(const vec_##S *)from; }                \
  PD_FUNCTION void store_##S(REAL *to, vec_##S x) { *(vec_##S *)to = x; }                          \
  PD_FUNCTION void store_once_##S(REAL *to, vec_##S x) { PD_STORE_PAST_CACHE_##S(to, x); }         \
  PD_FUNCTION vec_##S splat_##S(REAL x) { return x - (vec_##S){0}; }                               \
  PD_FUNCTION REAL entry_##S(vec_##S x, int k) { return x[k]; }                                    \
  PD_FUNCTION vec_##S load_part_##S(const REAL *from, pd_u32 count) {                              \
    vec_##S x = {0};                                                                               \
    for (pd_u32 k = 0; k < PD_WIDTH_##S && k < count; ++k)                                         \
      x[k] = from[k];                                                                              \
    return x;                                                                                      \
  }                                                                                                \
  PD_FUNCTION void store_part_##S(REAL *to, vec_##S x, pd_u32 count) {                             \
    for (pd_u32 k = 0; k < PD_WIDTH_##S && k < count; ++k)                                         \
      to[k] = x[k];                                                                                \
  }                                                                                                \
  PD_FUNCTION REAL sum_entries_##S(vec_##S x) {                                                    \
    REAL part[PD_WIDTH_##S];                                                                       \
    __builtin_memcpy(part, &x, sizeof part);                                                       \
    for (int half = PD_WIDTH_##S / 2; half > 0; half /= 2)                                         \
      for (int k = 0; k < half; ++k)                                                               \
        part[k] += part[k + half];                                                                 \
    return part[0];                                                                                \
  }                                                                                                \
  PD_FUNCTION REAL sum_lanes_##S(REAL x, int lanes) { return (void)lanes, x; }                     \
  PD_FUNCTION void atomic_add_##S(REAL *to, REAL x) { _Pragma("omp atomic") *to += x; }

PD_CPU_OPERATIONS(float, f32)
PD_CPU_OPERATIONS(double, f64)

#endif
