#define TABLE pd_ptn_scan_avx512
#include "io/ptn_scan_body.h"
