#define PD_ISA_TABLE pd_alto_plain
#define FULL_BYTES 16
#include "formats/alto/alto_drive_body.h"
