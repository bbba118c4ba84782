#define TABLE pd_ptn_scan_avx2
#include "io/ptn_scan_body.h"
