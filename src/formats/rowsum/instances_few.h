/* One to three vectors: for ranks below a full vector. */
#ifndef KERNEL_BODY
#define KERNEL_BODY "formats/rowsum/kernel_body.h"
#endif
#define VECTORS 1
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 2
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 3
#include KERNEL_BODY
#undef VECTORS
