/* One to three vectors: for ranks below a full vector. */
#define VECTORS 1
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
#define VECTORS 2
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
#define VECTORS 3
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
