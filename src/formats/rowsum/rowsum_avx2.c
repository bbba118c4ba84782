#define PD_ISA_TABLE pd_rowsum_avx2
#define FULL_BYTES 32
#include "formats/rowsum/driver_body.h"
