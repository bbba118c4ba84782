/* The loops that verify a part of a .ptn file's arrays, compiled for each instruction set. A part
 * is so small that it stays in the second cache from its reading on, however many loops follow. */
#ifndef PD_PTN_SCAN_H
#define PD_PTN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PD_PTN_TIES = 2048 };

struct pd_ptn_scan {
  /* The largest of `count` indices. */
  uint64_t (*largest32)(const uint32_t *index, size_t count);
  uint64_t (*largest64)(const uint64_t *index, size_t count);
  /* The same, of at most PD_PTN_TIES, of which each is compared with the one before it. `tie` has
   * all bits while the modes before are equal in both; *wrong becomes true where an index is
   * smaller then; *tied says whether all is equal somewhere. */
  uint64_t (*compare32)(const uint32_t *index, size_t count, uint32_t *tie, bool *wrong,
                        bool *tied);
  uint64_t (*compare64)(const uint64_t *index, size_t count, uint32_t *tie, bool *wrong,
                        bool *tied);
  /* Whether some value, given by its bits, is infinite, no number or, unless zeros are allowed,
   * zero. */
  bool (*bad32)(const uint32_t *bits, size_t count, bool zeros);
  bool (*bad64)(const uint64_t *bits, size_t count, bool zeros);
};

extern const struct pd_ptn_scan pd_ptn_scan_plain, pd_ptn_scan_avx2, pd_ptn_scan_avx512;

#endif
