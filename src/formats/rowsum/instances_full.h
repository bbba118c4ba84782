/* One to PD_VECTORS_MAX vectors. */
#include "formats/rowsum/instances_few.h"
#define VECTORS 3
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 4
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 5
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 6
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 7
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 8
#include KERNEL_BODY
#undef VECTORS
