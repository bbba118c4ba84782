/* The table of ptn_scan.h for one instruction set, whose name the includer defines as TABLE. */
#include "io/ptn_scan.h"

#define UINT uint32_t
#define INFINITE (UINT32_C(0xff) << 23)
#define SCAN_LARGEST scan_largest32
#define SCAN_COMPARE scan_compare32
#define SCAN_BAD scan_bad32
#include "io/ptn_scan_width.h"

#define UINT uint64_t
#define INFINITE (UINT64_C(0x7ff) << 52)
#define SCAN_LARGEST scan_largest64
#define SCAN_COMPARE scan_compare64
#define SCAN_BAD scan_bad64
#include "io/ptn_scan_width.h"

const struct pd_ptn_scan TABLE = {scan_largest32, scan_largest64, scan_compare32,
                                  scan_compare64, scan_bad32,     scan_bad64};
