/* What the GPU kernels of formats that list every nonzero get. Plain C on both sides. */
#ifndef PD_NONZEROS_GPU_H
#define PD_NONZEROS_GPU_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PD_NZ_ARRAYS = 44,
  PD_NZ_INPUTS = 15,
  PD_NZ_THREADS = 256, /* of a block of nz_scatter */
  PD_NZ_COLUMNS = 32   /* columns of a tile: what the lanes of a group hold */
};

/** One list on the device. What array[k] and number[k] are is between the format's description and
 *  its kernels; slot k stands for the k-th of the list's levels. */
struct pd_nz_list {
  uint64_t nnz;
  uint64_t items; /* parts that groups of lanes take; 0: equal parts */
  const void *values;
  const void *array[PD_NZ_ARRAYS];
  uint64_t number[8];
};

/** Where a launch adds: a matrix, or one of several copies of it that are summed at the end. */
struct pd_nz_output {
  void *data;      /* of the first copy */
  uint64_t stride; /* elements */
  int copies;      /* 1: the matrix itself */
  uint64_t copy_stride;
};

/** One launch: out += the MTTKRP of a list. */
struct pd_nz_launch {
  struct pd_nz_list list;
  int inputs, rank;
  int output_slot;
  int slot[PD_NZ_INPUTS]; /* of each input */
  const void *factor[PD_NZ_INPUTS];
  uint64_t stride[PD_NZ_INPUTS]; /* elements */
  struct pd_nz_output out;
  uint64_t segment;  /* nonzeros of an item, where items are equal parts: a multiple of 64 */
  void *head, *tail; /* of sorted lists: items x rank */
};

/** to = the sum of the copies, in their order; the rows of `to` are no shorter than theirs. */
cudaError_t pd_nz_merge_f32(const struct pd_nz_output *from, void *to, uint64_t to_stride,
                            cudaStream_t stream);
cudaError_t pd_nz_merge_f64(const struct pd_nz_output *from, void *to, uint64_t to_stride,
                            cudaStream_t stream);

/** Starts a format's kernel. `aligned`: every row of every matrix begins at a multiple of 16 bytes,
 *  and the columns behind the last up to the next multiple are computed with them. */
typedef cudaError_t (*pd_nz_launcher)(const struct pd_nz_launch *launch, int aligned,
                                      cudaStream_t stream);

/** One launch of the tensor-times-matrix chain: nz.rank is the number of columns of the output.
 *  Column c takes column c / weight[k] % rank[k] of input k. */
struct pd_nz_chain {
  struct pd_nz_launch nz;
  int weight[PD_NZ_INPUTS], rank[PD_NZ_INPUTS];
};

typedef cudaError_t (*pd_nz_chain_launcher)(const struct pd_nz_chain *chain, cudaStream_t stream);

#ifdef __cplusplus
}
#define PD_NZ_LAUNCHER extern "C" cudaError_t
#else
#define PD_NZ_LAUNCHER cudaError_t
#endif
/** Declares the launchers NAME_f32 and NAME_f64 of a format, */
#define PD_NZ_DECLARE(name)                                                                        \
  PD_NZ_LAUNCHER name##_f32(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream);  \
  PD_NZ_LAUNCHER name##_f64(const struct pd_nz_launch *launch, int aligned, cudaStream_t stream)
/** and those of its chain. */
#define PD_NZ_DECLARE_CHAIN(name)                                                                  \
  PD_NZ_LAUNCHER name##_f32(const struct pd_nz_chain *chain, cudaStream_t stream);                 \
  PD_NZ_LAUNCHER name##_f64(const struct pd_nz_chain *chain, cudaStream_t stream)
#endif
