#define TABLE pd_ptn_scan_plain
#include "io/ptn_scan_body.h"
