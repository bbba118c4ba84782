#define PD_ISA_TABLE pd_alto_avx512
#define FULL_BYTES 64
#define SHORTER pd_alto_avx2
#include "formats/alto/alto_drive_body.h"
