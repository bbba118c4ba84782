/* Backend: OpenCL C. The host defines PD_VECTOR_BYTES, PD_LANES, PD_GROUPS (LANES x GROUPS is the
 * size of a work group), PD_WIDE_SUMS, PD_REUSE_ROWS and PD_F64. More than one lane need a way to
 * add across lanes: subgroup shuffles, or on NVIDIA's compiler the machine's instruction. */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif

typedef uint pd_u32;
typedef ulong pd_u64;

#define PD_KERNEL __kernel void
#define PD_ITEM
#define PD_INDEX ((pd_u64)get_global_id(0))
#define PD_FUNCTION static inline
#define PD_JOB(type) const struct type
#define PD_GLOBAL __global
#define PD_LOCAL __local
#define PD_LOCAL_ARRAY __local
#define PD_RESTRICT restrict
#define PD_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define PD_UNROLL _Pragma("unroll")
#define PD_PREFETCH(address) prefetch(address, 1)

#define PD_JOIN2(x, y) x##y
#define PD_JOIN(x, y) PD_JOIN2(x, y)

#if PD_VECTOR_BYTES == 64
#define PD_WIDTH_f32 16
#define PD_WIDTH_f64 8
#define PD_WIDE_f32 double16
#define PD_CONVERT_TO_WIDE convert_double16
#elif PD_VECTOR_BYTES == 32
#define PD_WIDTH_f32 8
#define PD_WIDTH_f64 4
#define PD_WIDE_f32 double8
#define PD_CONVERT_TO_WIDE convert_double8
#else
#define PD_WIDTH_f32 4
#define PD_WIDTH_f64 2
#define PD_WIDE_f32 double4
#define PD_CONVERT_TO_WIDE convert_double4
#endif

typedef PD_JOIN(float, PD_WIDTH_f32) vec_f32;
#if PD_WIDE_SUMS
typedef PD_WIDE_f32 wide_f32;
PD_FUNCTION wide_f32 widen_f32(vec_f32 x) { return PD_CONVERT_TO_WIDE(x); }
PD_FUNCTION vec_f32 narrow_f32(wide_f32 x) { return PD_JOIN(convert_float, PD_WIDTH_f32)(x); }
#else
typedef vec_f32 wide_f32;
PD_FUNCTION wide_f32 widen_f32(vec_f32 x) { return x; }
PD_FUNCTION vec_f32 narrow_f32(wide_f32 x) { return x; }
#endif

/* Vectors of 16 bytes are loaded whole; longer ones may begin at any element. */
#if PD_VECTOR_BYTES == 16
#define PD_LOAD_VECTOR(S, from) (*(const __global vec_##S *)(from))
#define PD_STORE_VECTOR(S, to, x) (*(__global vec_##S *)(to) = (x))
#else
#define PD_LOAD_VECTOR(S, from) PD_JOIN(vload, PD_WIDTH_##S)(0, from)
#define PD_STORE_VECTOR(S, to, x) PD_JOIN(vstore, PD_WIDTH_##S)(x, 0, to)
#endif

#if PD_LANES == 1
#define PD_EXCHANGE_f32(x, step) (x)
#define PD_EXCHANGE_f64(x, step) (x)
#elif defined(__NV_CL_C_VERSION)
PD_FUNCTION uint exchange_word(uint x, uint step) {
  uint y, lane, mask;
  __asm__("mov.u32 %0, %%laneid;" : "=r"(lane));
  mask =
      PD_LANES == 32 ? 0xffffffffu : ((1u << (PD_LANES % 32)) - 1u) << (lane / PD_LANES * PD_LANES);
  __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, %3;"
                   : "=r"(y)
                   : "r"(x), "r"(step), "r"(mask));
  return y;
}
#define PD_EXCHANGE_f32(x, step) as_float(exchange_word(as_uint(x), step))
PD_FUNCTION double exchange_double(double x, uint step) {
  uint2 word = as_uint2(x);
  return as_double((uint2)(exchange_word(word.x, step), exchange_word(word.y, step)));
}
#define PD_EXCHANGE_f64(x, step) exchange_double(x, step)
#else
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define PD_EXCHANGE_f32(x, step) sub_group_shuffle_xor(x, step)
#define PD_EXCHANGE_f64(x, step) sub_group_shuffle_xor(x, step)
#endif

#define PD_OPENCL_OPERATIONS(REAL, S, WORD, AS_WORD, AS_REAL, EXCHANGE)                            \
  PD_FUNCTION vec_##S load_##S(const __global REAL *from) { return PD_LOAD_VECTOR(S, from); }      \
  PD_FUNCTION void store_##S(__global REAL *to, vec_##S x) { PD_STORE_VECTOR(S, to, x); }          \
  PD_FUNCTION void store_once_##S(__global REAL *to, vec_##S x) { PD_STORE_VECTOR(S, to, x); }     \
  PD_FUNCTION vec_##S splat_##S(REAL x) { return (vec_##S)(x); }                                   \
  PD_FUNCTION REAL entry_##S(vec_##S x, int k) { return ((REAL *)&x)[k]; }                         \
  PD_FUNCTION vec_##S load_part_##S(const __global REAL *from, pd_u32 count) {                     \
    REAL x[PD_WIDTH_##S];                                                                          \
    for (pd_u32 k = 0; k < PD_WIDTH_##S; ++k)                                                      \
      x[k] = k < count ? from[k] : (REAL)0;                                                        \
    return PD_JOIN(vload, PD_WIDTH_##S)(0, x);                                                     \
  }                                                                                                \
  PD_FUNCTION void store_part_##S(__global REAL *to, vec_##S x, pd_u32 count) {                    \
    for (pd_u32 k = 0; k < PD_WIDTH_##S; ++k)                                                      \
      if (k < count) to[k] = ((REAL *)&x)[k];                                                      \
  }                                                                                                \
  PD_FUNCTION REAL sum_entries_##S(vec_##S x) {                                                    \
    REAL sum = 0;                                                                                  \
    for (int k = 0; k < PD_WIDTH_##S; ++k)                                                         \
      sum += ((REAL *)&x)[k];                                                                      \
    return sum;                                                                                    \
  }                                                                                                \
  PD_FUNCTION REAL sum_lanes_##S(REAL x, int lanes) {                                              \
    for (int step = lanes / 2; step > 0; step /= 2)                                                \
      x += PD_EXCHANGE_##S(x, step);                                                               \
    return x;                                                                                      \
  }                                                                                                \
  PD_FUNCTION void atomic_add_##S(__global REAL *to, REAL x) {                                     \
    volatile __global WORD *word = (volatile __global WORD *)to;                                   \
    WORD seen = *word, before;                                                                     \
    do {                                                                                           \
      before = seen;                                                                               \
      seen = EXCHANGE(word, before, AS_WORD(AS_REAL(before) + x));                                 \
    } while (seen != before);                                                                      \
  }                                                                                                \
  PD_FUNCTION void add_part_##S(__global REAL *to, vec_##S x, pd_u32 count) {                      \
    for (pd_u32 k = 0; k < PD_WIDTH_##S; ++k)                                                      \
      if (k < count) atomic_add_##S(to + k, ((REAL *)&x)[k]);                                      \
  }                                                                                                \
  PD_FUNCTION void load_step_##S(const __global REAL *from, REAL *value) {                         \
    vstore4(vload4(0, from), 0, value);                                                            \
  }

PD_FUNCTION void load_words(const __global uint *from, uint *word) {
  uint4 x = *(const __global uint4 *)from;
  word[0] = x.x, word[1] = x.y, word[2] = x.z, word[3] = x.w;
}

#if PD_F64
typedef PD_JOIN(double, PD_WIDTH_f64) vec_f64;
typedef vec_f64 wide_f64;
PD_FUNCTION wide_f64 widen_f64(vec_f64 x) { return x; }
PD_FUNCTION vec_f64 narrow_f64(wide_f64 x) { return x; }
PD_OPENCL_OPERATIONS(double, f64, ulong, as_ulong, as_double, atom_cmpxchg)
#else
PD_OPENCL_OPERATIONS(float, f32, uint, as_uint, as_float, atomic_cmpxchg)
#endif
