/* The loops that verify a part of a .ptn file's arrays, compiled for each instruction set. A part
 * is so small that it stays in the second level of cache after it was read: the loops that follow
 * read it from there. */
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
  /* The largest of at most PD_PTN_TIES indices of one mode, each of which is compared with the one
   * before it. The modes are gone through in their order. tie[p] has all bits set as long as
   * nonzero p has the same indices as the one before it, and none afterwards. *wrong becomes true
   * where such a nonzero has the smaller index; *tied says whether any is left that is tied. */
  uint64_t (*compare32)(const uint32_t *index, size_t count, uint32_t *tie, bool *wrong,
                        bool *tied);
  uint64_t (*compare64)(const uint64_t *index, size_t count, uint32_t *tie, bool *wrong,
                        bool *tied);
  /* Whether any value, of which the bits are given, is infinite, not a number or, unless zeros are
   * allowed, zero. */
  bool (*bad32)(const uint32_t *bits, size_t count, bool zeros);
  bool (*bad64)(const uint64_t *bits, size_t count, bool zeros);
};

extern const struct pd_ptn_scan pd_ptn_scan_plain, pd_ptn_scan_avx2, pd_ptn_scan_avx512;

#endif
