#define PD_CPU_TABLE pd_portable_cpu_avx512
#include "portable/portable_cpu_body.h"
