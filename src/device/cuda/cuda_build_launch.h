/* Launchers of the steps of building a storage on a GPU. Plain C on both sides. */
#ifndef PD_CUDA_BUILD_LAUNCH_H
#define PD_CUDA_BUILD_LAUNCH_H

#include "device/build_steps.h"
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PD_GPU_BUILD_MODES = 16,
  PD_GPU_BUILD_FIELDS = 136,
  PD_GPU_BUILD_PLANES = 2 * PD_GPU_BUILD_MODES + 2,
  PD_GPU_BUILD_CLASSES = 32,
  PD_GPU_BUILD_SUMS = 2 * PD_GPU_BUILD_CLASSES + 1
};

/** Sort keys: pieces of indices, together at most 64 bits, the first in the highest. */
struct pd_gpu_build_keys {
  const uint32_t *index[PD_GPU_BUILD_MODES];
  struct pd_build_piece piece[64];
  int pieces;
  const uint32_t *table; /* NULL, or the first piece is of table[index] */
  int key_bytes;         /* 4 where 32 bits are enough, or 8 */
};
/** keys[p] = the key of nonzero permutation[p], or of nonzero p where it is NULL. */
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

/** Writes nonzeros in the order of a permutation, as struct pd_build_planes says (device/build.h).
 */
struct pd_gpu_build_gather {
  uint64_t nnz, padded;
  const uint32_t *permutation, *place; /* NULL: as they are */
  const uint32_t *index[PD_GPU_BUILD_MODES];
  struct pd_build_field field[PD_GPU_BUILD_FIELDS];
  int first[PD_GPU_BUILD_PLANES + 1]; /* fields of plane k: from first[k] to first[k + 1] - 1 */
  int planes, step;
  void *plane[PD_GPU_BUILD_PLANES];
  uint64_t wide; /* bit k: plane k has words of 8 bytes */
  const void *values;
  void *to_values; /* NULL: they are not wanted */
  int value_bytes;
  int converts, number, exponent; /* as in struct pd_build_planes */
  const uint32_t *output;         /* index of the output mode */
  uint32_t *sorted;               /* gets it in the new order; NULL: is not wanted */
};
cudaError_t pd_gpu_build_gather(const struct pd_gpu_build_gather *gather, cudaStream_t stream);

/** words[item[n] * step] gets the place of nonzero n in the order of the permutation, in bits from
 *  `shift` on. NULL: item n, and the order of the arrays. */
struct pd_gpu_build_number {
  uint64_t nnz;
  const uint32_t *permutation, *item;
  uint32_t *words;
  int step, shift, bits;
};
cudaError_t pd_gpu_build_number_items(const struct pd_gpu_build_number *of, cudaStream_t stream);

/** Runs of nonzeros that agree in some pieces, in the order of a permutation (NULL: that of the
 *  arrays). */
struct pd_gpu_build_runs {
  uint64_t nnz;
  const uint32_t *permutation;
  const uint32_t *index[PD_GPU_BUILD_MODES];
  struct pd_build_piece piece[PD_GPU_BUILD_MODES];
  int pieces;
};
/** start[r] = where run r begins; *runs = how many there are. With `temporary` NULL nothing is
 * done, and *bytes tells how many are needed there. */
cudaError_t pd_gpu_build_runs(const struct pd_gpu_build_runs *of, uint32_t *start, uint64_t *runs,
                              void *temporary, size_t *bytes, cudaStream_t stream);
/** run[c] = the run with place c unit, or with the last place where that is behind it. */
cudaError_t pd_gpu_build_runs_at(const uint32_t *start, uint32_t runs, uint64_t nnz, uint64_t unit,
                                 uint64_t count, uint32_t *run, cudaStream_t stream);

/** Places that lie in runs with `least` nonzeros or more (`begins`: and begin them), or in no such
 *  run; *found = how many. With `temporary` NULL nothing is done, and *bytes tells how many are
 *  needed there. */
struct pd_gpu_build_split {
  const uint32_t *start; /* runs + 1 */
  uint32_t runs, least;
  int large, begins;
  uint64_t nnz;
};
cudaError_t pd_gpu_build_split(const struct pd_gpu_build_split *of, uint32_t *places,
                               uint64_t *found, void *temporary, size_t *bytes,
                               cudaStream_t stream);
/** begin[r] = how many of the ascending places are below first[r]; begin[runs] = all of them. */
cudaError_t pd_gpu_build_begins(const uint32_t *first, uint64_t runs, const uint32_t *places,
                                uint64_t count, uint32_t *begin, cudaStream_t stream);

/** Sets the bits of nonzeros in bitmaps of their runs, which begin as zeros. */
struct pd_gpu_build_bitmaps {
  const uint32_t *permutation; /* NULL: the order of the arrays */
  const uint32_t *index[PD_GPU_BUILD_MODES];
  struct pd_build_field field[PD_GPU_BUILD_MODES]; /* of the number of a bit */
  int fields;
  const uint32_t *place, *begin; /* of `count` nonzeros, and runs + 1 */
  uint64_t count, words;         /* of a bitmap */
  uint32_t runs;
  uint32_t *bits;
};
cudaError_t pd_gpu_build_bitmaps(const struct pd_gpu_build_bitmaps *of, cudaStream_t stream);

/** A stream of packed items (pd_build_stream_word()). */
struct pd_gpu_build_pack {
  const uint32_t *permutation, *place;
  const uint32_t *index[PD_GPU_BUILD_MODES];
  struct pd_build_field field[PD_GPU_BUILD_MODES];
  int fields, bits;
  uint64_t items, words;
  uint32_t *to;
};
cudaError_t pd_gpu_build_pack(const struct pd_gpu_build_pack *of, cudaStream_t stream);

/** Raises *most to the bits of the largest magnitude of `count` values, as those of a double. */
cudaError_t pd_gpu_build_largest(const void *values, int value_bytes, uint64_t count,
                                 uint64_t *most, cudaStream_t stream);

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
  const uint32_t *permutation; /* of the planes; NULL: they are in the order of `sorted` */
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
/** to[p] = from[p]. */
cudaError_t pd_gpu_build_widen(const uint16_t *from, uint64_t count, uint32_t *to,
                               cudaStream_t stream);
/** `count` ones of 4 or 8 bytes. */
cudaError_t pd_gpu_build_ones(void *values, int value_bytes, uint64_t count, cudaStream_t stream);

/** row[p] = the output row of nonzero p. */
cudaError_t pd_gpu_build_rows_of(const uint64_t *row_start, const uint32_t *row_id, uint64_t rows,
                                 uint64_t nnz, uint32_t *row, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
