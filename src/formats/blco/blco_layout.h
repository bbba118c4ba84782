/* Layout of format "blco": blocks of nonzeros with linearised indices; see README.md. */
#ifndef PD_BLCO_LAYOUT_H
#define PD_BLCO_LAYOUT_H

#include "core/bits.h"
#include "formats/nonzeros/nonzeros.h"

enum { PD_BLCO_TILE = 512 /* nonzeros that a thread block of a GPU sorts at once */ };

struct pd_blco {
  struct pd_nz head;
  int bits[POLYAD_MAX_ORDER];  /* of each mode in a key */
  int shift[POLYAD_MAX_ORDER]; /* and where they are */
  uint32_t blocks;
  uint32_t *start;                  /* blocks + 1: first nonzero of each block */
  uint32_t *base[POLYAD_MAX_ORDER]; /* of each block: the bits of the index that keys lack */
  uint64_t *key;
  void *values;
  uint32_t *tile_block; /* block of nonzero 512 t, see pd_nz_pieces */
  int levels[POLYAD_MAX_ORDER];
  int ordered_for; /* mode, -1: none */
  bool stream;     /* the nonzeros stay in the host's memory, which kernels of devices stream */
  double seconds_order;
};

/** Slot `build_there`. */
polyad_status pd_blco_fill_there(polyad_context *context, struct pd_build *build,
                                 const polyad_tensor *tensor, const struct pd_request *request,
                                 void *storage);

/** Index of a nonzero in a mode from its key and the base of its block. */
static inline uint64_t pd_blco_index(const struct pd_blco *blco, int mode, uint64_t key,
                                     uint64_t base) {
  return base | (key >> blco->shift[mode] & pd_low_mask(blco->bits[mode]));
}

#endif
