#define PD_ISA_TABLE pd_rowsum_plain
#define FULL_BYTES 16
#include "formats/rowsum/driver_body.h"
