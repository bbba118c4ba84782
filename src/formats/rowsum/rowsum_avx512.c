#define PD_ISA_TABLE pd_rowsum_avx512
#define FULL_BYTES 64
#define SHORTER pd_rowsum_avx2
#include "formats/rowsum/driver_body.h"
