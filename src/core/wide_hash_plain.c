#define TABLE pd_wide_hash_plain
#include "core/wide_hash_body.h"
