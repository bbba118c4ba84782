/* One to PD_VECTORS_MAX vectors. */
#include "formats/rowsum/instances_few.h"
#define VECTORS 4
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
#define VECTORS 5
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
#define VECTORS 6
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
#define VECTORS 7
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
#define VECTORS 8
#include "formats/rowsum/kernel_body.h"
#undef VECTORS
