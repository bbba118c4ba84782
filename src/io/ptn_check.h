/* Verifies the arrays of a .ptn file block by block: checksums, ranges, order. */
#ifndef PD_PTN_CHECK_H
#define PD_PTN_CHECK_H

#include "core/wide_hash.h"
#include "io/ptn_layout.h"
#include "io/ptn_scan.h"

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

enum { PD_PTN_PART = 1 << 14 }; /* nonzeros */

/** A block that is being checked. */
struct pd_ptn_check {
  const struct pd_ptn_scan *scan;
  const struct pd_ptn_header *header;
  uint64_t block, begin, end; /* its nonzeros */
  bool disorder, outside[POLYAD_MAX_ORDER + 1];
  struct pd_wide_hash hash[POLYAD_MAX_ORDER + 1];
};

/** Checks a block in parts, from its first nonzero to its last. Each part is checked right after it
 *  was read into `array` (one array per mode, then the values), while its PD_PTN_PART nonzeros lie
 *  in the second level of cache. The order of the block's first nonzero and the one before it,
 * which is in another block, is not checked here: see pd_ptn_check_pair(). */
void pd_ptn_check_begin(struct pd_ptn_check *check, const struct pd_ptn_header *header,
                        uint64_t block);
void pd_ptn_check_part(struct pd_ptn_check *check, void *const *array, uint64_t begin,
                       uint64_t end);
struct pd_ptn_fault pd_ptn_check_end(const struct pd_ptn_check *check, const uint64_t *checksums,
                                     void *const *array);
/** Does all of that with a block that lies in `array` already. */
struct pd_ptn_fault pd_ptn_check_block(const struct pd_ptn_header *header,
                                       const uint64_t *checksums, void *const *array,
                                       uint64_t block);

/** Checks the order of nonzeros p - 1 and p. */
struct pd_ptn_fault pd_ptn_check_pair(const struct pd_ptn_header *header, void *const *array,
                                      uint64_t p);

/** The block checksums against those in the header, so that they can be believed. */
polyad_status pd_ptn_check_checksums(polyad_context *context, const char *path,
                                     const struct pd_ptn_header *header, const uint64_t *checksums);

/** Records a fault of the file at `path`. */
polyad_status pd_ptn_fault_fail(polyad_context *context, const char *path,
                                const struct pd_ptn_header *header, void *const *array,
                                const struct pd_ptn_fault *fault);

#endif
