/* The tensor-times-matrix chain of listed nonzeros: every nonzero adds its value times the
 * Kronecker product of the factor rows that it names to a row of the output.
 *
 * A thread block takes one item and a tile of the output's columns, a few of them per thread, and
 * sums nonzeros of one output row that follow each other in registers; each sum is added with an
 * atomic operation, or stored where the source says that nobody else has the row. */
#ifndef PD_NONZEROS_CHAIN_CUH
#define PD_NONZEROS_CHAIN_CUH

#include "formats/nonzeros/nonzeros_kernels.cuh"

enum { NZ_CHAIN_EACH = 4 /* columns of a thread */ };

/* A thread's columns, as columns of each factor. */
template <int INPUTS> struct ChainColumns {
  static constexpr int KEPT = INPUTS > 0 ? INPUTS : (int)PD_NZ_INPUTS;
  int column[NZ_CHAIN_EACH];
  int part[KEPT][NZ_CHAIN_EACH];

  __device__ ChainColumns(const struct pd_nz_chain &a) {
#pragma unroll
    for (int i = 0; i < NZ_CHAIN_EACH; ++i) {
      column[i] = (int)((blockIdx.y * NZ_CHAIN_EACH + (unsigned)i) * blockDim.x + threadIdx.x);
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a.nz); ++k)
        part[k][i] = column[i] / a.weight[k] % a.rank[k];
    }
  }
};

template <typename T> struct ChainSum {
  uint32_t row;
  bool open;
  T sum[NZ_CHAIN_EACH];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < NZ_CHAIN_EACH; ++i)
      sum[i] = 0;
  }
  __device__ void flush(const struct pd_nz_chain &a, const int *column, bool alone) {
    if (!open) return;
    T *to = static_cast<T *>(a.nz.out.data) + (uint64_t)row * a.nz.out.stride;
#pragma unroll
    for (int i = 0; i < NZ_CHAIN_EACH; ++i) {
      if (column[i] >= a.nz.rank) continue;
      if (alone)
        to[column[i]] = sum[i];
      else
        atomicAdd(to + column[i], sum[i]);
    }
    clear();
  }
};

template <typename T, int INPUTS, template <typename, int> class SOURCE>
__global__ void __launch_bounds__(PD_NZ_THREADS)
    nz_chain(const __grid_constant__ struct pd_nz_chain a) {
  SOURCE<T, INPUTS> source(a.nz, blockIdx.x);
  Decoded<T, INPUTS> decoded;
  ChainColumns<INPUTS> columns(a);
  ChainSum<T> run;
  run.row = 0;
  run.open = false;
  run.clear();
  for (uint64_t p = source.begin; p < source.end; p += NZ_BATCH) {
    int count = source.end - p < NZ_BATCH ? (int)(source.end - p) : NZ_BATCH;
    nz_decode(a.nz, source, p, count, decoded);
#pragma unroll
    for (int j = 0; j < NZ_BATCH; ++j) {
      if (j >= count) continue;
      if (!run.open || decoded.row[j] != run.row) {
        run.flush(a, columns.column, source.alone());
        run.row = decoded.row[j];
        run.open = true;
      }
      T product[NZ_CHAIN_EACH];
#pragma unroll
      for (int i = 0; i < NZ_CHAIN_EACH; ++i)
        product[i] = decoded.value[j];
#pragma unroll
      for (int k = 0; k < nz_inputs<INPUTS>(a.nz); ++k) {
        const T *row =
            static_cast<const T *>(a.nz.factor[k]) + (uint64_t)decoded.index[k][j] * a.nz.stride[k];
#pragma unroll
        for (int i = 0; i < NZ_CHAIN_EACH; ++i)
          product[i] *= __ldg(row + columns.part[k][i]);
      }
#pragma unroll
      for (int i = 0; i < NZ_CHAIN_EACH; ++i)
        run.sum[i] += product[i];
    }
  }
  run.flush(a, columns.column, source.alone());
}

template <typename T, int INPUTS, template <typename, int> class SOURCE>
static cudaError_t nz_chain_start(const struct pd_nz_chain *chain, cudaStream_t stream) {
  int threads = chain->nz.rank < PD_NZ_THREADS ? (chain->nz.rank + 31) / 32 * 32 : PD_NZ_THREADS;
  int tile = threads * NZ_CHAIN_EACH;
  if (chain->nz.list.items == 0) return cudaSuccess;
  dim3 grid((unsigned)chain->nz.list.items, (unsigned)((chain->nz.rank + tile - 1) / tile));
  nz_chain<T, INPUTS, SOURCE><<<grid, (unsigned)threads, 0, stream>>>(*chain);
  return cudaGetLastError();
}

template <typename T, template <typename, int> class SOURCE>
static cudaError_t nz_chain_launch(const struct pd_nz_chain *chain, cudaStream_t stream) {
  switch (chain->nz.inputs) {
  case 2:
    return nz_chain_start<T, 2, SOURCE>(chain, stream);
  case 3:
    return nz_chain_start<T, 3, SOURCE>(chain, stream);
  default:
    return nz_chain_start<T, 0, SOURCE>(chain, stream);
  }
}

/* Defines the two launchers of a format. */
#define PD_NZ_CHAIN_LAUNCHERS(name, source)                                                        \
  extern "C" cudaError_t name##_f32(const struct pd_nz_chain *chain, cudaStream_t stream) {        \
    return nz_chain_launch<float, source>(chain, stream);                                          \
  }                                                                                                \
  extern "C" cudaError_t name##_f64(const struct pd_nz_chain *chain, cudaStream_t stream) {        \
    return nz_chain_launch<double, source>(chain, stream);                                         \
  }

#endif
