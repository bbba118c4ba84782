/* cuBLAS and cuSOLVER, loaded when the first Tucker decomposition needs them: a program that only
 * computes CP does without these large libraries. */
#ifndef PD_CUDA_DENSE_LIBRARY_H
#define PD_CUDA_DENSE_LIBRARY_H

#include "device/cuda/cuda_state.h"
#include <cublas_v2.h>
#include <cusolverDn.h>

/** The functions in use; see NVIDIA's manuals. */
struct pd_cuda_dense {
  cublasStatus_t (*create)(cublasHandle_t *);
  cublasStatus_t (*destroy)(cublasHandle_t);
  cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t);
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                         const double *, const double *, int, const double *, int, const double *,
                         double *, int);
  cublasStatus_t (*syrk)(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int, int,
                         const double *, const double *, int, const double *, double *, int);
  cublasStatus_t (*trsm)(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                         cublasDiagType_t, int, int, const double *, const double *, int, double *,
                         int);
  cusolverStatus_t (*solver_create)(cusolverDnHandle_t *);
  cusolverStatus_t (*solver_destroy)(cusolverDnHandle_t);
  cusolverStatus_t (*solver_set_stream)(cusolverDnHandle_t, cudaStream_t);
  cusolverStatus_t (*eigen_size)(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,
                                 const double *, int, const double *, int *);
  cusolverStatus_t (*eigen)(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int, double *,
                            int, double *, double *, int, int *);
  cusolverStatus_t (*cholesky_size)(cusolverDnHandle_t, cublasFillMode_t, int, double *, int,
                                    int *);
  cusolverStatus_t (*cholesky)(cusolverDnHandle_t, cublasFillMode_t, int, double *, int, double *,
                               int, int *);
};

/** The loaded functions, or a failure that says which library is missing. */
polyad_status pd_cuda_dense_load(polyad_context *context, const struct pd_cuda_dense **library);

#endif
