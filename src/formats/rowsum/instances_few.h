/* One to three vectors: for ranks below a full vector. */
#define VECTORS 1
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 2
#include KERNEL_BODY
#undef VECTORS
#define VECTORS 3
#include KERNEL_BODY
#undef VECTORS
