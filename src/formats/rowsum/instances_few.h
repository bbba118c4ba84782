/* One vector or two. */
#define VECTORS 1
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 2
#include KERNEL_BODY
#undef VECTORS
