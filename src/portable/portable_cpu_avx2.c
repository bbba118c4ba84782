#define PD_CPU_TABLE pd_portable_cpu_avx2
#include "portable/portable_cpu_body.h"
