/* The loops of ptn_scan.h for arrays whose entries have 32 or 64 bits. The includer defines UINT,
 * their type, INFINITE, the bits of an infinite value but for its sign, and the functions' names.
 */

static uint64_t SCAN_LARGEST(const UINT *index, size_t count) {
  UINT most = 0;
  for (size_t p = 0; p < count; ++p)
    most = index[p] > most ? index[p] : most;
  return most;
}

static uint64_t SCAN_COMPARE(const UINT *index, size_t count, uint32_t *tie, bool *wrong,
                             bool *tied) {
  const UINT *before = index - 1;
  UINT most = 0;
  uint32_t less = 0, same = 0;
  for (size_t i = 0; i < count; ++i) {
    UINT here = index[i], last = before[i];
    most = here > most ? here : most;
    less |= tie[i] & (here < last ? UINT32_MAX : 0);
    tie[i] &= here == last ? UINT32_MAX : 0;
    same |= tie[i];
  }
  *wrong = *wrong || less != 0;
  *tied = same != 0;
  return most;
}

static bool SCAN_BAD(const UINT *bits, size_t count, bool zeros) {
  const UINT infinite = INFINITE;
  UINT bad = 0;
  for (size_t p = 0; p < count; ++p)
    bad |= (bits[p] & infinite) == infinite ? 1U : 0U;
  for (size_t p = 0; p < count && !zeros; ++p)
    bad |= bits[p] << 1 == 0 ? 1U : 0U;
  return bad != 0;
}

#undef UINT
#undef INFINITE
#undef SCAN_LARGEST
#undef SCAN_COMPARE
#undef SCAN_BAD
