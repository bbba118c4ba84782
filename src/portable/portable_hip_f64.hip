/* The portable kernels as HIP compiles them, for double. */
#include "portable/backend_hip.h"

#define PD_F64 1
#define PD_GPU_ERROR hipError_t
#define PD_GPU_STREAM hipStream_t
#define PD_GPU_LAST_ERROR() hipGetLastError()
#define PD_GPU_NAME(x) pd_hip_portable_##x##_f64
#include "portable/portable_gpu_body.h"
