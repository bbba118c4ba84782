/* Small kernels between cuBLAS and cuSOLVER. Plain C on both sides. */
#ifndef PD_CUDA_SVD_LAUNCH_H
#define PD_CUDA_SVD_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** to[i * to_stride + c] = from[i * from_stride + c] for rows x columns numbers; wide: doubles. */
cudaError_t pd_gpu_convert(uint64_t rows, uint64_t columns, const void *from, int from_wide,
                           uint64_t from_stride, void *to, int to_wide, uint64_t to_stride,
                           cudaStream_t stream);
/** u[i * u_stride + k] = vectors[i + (rows - 1 - k) * rows]: the `count` strongest eigenvectors,
 *  stored one after the other with the weakest first, as columns of a row-major matrix. */
cudaError_t pd_gpu_take_vectors(uint64_t rows, uint64_t count, const double *vectors, void *u,
                                int wide, uint64_t u_stride, cudaStream_t stream);
/** rotation[k + j * count] = vectors[j + (count - 1 - k) * count] / sqrt(value) for eigenvalues
 *  `values`, ascending; 0 where the value is negligible beside the largest. */
cudaError_t pd_gpu_rotation(int count, const double *vectors, const double *values,
                            double *rotation, cudaStream_t stream);
/** x[k + i * count] = a pseudo-random number where the value of k is negligible; x is count x n. */
cudaError_t pd_gpu_refill(uint64_t n, int count, const double *values, double *x,
                          cudaStream_t stream);
/** Normal numbers, the same for a seed. */
cudaError_t pd_gpu_normals(uint64_t count, uint64_t seed, double *to, cudaStream_t stream);
/** flag |= *info != 0. */
cudaError_t pd_gpu_note(const int *info, int *flag, cudaStream_t stream);
/** *sum = sum of squares, in a fixed order; `parts` has room for PD_GPU_SQUARE_PARTS numbers. */
enum { PD_GPU_SQUARE_PARTS = 256 };
cudaError_t pd_gpu_squares(uint64_t count, const void *from, int wide, double *parts, double *sum,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
