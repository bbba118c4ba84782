#define ISA "avx2"
#define TABLE pd_factor_kernels_avx2
#include "linalg/factor_kernels_instance.h"
