/* Plans whose tensor stays on disk. For each mode the nonzeros are sorted by that mode and cut into
 * chunks of equal numbers; a chunk is a list of formats/rowsum, whose arrays lie one after the
 * other in a spill file. A kernel reads the chunks of its mode in turn, one ahead of the computing:
 *
 *   mode 1   [ rows 0-7 | rows 7-20 | ... ]     row 7 is in two chunks: its sums are added
 *   mode 2   [ rows 0-999           | ... ]
 *
 * Row numbers of a chunk count from its first row, so that a chunk writes its own rows of the
 * result only. Where chunks end follows from the tensor and the memory limit; sums within a chunk
 * are of a fixed number of parts: results are the same bits for every number of threads. */
#ifndef PD_STREAM_H
#define PD_STREAM_H

#include "formats/rowsum/rowsum_build.h"
#include "io/ptn_blocks.h"
#include "io/spill.h"
#include "plan/plan.h"
#include <polyad/stream.h>
#include <stdatomic.h>

enum {
  PD_STREAM_PARTS = 32,            /* of a chunk's nonzeros */
  PD_STREAM_LEAST = 4096,          /* nonzeros of a chunk, where there are as many */
  PD_STREAM_MOST = 1 << 22,        /* larger chunks are no faster */
  PD_STREAM_CHUNKS_MOST = 1 << 14, /* of a mode */
  PD_STREAM_ARRAYS = POLYAD_MAX_ORDER + 4
};

struct pd_stream_chunk {
  uint64_t offset, bytes; /* of its arrays in the spill file */
  uint64_t base;          /* its first row; the first chunk's is 0 */
  uint64_t rows;         /* that it writes: up to the next chunk's first, that included if shared */
  bool shared;           /* its first row is the last of the chunk before */
  struct pd_rowsum list; /* its pointers are set when the arrays have been read */
};

struct pd_stream {
  char *path, *directory;
  struct pd_ptn_blocks file; /* gives the nonzeros in their order */
  struct pd_spill spill;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER], nnz;
  polyad_type type;
  int value_exponent;
  uint64_t chunk_nnz, chunks; /* of every mode */
  struct pd_stream_chunk *chunk[POLYAD_MAX_ORDER];
  uint64_t largest;    /* bytes of a chunk */
  uint64_t block_rows; /* the most that a block of a list has */
  uint64_t lists_bytes, memory_bytes;
  _Atomic bool unreadable; /* a nonzero could not be decoded */
};

/** One array of a list: where its pointer is, and its bytes. */
struct pd_stream_array {
  const void **pointer;
  uint64_t bytes;
};
/** The arrays of a list in the order in which they are spilled; returns their number. */
int pd_stream_arrays(struct pd_rowsum *list, polyad_type type,
                     struct pd_stream_array array[PD_STREAM_ARRAYS]);
/** Bytes of an array with those that bring the next one to a boundary. */
static inline uint64_t pd_stream_padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/** What the tensor's file tells of it: numbers of nonzeros of each row. */
struct pd_stream_facts {
  uint64_t *count[POLYAD_MAX_ORDER];
  uint64_t nonempty[POLYAD_MAX_ORDER];
  double largest; /* magnitude of a value */
};
/** Reads the file from its start to its end, checks it, and fills in what a plan knows of its
 *  tensor. */
polyad_status pd_stream_look(polyad_context *context, struct pd_stream *stream, polyad_plan *plan,
                             struct pd_stream_facts *facts);
void pd_stream_facts_clear(polyad_context *context, struct pd_stream_facts *facts);

/** Chooses the number of nonzeros of a chunk, so that building and running stay within the memory
 *  limit. `asked`: what the caller wants; 0: chosen. */
polyad_status pd_stream_choose(polyad_context *context, struct pd_stream *stream,
                               const struct pd_request *request, uint64_t asked);
/** Bytes of memory and of disk that lists of chunks of so many nonzeros take. */
uint64_t pd_stream_disk_bytes(const struct pd_stream *stream, const struct pd_stream_facts *facts);
/** Bytes of a record in which a nonzero waits for its chunk to be built. */
uint64_t pd_stream_record_bytes(const struct pd_stream *stream);
/** Bytes that staging takes in memory. */
uint64_t pd_stream_staging_bytes(uint64_t available);

/** Sorts the nonzeros by each mode in turn and spills the lists of their chunks; frees the counts
 *  of facts on the way. */
polyad_status pd_stream_build(polyad_context *context, struct pd_stream *stream,
                              const struct pd_request *request, polyad_plan *plan,
                              struct pd_stream_facts *facts);

/** The value of a nonzero as kernels see it, from that in the file. */
double pd_stream_value(const struct pd_stream *stream, double value);

extern const struct polyad_format pd_stream_format;
extern const struct polyad_kernels pd_stream_kernels;

#endif
