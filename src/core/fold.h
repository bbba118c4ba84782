/* Sums over the lanes of several vectors at once. The includer defines LANES, a number. */
#ifndef PD_FOLD_H
#define PD_FOLD_H

/* One step halves the number of vectors: `part[k]` and `part[k + half]`, folded in halves of their
 * groups of lanes, share one vector. After the last step lane k holds the sum of vector k. */
#define PD_FOLD(part, half, low, high)                                                             \
  _Pragma("GCC unroll 16") for (int k = 0; k < (half); ++k)(part)[k] =                             \
      __builtin_shufflevector((part)[k], (part)[k + (half)], low) +                                \
      __builtin_shufflevector((part)[k], (part)[k + (half)], high)

#define PD_LOW_2 0, 2
#define PD_HIGH_2 1, 3
#define PD_LOW_4A 0, 1, 4, 5
#define PD_HIGH_4A 2, 3, 6, 7
#define PD_LOW_4B 0, 4, 2, 6
#define PD_HIGH_4B 1, 5, 3, 7
#define PD_LOW_8A 0, 1, 2, 3, 8, 9, 10, 11
#define PD_HIGH_8A 4, 5, 6, 7, 12, 13, 14, 15
#define PD_LOW_8B 0, 1, 8, 9, 4, 5, 12, 13
#define PD_HIGH_8B 2, 3, 10, 11, 6, 7, 14, 15
#define PD_LOW_8C 0, 8, 2, 10, 4, 12, 6, 14
#define PD_HIGH_8C 1, 9, 3, 11, 5, 13, 7, 15
#define PD_LOW_16A 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define PD_HIGH_16A 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define PD_LOW_16B 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define PD_HIGH_16B 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define PD_LOW_16C 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define PD_HIGH_16C 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define PD_LOW_16D 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define PD_HIGH_16D 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31

#define PD_FOLD_ALL_1(part) (void)0
#define PD_FOLD_ALL_2(part) PD_FOLD(part, 1, PD_LOW_2, PD_HIGH_2)
#define PD_FOLD_ALL_4(part)                                                                        \
  PD_FOLD(part, 2, PD_LOW_4A, PD_HIGH_4A);                                                         \
  PD_FOLD(part, 1, PD_LOW_4B, PD_HIGH_4B)
#define PD_FOLD_ALL_8(part)                                                                        \
  PD_FOLD(part, 4, PD_LOW_8A, PD_HIGH_8A);                                                         \
  PD_FOLD(part, 2, PD_LOW_8B, PD_HIGH_8B);                                                         \
  PD_FOLD(part, 1, PD_LOW_8C, PD_HIGH_8C)
#define PD_FOLD_ALL_16(part)                                                                       \
  PD_FOLD(part, 8, PD_LOW_16A, PD_HIGH_16A);                                                       \
  PD_FOLD(part, 4, PD_LOW_16B, PD_HIGH_16B);                                                       \
  PD_FOLD(part, 2, PD_LOW_16C, PD_HIGH_16C);                                                       \
  PD_FOLD(part, 1, PD_LOW_16D, PD_HIGH_16D)
#define PD_FOLD_OF2(lanes, part) PD_FOLD_ALL_##lanes(part)
#define PD_FOLD_OF(lanes, part) PD_FOLD_OF2(lanes, part)
#define PD_FOLD_ALL(part) PD_FOLD_OF(LANES, part)

#endif
