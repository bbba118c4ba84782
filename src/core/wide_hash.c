#include "core/wide_hash.h"
#include "core/isa.h"

extern const struct pd_wide_hash_functions pd_wide_hash_plain, pd_wide_hash_avx2,
    pd_wide_hash_avx512;

void pd_wide_hash_begin(struct pd_wide_hash *hash) {
  hash->functions = PD_ISA_PICK(const struct pd_wide_hash_functions, &pd_wide_hash);
  hash->functions->begin(hash);
}
