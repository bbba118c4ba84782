/* All portable kernels in OpenCL C: one of those over rows (PD_ROWS), or the others. */
#include "portable/backend_opencl.h"
#include "portable/portable_job.h"
#ifdef PD_ROWS
#define PD_INSTANCE(x) x
#include "portable/kernels_rows.h"
#else
#include "portable/kernels_join.h"
#include "portable/kernels_stream.h"
#endif
