/* Launchers of the steps of building a storage on a GPU. Plain C on both sides. */
#ifndef PD_CUDA_BUILD_LAUNCH_H
#define PD_CUDA_BUILD_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PD_GPU_BUILD_MODES = 16,
  PD_GPU_BUILD_CLASSES = 32,
  PD_GPU_BUILD_SUMS = 2 * PD_GPU_BUILD_CLASSES + 1
};

/** Sort keys of some modes, the first in the highest bits. */
struct pd_gpu_build_keys {
  const uint32_t *index[PD_GPU_BUILD_MODES];
  int bits[PD_GPU_BUILD_MODES]; /* 1 to 32, together at most 64 */
  int count;
  int key_bytes; /* 4 where 32 bits are enough, or 8 */
};
/** keys[p] = the key of nonzero permutation[p]. */
cudaError_t pd_gpu_build_keys(const struct pd_gpu_build_keys *of, const uint32_t *permutation,
                              uint64_t nnz, void *keys, cudaStream_t stream);

/** Adds to degree[i] how many of the indices are i. */
cudaError_t pd_gpu_build_degrees(const uint32_t *index, uint64_t nnz, uint64_t dim,
                                 uint32_t *degree, cudaStream_t stream);
/** Adds up the rows and their nonzeros by class: rows in sums[c], nonzeros in sums[classes + c];
 * the last of the PD_GPU_BUILD_SUMS is the most nonzeros of a row. */
cudaError_t pd_gpu_build_classes(const uint32_t *degree, uint64_t dim, uint64_t *sums,
                                 cudaStream_t stream);

/** Cells of the product of some modes, the first varying slowest. */
struct pd_gpu_build_cells {
  uint64_t nnz;
  const uint32_t *index[PD_GPU_BUILD_MODES];
  uint64_t dim[PD_GPU_BUILD_MODES];
  int modes;
};
/** Sets the bits of the cells that nonzeros have. */
cudaError_t pd_gpu_build_cells(const struct pd_gpu_build_cells *of, uint32_t *bits,
                               cudaStream_t stream);

/** Tuples of indices in `modes` modes from each mode on; see tensor/tuple_hash.h. */
struct pd_gpu_build_ranks {
  uint64_t nnz;
  const uint32_t *index[PD_GPU_BUILD_MODES];
  uint64_t factor[PD_GPU_BUILD_MODES]; /* of samples */
  int order, modes, sampled;
};
/** Raises registers[n * PD_TUPLE_REGISTERS + k] to the ranks that the tuples from mode n show. */
cudaError_t pd_gpu_build_ranks(const struct pd_gpu_build_ranks *of, uint32_t *registers,
                               cudaStream_t stream);

/** Writes nonzeros in the order of a permutation. */
struct pd_gpu_build_gather {
  uint64_t nnz, padded;
  const uint32_t *permutation;               /* NULL: as they are */
  const uint32_t *index[PD_GPU_BUILD_MODES]; /* of each field */
  int plane_of[PD_GPU_BUILD_MODES], shift[PD_GPU_BUILD_MODES];
  int fields, planes;
  uint32_t *plane[PD_GPU_BUILD_MODES];
  const void *values;
  void *to_values;
  int value_bytes;
  const uint32_t *output; /* index of the output mode */
  uint32_t *sorted;       /* gets it in the new order; NULL: is not wanted */
};
cudaError_t pd_gpu_build_gather(const struct pd_gpu_build_gather *gather, cudaStream_t stream);

/** start[r] = where row r of the sorted output rows begins; *rows = how many there are. With
 *  `temporary` NULL nothing is done, and *bytes tells how many are needed there. */
cudaError_t pd_gpu_build_starts(const uint32_t *sorted, uint64_t nnz, uint64_t *start,
                                uint64_t *rows, void *temporary, size_t *bytes,
                                cudaStream_t stream);

/** Tables of rows whose starts are known. NULL: not wanted. `used` begins as zeros. */
struct pd_gpu_build_rows {
  const uint32_t *sorted;
  uint64_t nnz, rows;
  uint64_t *row_start;
  uint32_t *row_id, *chunk_row, *used;
};
/** row_start[rows], row_id and used; then chunk_row. */
cudaError_t pd_gpu_build_rows(const struct pd_gpu_build_rows *of, cudaStream_t stream);

/** Bits of nonzeros. NULL: not wanted. */
struct pd_gpu_build_marks {
  const uint32_t *sorted;
  uint64_t nnz;
  const uint32_t *plane[PD_GPU_BUILD_MODES];
  uint32_t outer_mask[PD_GPU_BUILD_MODES];
  int planes;
  uint32_t *marks, *ends;
};
cudaError_t pd_gpu_build_marks(const struct pd_gpu_build_marks *of, cudaStream_t stream);

/** Tuples of the indices in some modes, of nonzeros that are in the order of these modes. */
struct pd_gpu_build_tuples {
  uint64_t nnz;
  const uint32_t *permutation; /* the order; NULL: that of the arrays */
  const uint32_t *index[PD_GPU_BUILD_MODES];
  int modes;
  uint32_t *begins;   /* 1 where a tuple begins, but for the first */
  uint32_t *number;   /* of the tuple at each place of the order: the sums of `begins` */
  uint32_t *tuple_of; /* the same of every nonzero */
  uint32_t *tuple_index[PD_GPU_BUILD_MODES]; /* of each tuple */
};
/** begins and number. With `temporary` NULL nothing is done, and *bytes tells how many are needed
 *  there. */
cudaError_t pd_gpu_build_number(const struct pd_gpu_build_tuples *of, void *temporary,
                                size_t *bytes, cudaStream_t stream);
/** Then tuple_of and tuple_index. */
cudaError_t pd_gpu_build_name_tuples(const struct pd_gpu_build_tuples *of, cudaStream_t stream);
/** `count` ones of 4 or 8 bytes. */
cudaError_t pd_gpu_build_ones(void *values, int value_bytes, uint64_t count, cudaStream_t stream);

/** row[p] = the output row of nonzero p. */
cudaError_t pd_gpu_build_rows_of(const uint64_t *row_start, const uint32_t *row_id, uint64_t rows,
                                 uint64_t nnz, uint32_t *row, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
