/* Layout of format "hicoo": blocks of nonzeros with one byte per index; see README.md. */
#ifndef PD_HICOO_LAYOUT_H
#define PD_HICOO_LAYOUT_H

#include "formats/nonzeros/nonzeros.h"

enum {
  PD_HICOO_BITS = 7, /* a block has 128 indices in every mode */
  PD_HICOO_UNIT = 64
};

struct pd_hicoo {
  struct pd_nz head;
  uint32_t blocks;
  uint32_t *start;                    /* blocks + 1: first nonzero of each */
  uint32_t *block[POLYAD_MAX_ORDER];  /* of each block and mode: index / 128 */
  uint8_t *element[POLYAD_MAX_ORDER]; /* of each nonzero: index % 128 */
  void *values;
  uint32_t *unit_block; /* block of nonzero 64 c, see pd_nz_pieces */
  int levels[POLYAD_MAX_ORDER];
};

#endif
