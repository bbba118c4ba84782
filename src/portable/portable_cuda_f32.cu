/* The portable kernels as CUDA compiles them, for float. */
#include "portable/backend_cuda.h"

#define PD_F64 0
#define PD_GPU_ERROR cudaError_t
#define PD_GPU_STREAM cudaStream_t
#define PD_GPU_LAST_ERROR() cudaGetLastError()
#define PD_GPU_NAME(x) pd_cuda_portable_##x##_f32
#include "portable/portable_gpu_body.h"
