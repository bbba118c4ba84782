/* The table of ptn_scan.h for one instruction set, whose name the includer defines as TABLE. */
#include "io/ptn_scan.h"

static uint64_t scan_largest32(const uint32_t *index, size_t count) {
  uint32_t most = 0;
  for (size_t p = 0; p < count; ++p)
    most = index[p] > most ? index[p] : most;
  return most;
}

static uint64_t scan_largest64(const uint64_t *index, size_t count) {
  uint64_t most = 0;
  for (size_t p = 0; p < count; ++p)
    most = index[p] > most ? index[p] : most;
  return most;
}

static uint64_t scan_compare32(const uint32_t *index, size_t count, uint32_t *tie, bool *wrong,
                               bool *tied) {
  const uint32_t *before = index - 1;
  uint32_t most = 0, less = 0, same = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t here = index[i], last = before[i];
    most = here > most ? here : most;
    less |= tie[i] & (here < last ? UINT32_MAX : 0);
    tie[i] &= here == last ? UINT32_MAX : 0;
    same |= tie[i];
  }
  *wrong = *wrong || less != 0;
  *tied = same != 0;
  return most;
}

static uint64_t scan_compare64(const uint64_t *index, size_t count, uint32_t *tie, bool *wrong,
                               bool *tied) {
  const uint64_t *before = index - 1;
  uint64_t most = 0;
  uint32_t less = 0, same = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t here = index[i], last = before[i];
    most = here > most ? here : most;
    less |= tie[i] & (here < last ? UINT32_MAX : 0);
    tie[i] &= here == last ? UINT32_MAX : 0;
    same |= tie[i];
  }
  *wrong = *wrong || less != 0;
  *tied = same != 0;
  return most;
}

static bool scan_bad32(const uint32_t *bits, size_t count, bool zeros) {
  const uint32_t infinity = UINT32_C(0xff) << 23;
  uint32_t bad = 0;
  for (size_t p = 0; p < count; ++p)
    bad |= (bits[p] & infinity) == infinity ? 1U : 0U;
  for (size_t p = 0; p < count && !zeros; ++p)
    bad |= bits[p] << 1 == 0 ? 1U : 0U;
  return bad != 0;
}

static bool scan_bad64(const uint64_t *bits, size_t count, bool zeros) {
  const uint64_t infinity = UINT64_C(0x7ff) << 52;
  uint64_t bad = 0;
  for (size_t p = 0; p < count; ++p)
    bad |= (bits[p] & infinity) == infinity ? 1U : 0U;
  for (size_t p = 0; p < count && !zeros; ++p)
    bad |= bits[p] << 1 == 0 ? 1U : 0U;
  return bad != 0;
}

const struct pd_ptn_scan TABLE = {scan_largest32, scan_largest64, scan_compare32,
                                  scan_compare64, scan_bad32,     scan_bad64};
