#define PD_CPU_TABLE pd_portable_cpu_plain
#include "portable/portable_cpu_body.h"
