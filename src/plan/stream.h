/* Plans whose tensor stays on disk, or in the host's memory where a device computes. For each mode
 * the nonzeros are sorted by that mode and cut into chunks of equal numbers. A chunk is a list of
 * what computes (struct pd_stream_lists): of formats/rowsum on the CPU, a copy of formats/modecopy
 * on a device. Its arrays lie one after the other in a spill file. A kernel reads the chunks of its
 * mode in turn, one ahead of the computing:
 *
 *   mode 1   [ rows 0-7 | rows 7-20 | ... ]     row 7 is in two chunks: its sums are added
 *   mode 2   [ rows 0-999           | ... ]
 *
 * Row numbers of a chunk count from its first row, so that a chunk writes its own rows of the
 * result only. Where chunks end follows from the tensor and the memory limit; sums within a chunk
 * are of a fixed number of parts: results are the same bits for every number of threads. */
#ifndef PD_STREAM_H
#define PD_STREAM_H

#include "formats/modecopy/modecopy_build.h"
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

/** What a chunk for a device is besides its arrays: its packing follows from the inputs. */
struct pd_stream_copy {
  uint64_t rows;   /* that have nonzeros */
  bool has_row_id; /* whether it has their numbers */
  uint8_t input[POLYAD_MAX_ORDER];
};

struct pd_stream_chunk {
  uint64_t offset, bytes; /* of its arrays in the spill file */
  uint64_t base;          /* its first row; the first chunk's is 0 */
  uint64_t rows; /* that it writes: up to the next chunk's first, that included if shared */
  bool shared;   /* its first row is the last of the chunk before */
  union {
    struct pd_rowsum list; /* its pointers are set when the arrays have been read */
    struct pd_stream_copy copy;
  };
};

struct pd_stream_lists;

struct pd_stream {
  const struct pd_stream_lists *lists;
  const struct pd_device *device;
  char *path, *directory;
  struct pd_ptn_blocks file; /* gives the nonzeros in their order */
  struct pd_spill spill;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER], nnz;
  polyad_type type;
  int value_exponent;
  uint64_t chunk_nnz, chunks; /* of every mode */
  struct pd_stream_chunk *chunk[POLYAD_MAX_ORDER];
  uint64_t largest;     /* bytes of a chunk */
  uint64_t block_rows;  /* the most that a block of a list has */
  uint64_t built_bytes; /* of the device, of which chunks were built there at a time; 0: none was */
  uint64_t lists_bytes, memory_bytes;
  char *kept; /* the spill file's contents in memory, which is closed then; NULL: it is read */
  _Atomic bool unreadable; /* a nonzero could not be decoded */
};

/** One array of a list: where its pointer is, and its bytes. */
struct pd_stream_array {
  const void **pointer;
  uint64_t bytes;
};

/** What a chunk is built from; the indices of `mode` count from its first row. */
struct pd_stream_source {
  const polyad_tensor *tensor;
  const struct pd_traits *traits; /* what the order of its inputs rests on */
  const struct pd_request *request;
  int mode;
};

/** What the lists of chunks are, by what computes. */
struct pd_stream_lists {
  const char *format;
  /** Bytes of a list of `mode` with so many nonzeros in so many rows, what aligns arrays not
   *  counted. */
  uint64_t (*bytes)(const struct pd_stream *stream, int mode, uint64_t nnz, uint64_t rows);
  /** Bytes that building a list takes beside the nonzeros and the list itself. */
  uint64_t (*building_bytes)(const struct pd_stream *stream, uint64_t nnz, int threads);
  /** Builds a list, writes its arrays with pd_stream_spill(), and fills in what the chunk keeps. */
  polyad_status (*build)(polyad_context *context, struct pd_stream *stream,
                         const struct pd_stream_source *from, struct pd_stream_chunk *chunk);
  /** Validates every invariant of chunk k of a mode, whose arrays begin at `at`. */
  polyad_status (*check)(polyad_context *context, const struct pd_stream *stream, int mode,
                         uint64_t k, const char *at);
};
extern const struct pd_stream_lists pd_stream_rowsum_lists, pd_stream_modecopy_lists;

/** Writes the arrays of the chunk that is built. */
polyad_status pd_stream_spill(polyad_context *context, struct pd_stream *stream,
                              struct pd_stream_chunk *chunk, int count,
                              const struct pd_stream_array *array);
/** Nonzeros of chunk k. */
static inline uint64_t pd_stream_chunk_nnz(const struct pd_stream *stream, uint64_t k) {
  return k + 1 == stream->chunks ? stream->nnz - k * stream->chunk_nnz : stream->chunk_nnz;
}
/** The list of chunk k of a mode, whose arrays begin at `at`. */
struct pd_rowsum pd_stream_list_at(const struct pd_stream *stream, int mode, uint64_t k,
                                   const char *at);
/** The same of a chunk for a device: the copy of `mode` alone. `at` may be its memory. */
void pd_stream_copy_at(const struct pd_stream *stream, int mode, uint64_t k, const char *at,
                       struct pd_modecopy *copy);
/** What a workspace for copies depends on: as many nonzeros as the longest, and all rows. */
void pd_stream_copy_shape(const struct pd_stream *stream, struct pd_modecopy *shape);
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
/** Bytes of the device that CP-ALS takes with a workspace of so many bytes. */
uint64_t pd_stream_device_bytes(const polyad_context *context, const struct pd_stream *stream,
                                const struct pd_request *request, uint64_t workspace);
/** Bytes of disk that lists of chunks of so many nonzeros take at most. */
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

/** Makes a plan for the request, whose device may be any that streams. `keeps`: lists for a device
 *  are kept in the host's memory where they fit. */
polyad_status pd_stream_plan_create(polyad_context *context, const char *path,
                                    const polyad_stream_options *options,
                                    const struct pd_request *request, bool keeps,
                                    polyad_plan **plan);

/** Plans that stream: the format has the name of the lists'. */
extern const struct polyad_format pd_stream_format, pd_stream_copies_format;
/** Kernels of the CPU, and of devices with memory of their own (stream_there.c). */
extern const struct polyad_kernels pd_stream_kernels, pd_stream_kernels_there;
static inline bool pd_plan_streams(const polyad_plan *plan) {
  return plan->format == &pd_stream_format || plan->format == &pd_stream_copies_format;
}

/** Two buffers of the host for chunks; none where the lists are kept in memory. What was allocated
 * is there also on failure. */
polyad_status pd_stream_buffers(polyad_context *context, const struct pd_stream *stream,
                                char *buffer[2]);
/** Keeps memory of the host where it is, for copies beside work, or lets it go; NULL is fine. */
static inline void pd_stream_pin(const struct pd_device *device, void *host, uint64_t bytes,
                                 bool pinned) {
  if (host != NULL && device->functions->pin != NULL)
    device->functions->pin(device, host, bytes, pinned);
}
/** Bytes of a nonzero in a chunk's arrays at most. */
uint64_t pd_stream_entry_bytes(const struct pd_stream *stream);
/** The kernels of the lists' format on the stream's device; NULL: there are none. */
const struct polyad_kernels *pd_stream_inner(const struct pd_device *device);
/** Bytes of the device and of the host that computing with chunks of `nnz` nonzeros, whose arrays
 *  take at most `largest` bytes, takes beside the factors: a workspace, and on the host the
 * nonzeros that a residual is summed from at a time, which go into the workspace of the device. */
void pd_stream_there_bytes(const struct pd_stream *stream, uint64_t nnz, uint64_t largest,
                           uint64_t rank, uint64_t *device, uint64_t *host);

#endif
