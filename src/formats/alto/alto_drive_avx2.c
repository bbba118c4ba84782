#define PD_ISA_TABLE pd_alto_avx2
#define FULL_BYTES 32
#include "formats/alto/alto_drive_body.h"
