/* Verifies the arrays of a .ptn file block by block: checksums, ranges, order. */
#ifndef PD_PTN_CHECK_H
#define PD_PTN_CHECK_H

#include "io/ptn_layout.h"

/** What is wrong in a block; the first of a file is the one with the lowest block. */
struct pd_ptn_fault {
  enum {
    PD_PTN_SOUND = 0,
    PD_PTN_READ_ERROR,   /* `got` and `error` say which, at byte `offset` */
    PD_PTN_DAMAGED,      /* checksum of the block at byte `offset` */
    PD_PTN_OUT_OF_RANGE, /* index or value of `nonzero` */
    PD_PTN_UNSORTED,     /* nonzeros `nonzero` - 1 and `nonzero` */
    PD_PTN_REPEATED
  } what;
  int section;
  uint64_t offset;
  uint64_t nonzero; /* in the arrays */
  uint64_t first;   /* of the file, where the arrays hold a part of it only: added in messages */
  int64_t got;
  int error;
};

/** Checks nonzeros [begin, end) of block `block`, which lie in `array` (one per mode, then the
 *  values). The order of `begin` relative to the nonzero before is left out. */
struct pd_ptn_fault pd_ptn_check_block(const struct pd_ptn_header *header,
                                       const uint64_t *checksums, void *const *array,
                                       uint64_t block);

/** Checks the order of nonzeros p - 1 and p for p in [begin, end). */
struct pd_ptn_fault pd_ptn_check_order(const struct pd_ptn_header *header, void *const *array,
                                       uint64_t begin, uint64_t end);

/** The block checksums against those in the header, so that they can be believed. */
polyad_status pd_ptn_check_checksums(polyad_context *context, const char *path,
                                     const struct pd_ptn_header *header, const uint64_t *checksums);

/** Records a fault of the file at `path`. */
polyad_status pd_ptn_fault_fail(polyad_context *context, const char *path,
                                const struct pd_ptn_header *header, void *const *array,
                                const struct pd_ptn_fault *fault);

#endif
