/* Layout of format "hicoo": blocks of nonzeros with one byte per index; see README.md. */
#ifndef PD_HICOO_LAYOUT_H
#define PD_HICOO_LAYOUT_H

#include "formats/nonzeros/nonzeros.h"

enum {
  PD_HICOO_USUAL = 128,     /* indices of a block in every mode */
  PD_HICOO_SUPER_BITS = 10, /* a superblock has 1024 */
  PD_HICOO_UNIT = 64
};

struct pd_hicoo {
  struct pd_nz head;
  int bits; /* a block has 2^bits indices in every mode, at most 256 */
  uint32_t blocks;
  uint32_t *start;                    /* blocks + 1: first nonzero of each */
  uint32_t *block[POLYAD_MAX_ORDER];  /* of each block and mode: index >> bits */
  uint8_t *element[POLYAD_MAX_ORDER]; /* of each nonzero: the lowest bits of the index */
  void *values;
  uint32_t *unit_block; /* block of nonzero 64 c, see pd_nz_pieces */
  int levels[POLYAD_MAX_ORDER];
  /* For the CPU: superblocks, in groups of those that share output rows. */
  uint32_t superblocks;
  uint32_t *super_start;                   /* superblocks + 1: first nonzero of each */
  uint32_t *group_start[POLYAD_MAX_ORDER]; /* of each mode: groups + 1 */
  uint32_t *group_super[POLYAD_MAX_ORDER]; /* superblocks, group by group */
  struct pd_nz_schedule schedule[POLYAD_MAX_ORDER];
};

#endif
