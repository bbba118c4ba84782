/* A .ptn file block by block, for those that do not hold all of it: every block is read, checked as
 * pd_ptn_read() checks it, and forgotten. A file that is changed meanwhile is an error. */
#ifndef PD_PTN_BLOCKS_H
#define PD_PTN_BLOCKS_H

#include "io/ptn_layout.h"
#include "io/ptn_source.h"
#include "io/spill.h"
#include "tensor/chunk.h"
#include <polyad/io.h>

/** Fails where dims are given that a file has not. */
polyad_status pd_ptn_check_dims(polyad_context *context, const char *path,
                                const struct pd_ptn_header *header,
                                const polyad_read_options *options);

struct pd_ptn_blocks {
  polyad_context *context;
  struct pd_ptn_source source;
  struct pd_ptn_header header;
  uint64_t *checksums;
  bool copied;          /* a file without a name, made from another */
  uint64_t identity[5]; /* of the file when it was opened: device, number, size, time of change */
  uint64_t last[POLYAD_MAX_ORDER];   /* indices of the nonzero before the block that comes next */
  uint64_t next;                     /* that block */
  uint64_t count;                    /* nonzeros in the arrays */
  void *array[POLYAD_MAX_ORDER + 1]; /* of the block that was read last: indices, then values */
};

/** Opens a file and proves its header; no block is read yet. `path` is the caller's and lives as
 *  long. What is not a regular .ptn file is an error that says what to do.
 *  @return POLYAD_IO, POLYAD_PARSE, POLYAD_UNSUPPORTED, POLYAD_MEMORY_LIMIT */
polyad_status pd_ptn_blocks_open(polyad_context *context, const char *path,
                                 struct pd_ptn_blocks *blocks);
/** The same of a .ptn file that was written into a spill file, which it takes over; `path` is for
 *  messages. */
polyad_status pd_ptn_blocks_take(polyad_context *context, const char *path, struct pd_spill *spill,
                                 struct pd_ptn_blocks *blocks);
/** Begins a pass at the first block. */
polyad_status pd_ptn_blocks_rewind(struct pd_ptn_blocks *blocks);
/** Reads and checks the next block: blocks->count nonzeros, 0 behind the last.
 *  @return also POLYAD_CANCELLED */
polyad_status pd_ptn_blocks_next(struct pd_ptn_blocks *blocks);
/** Reads one array (a mode's indices, or the values) of a block into blocks->array, unchecked: for
 *  what a pass before has checked, and what any numbers do no harm to. */
polyad_status pd_ptn_blocks_section(struct pd_ptn_blocks *blocks, int section, uint64_t block);
/** Nonzeros [first, first + count) into a chunk, values as the file has them. From several threads
 *  at once. False when they cannot be read, or an index is outside its mode. */
bool pd_ptn_blocks_decode(const struct pd_ptn_blocks *blocks, uint64_t first, int count,
                          struct pd_chunk *chunk);
/** Frees what passes need: decoding alone goes on. */
void pd_ptn_blocks_shrink(struct pd_ptn_blocks *blocks);
/** Fails when the file is no longer the one that was opened. */
polyad_status pd_ptn_blocks_same(const struct pd_ptn_blocks *blocks);
void pd_ptn_blocks_close(struct pd_ptn_blocks *blocks);

static inline uint64_t pd_ptn_blocks_index(const struct pd_ptn_blocks *blocks, int mode,
                                           uint64_t p) {
  return blocks->header.index_bytes[mode] == 4 ? ((const uint32_t *)blocks->array[mode])[p]
                                               : ((const uint64_t *)blocks->array[mode])[p];
}

static inline double pd_ptn_blocks_value(const struct pd_ptn_blocks *blocks, uint64_t p) {
  const void *values = blocks->array[blocks->header.order];
  return blocks->header.value_bytes == 4 ? (double)((const float *)values)[p]
                                         : ((const double *)values)[p];
}

#endif
