#include "strongest.h"
#include <math.h>

double cli_number(const struct cli_numbers *numbers, uint64_t k) {
  return numbers->type == POLYAD_F64 ? ((const double *)numbers->first)[k * numbers->stride]
                                     : ((const float *)numbers->first)[k * numbers->stride];
}

int cli_strongest(const struct cli_numbers *numbers, int top, uint64_t *indices) {
  double size[CLI_STRONGEST_MOST];
  int found = 0;
  if (top > CLI_STRONGEST_MOST) top = CLI_STRONGEST_MOST;
  for (uint64_t i = 0; top > 0 && i < numbers->count; ++i) {
    double now = fabs(cli_number(numbers, i));
    if (!(now > 0) || !isfinite(now) || (found == top && now <= size[found - 1])) continue;
    int at = found < top ? found++ : found - 1;
    for (; at > 0 && size[at - 1] < now; --at) {
      size[at] = size[at - 1];
      indices[at] = indices[at - 1];
    }
    size[at] = now;
    indices[at] = i;
  }
  return found;
}

int cli_core_strongest(const polyad_ttensor *model, int top, struct cli_core_entry *entries) {
  const struct cli_numbers core = {polyad_ttensor_core((polyad_ttensor *)(uintptr_t)model),
                                   polyad_ttensor_type(model), polyad_ttensor_core_size(model), 1};
  const uint64_t *ranks = polyad_ttensor_ranks(model);
  uint64_t indices[CLI_STRONGEST_MOST];
  int count = cli_strongest(&core, top, indices);
  /* Relative to the strongest: squares of what a core may hold leave the range. */
  double strongest = count > 0 ? fabs(cli_number(&core, indices[0])) : 0, total = 0;
  for (uint64_t k = 0; k < core.count && count > 0; ++k)
    total += pow(cli_number(&core, k) / strongest, 2);
  for (int e = 0; e < count; ++e) {
    uint64_t rest = indices[e];
    for (int n = polyad_ttensor_order(model) - 1; n >= 0; --n) {
      entries[e].column[n] = rest % ranks[n];
      rest /= ranks[n];
    }
    entries[e].value = cli_number(&core, indices[e]);
    entries[e].share = pow(entries[e].value / strongest, 2) / total;
  }
  return count;
}
