#define PD_ISA_TABLE pd_rowsum_portable
#define PD_ISA_NAME "portable"
#define FULL_BYTES 16
#include "formats/rowsum/driver_body.h"
