/* Types that products are computed in, and D = A B + C on tensor cores: 16 x 16 times 16 x 8 with
 * mma.sync, operands as hls_bits.h describes them. */
#ifndef PD_HLS_MMA_CUH
#define PD_HLS_MMA_CUH

#include "formats/hls/hls_bits.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* Four numbers of a row. */
template <typename S> struct Four { S v[4]; };

__device__ __forceinline__ Four<float> load_four(const float *from) {
  float4 raw = __ldg(reinterpret_cast<const float4 *>(from));
  return {{raw.x, raw.y, raw.z, raw.w}};
}

__device__ __forceinline__ Four<double> load_four(const double *from) {
  double2 low = __ldg(reinterpret_cast<const double2 *>(from));
  double2 high = __ldg(reinterpret_cast<const double2 *>(from) + 1);
  return {{low.x, low.y, high.x, high.y}};
}

/* Half precision. */
struct F16 {
  typedef unsigned short Stored;
  typedef float Sum;
  typedef uint32_t Pair;
  static constexpr bool SCALED = true; /* factors are brought into range column by column */

  __device__ static float value(Stored x) { return __half2float(__ushort_as_half(x)); }
  __device__ static Stored cell(Stored x) { return x; }
  __device__ static Pair pair(float x, float y) {
    __half2 both = __floats2half2_rn(x, y);
    return *reinterpret_cast<uint32_t *>(&both);
  }
  __device__ static float2 floats(Pair x) {
    return __half22float2(*reinterpret_cast<__half2 *>(&x));
  }
  __device__ static void product(float d[4], const float c[4], const Pair a[4], Pair b0, Pair b1) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]),
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
  }
};

/* bfloat16; compute capability 8.0. */
struct BF16 {
  typedef unsigned short Stored;
  typedef float Sum;
  typedef uint32_t Pair;
  static constexpr bool SCALED = false;

  __device__ static float value(Stored x) { return __uint_as_float((uint32_t)x << 16); }
  __device__ static Stored cell(Stored x) { return x; }
  __device__ static Pair pair(float x, float y) {
    __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
    return *reinterpret_cast<uint32_t *>(&both);
  }
  __device__ static float2 floats(Pair x) {
    return make_float2(__uint_as_float(x << 16), __uint_as_float(x & 0xffff0000u));
  }
  __device__ static void product(float d[4], const float c[4], const Pair a[4], Pair b0, Pair b1) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]),
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    __trap(); /* supports() refuses it */
#endif
  }
};

/* tf32: floats whose last 13 bits do not count; compute capability 8.0. */
struct TF32 {
  typedef float Stored;
  typedef float Sum;
  typedef float2 Pair;
  static constexpr bool SCALED = false;

  __device__ static float value(Stored x) { return x; }
  __device__ static float cell(float x) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return __uint_as_float(rounded);
#else
    return x;
#endif
  }
  __device__ static Pair pair(float x, float y) { return make_float2(cell(x), cell(y)); }
  __device__ static float2 floats(Pair x) { return x; }
  __device__ static void step(float d[4], const float c[4], Pair a0, Pair a1, Pair b) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(__float_as_uint(a0.x)), "r"(__float_as_uint(a1.x)),
                   "r"(__float_as_uint(a0.y)), "r"(__float_as_uint(a1.y)),
                   "r"(__float_as_uint(b.x)), "r"(__float_as_uint(b.y)), "f"(c[0]), "f"(c[1]),
                   "f"(c[2]), "f"(c[3]));
#else
    __trap();
#endif
  }
  __device__ static void product(float d[4], const float c[4], const Pair a[4], Pair b0, Pair b1) {
    step(d, c, a[0], a[1], b0);
    step(d, d, a[2], a[3], b1);
  }
};

/* Full double precision: single nonzeros only. */
struct F64 {
  typedef double Stored;
  typedef double Sum;
  __device__ static double value(Stored x) { return x; }
};

/* A lane's part of a 16 x 16 block of a factor. */
template <class V> struct Fragment {
  typename V::Pair p[PD_HLS_PAIRS];

  __device__ void load(const void *from, uint64_t block, uint32_t lane) {
    constexpr int QUADS = sizeof(p) / sizeof(uint4);
    const uint4 *quad =
        static_cast<const uint4 *>(from) + (block * PD_HLS_LANES + lane) * (uint64_t)QUADS;
#pragma unroll
    for (int q = 0; q < QUADS; ++q)
      reinterpret_cast<uint4 *>(p)[q] = __ldg(quad + q);
  }
};

/* d = F X(s)', 16 columns of the factor by 16 rows of the slice: two products of 16 x 8. */
template <class V>
__device__ __forceinline__ void times_slice(float d[2][4], const Fragment<V> &factor,
                                            const typename V::Pair x[2][2]) {
  const float zero[4] = {0, 0, 0, 0};
#pragma unroll
  for (int block = 0; block < 2; ++block)
    V::product(d[block], zero, factor.p, x[block][0], x[block][1]);
}

/* The product of times_slice() as the left operand of the next: its registers already lie there. */
template <class V>
__device__ __forceinline__ void as_left(const float d[2][4], typename V::Pair a[4]) {
  a[0] = V::pair(d[0][0], d[0][1]);
  a[1] = V::pair(d[0][2], d[0][3]);
  a[2] = V::pair(d[1][0], d[1][1]);
  a[3] = V::pair(d[1][2], d[1][3]);
}

/* d += left J for 8 of the 16 columns of a factor. */
template <class V>
__device__ __forceinline__ void times_right(float d[4], const typename V::Pair left[4],
                                            const Fragment<V> &factor, int block) {
  V::product(d, d, left, factor.p[pd_hls_right(block, 0)], factor.p[pd_hls_right(block, 1)]);
}

#endif
