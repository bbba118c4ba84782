/* Lists of rows by all threads, and which of the members that have a row owns it. */
#include "plan/part_making.h"
#include <string.h>

polyad_status pd_part_list(polyad_context *context, const unsigned char *mark, uint64_t length,
                           unsigned char wanted, uint64_t first, uint64_t **list, uint64_t *count) {
  int threads = pd_threads_for(context, length, PD_PART_GRAIN);
  uint64_t *begin = NULL;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads + 1, &begin));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t end = pd_part_begin(length, t + 1, threads), found = 0;
    for (uint64_t i = pd_part_begin(length, t, threads); i < end; ++i)
      found += mark[i] == wanted;
    begin[t + 1] = found;
  }
  for (int t = 0; t < threads; ++t)
    begin[t + 1] += begin[t];
  polyad_status status = PD_NEW(context, begin[threads], list);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t end = pd_part_begin(length, t + 1, threads), next = begin[t];
    for (uint64_t i = pd_part_begin(length, t, threads); i < end && status == POLYAD_OK; ++i)
      if (mark[i] == wanted) (*list)[next++] = first + i;
  }
  *count = begin[threads];
  pd_free(context, begin);
  return status;
}

/* At the first key of a row. Members are fewer. */
#define FIRST UINT32_C(0x80000000)

/* Whether member a owns fewer rows than member b, each relative to its weight. */
static bool is_lighter(const uint64_t *load, const double *weight, uint32_t a, uint32_t b) {
  if (weight == NULL) return load[a] < load[b];
  return (double)load[a] * weight[b] < (double)load[b] * weight[a];
}

/* Rows that one member has come before those that several have: of these each takes its owner by
 * what all before it have taken. */
void pd_part_settle(const polyad_context *context, const uint64_t *keys, uint64_t count,
                    int members, const double *weight, uint64_t *load, uint32_t *owner) {
  const uint64_t each = (uint64_t)members;
  int threads = pd_threads_for(context, count, PD_PART_GRAIN);
  memset(load, 0, (size_t)members * sizeof *load);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : load[:members])
  for (uint64_t j = 0; j < count; ++j) {
    uint64_t member = keys[j] % each, row = keys[j] - member;
    bool first = j == 0 || keys[j - 1] < row;
    bool alone = first && (j + 1 == count || keys[j + 1] - row >= each);
    owner[j] = (uint32_t)member | (first ? FIRST : 0);
    load[member] += alone;
  }
  for (uint64_t begin = 0, end; begin < count; begin = end) {
    uint32_t best = owner[begin] & ~FIRST;
    for (end = begin + 1; end < count && !(owner[end] & FIRST); ++end)
      if (is_lighter(load, weight, owner[end], best)) best = owner[end];
    load[best] += end - begin > 1;
    for (uint64_t j = begin; j < end; ++j)
      owner[j] = best;
  }
}
