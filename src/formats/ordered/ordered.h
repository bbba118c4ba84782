/* Nonzeros in the order of one mode: what formats share that keep such an order. Sorted by output
 * row and, within a row, by the input modes in turn. See README.md. */
#ifndef PD_ORDERED_H
#define PD_ORDERED_H

#include "formats/storage.h"

enum {
  PD_ORDERED_CHUNK = 64, /* nonzeros from one entry of chunk_row to the next */
  PD_ORDERED_MARKS = 32  /* nonzeros that one entry of marks tells of */
};

/** Bit p % 32 of entry p / 32. A run is what shares all inputs but the innermost one. */
struct pd_ordered_marks {
  uint32_t ends; /* nonzero p is the last one of its row */
  uint32_t runs; /* a run begins at nonzero p, as at the beginning of every row */
};

/** The order of one mode. */
struct pd_ordered {
  int inputs;
  int input[POLYAD_MAX_ORDER]; /* input modes, outermost first */
  uint64_t runs;               /* estimated */
  uint64_t rows;               /* that have nonzeros */
  uint64_t *row_start;         /* rows + 1 */
  bool has_row_id;             /* whether there is one: else row k is output row k */
  uint32_t *row_id;            /* their output rows */
  uint32_t *chunk_row;         /* row of nonzero 64 c; one more at the end: rows */
  struct pd_ordered_marks *marks;
  uint32_t *ends; /* instead of them, of format "portable": their ends alone; nnz / 32 + 1 words */
  uint32_t *used; /* for kernels of devices and of "portable": bit i % 32 of word i / 32 tells
                     whether output row i has nonzeros; dim / 32 + 1 words; NULL where all have */
};

/** What an order is made from. */
struct pd_ordered_job {
  const polyad_tensor *tensor;
  const struct pd_traits *traits;
  uint64_t rank;        /* for which the order of the inputs is chosen */
  polyad_kernel kernel; /* likewise */
  int mode;
  bool moves; /* nonzeros are moved from this order into the next mode's, up to the last one */
  const uint32_t *degree; /* nonzeros of every output row */
  const uint32_t *place;  /* of every output row among those with nonzeros; NULL: ascending */
};

static inline uint64_t pd_ordered_chunks(uint64_t nnz) {
  return (nnz + PD_ORDERED_CHUNK - 1) / PD_ORDERED_CHUNK;
}

static inline uint64_t pd_ordered_mark_words(uint64_t nnz) {
  return (nnz + PD_ORDERED_MARKS - 1) / PD_ORDERED_MARKS;
}

/** degree[i] = nonzeros with index i in the mode. */
polyad_status pd_ordered_degrees(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 uint32_t *degree);

/** How many rows have 2^c to 2^(c+1) - 1 nonzeros, and how many nonzeros these have together. */
enum { PD_ORDERED_SIZES = 32 };
struct pd_ordered_sizes {
  double rows[PD_ORDERED_SIZES], nonzeros[PD_ORDERED_SIZES];
};

/** Seconds per byte of rows that a GPU gathers from a table of so many bytes, relative to one that
 *  fits into the first level of cache. */
double pd_ordered_gather_cost(double table_bytes);
/** Whether the sizes of rows bear on the order of the inputs of a tensor with so many modes. */
bool pd_ordered_weighs_inputs(int order);
/** The same as pd_ordered_inputs(), from the sizes of the rows; job->tensor is not read. */
void pd_ordered_choose_inputs(const struct pd_ordered_job *job, polyad_type type,
                              const struct pd_ordered_sizes *sizes, struct pd_ordered *order);
/** Chooses the order of the inputs that makes the fewest bytes of factor rows be loaded, and of
 *  nonzeros where these are moved from order to order; or of TTMc that of the fewest
 *  products with rows of the outermost input. */
void pd_ordered_inputs(const struct pd_ordered_job *job, struct pd_ordered *order);

/** Chooses the inputs and makes the tables but for the marks. What was allocated is in `order` also
 *  on failure. */
polyad_status pd_ordered_tables(polyad_context *context, const struct pd_ordered_job *job,
                                struct pd_ordered *order);
/** Makes the tables and the permutation: nonzero `permutation[p]` of the tensor comes at place p.
 *  What was allocated is in `order` also on failure. */
polyad_status pd_ordered_build(polyad_context *context, const struct pd_ordered_job *job,
                               struct pd_ordered *order, uint32_t *permutation);
/** Sets the marks of nonzeros [32 w, 32 (w + 1)) of nnz: bit k of `apart` tells whether nonzero
 *  32 w + k differs from the one before in an outer input; the rows are in the tables. `row` is the
 *  row of nonzero 32 w, and then that of nonzero 32 (w + 1). */
void pd_ordered_mark(struct pd_ordered *order, uint64_t nnz, uint64_t w, uint32_t apart,
                     uint64_t *row);
/** Makes `used`. */
polyad_status pd_ordered_set_used(polyad_context *context, uint64_t dim, struct pd_ordered *order);
/** Makes `ends`. */
polyad_status pd_ordered_set_ends(polyad_context *context, uint64_t nnz, struct pd_ordered *order);
/** Shows the tables; `use` is that of those which decoding reads, and `ends` tells which of marks
 *  and ends there are. */
void pd_ordered_arrays(struct pd_ordered *order, uint64_t nnz, uint64_t dim, bool ends,
                       enum pd_array_use use, struct pd_arrays *arrays);
/** The same as pd_ordered_inputs() from a tensor that request->device has. Waits. */
polyad_status pd_ordered_inputs_there(polyad_context *context, struct pd_build *build,
                                      const struct pd_request *request, int mode, bool moves,
                                      struct pd_ordered *order);
/** Allocates the tables there, for `tables` of its steps to fill (device/build.h), which then says
 *  where they are; order->has_row_id is known. What was allocated is in `order` also on failure. */
struct pd_build_tables;
polyad_status pd_ordered_tables_there(polyad_context *context, const struct pd_request *request,
                                      int mode, bool ends, struct pd_ordered *order,
                                      struct pd_build_tables *tables);
/** Bytes that sorting takes beyond tables and permutation. */
uint64_t pd_ordered_sorting_bytes(uint64_t nnz);

/** Index of nonzero p in input k of a storage's order of `mode`. */
typedef uint32_t (*pd_ordered_index)(const void *storage, int mode, int k, uint64_t p);

/** Validates the tables against the nonzeros; fails with POLYAD_INTERNAL in the name of `format`.
 */
polyad_status pd_ordered_check(polyad_context *context, const char *format, const void *storage,
                               int mode, uint64_t nnz, uint64_t dim, const struct pd_ordered *order,
                               pd_ordered_index index);

/** Parameters of the formats that partition a mode: number of the first one in their tables, and
 * the entries. */
enum { PD_PARTITIONS, PD_BLOCK_COLUMNS, PD_BLOCK_COLUMNS_USUAL = 32 };
extern const struct pd_parameter pd_partition_parameters[2];
/** Partitions that were asked for, else one per multiprocessor or thread of the device. */
int pd_partition_count(const struct pd_request *request);
/** Whether nonzeros and indices fit into 32 bits; if not, says why. */
bool pd_ordered_supports(const struct pd_traits *traits, const struct pd_request *request,
                         char reason[PD_REASON_BYTES]);

/** Deals vertices to partitions in descending order of degree (ties: ascending index), each to the
 *  least filled one (ties: the lowest): Algorithm 1 of paper A. Cyclic: to the partitions in turn,
 *  as paper B's scheme 1 does. part[i] gets the partition of vertex i, load[k] the degrees of
 *  partition k. */
polyad_status pd_partition_vertices(polyad_context *context, uint64_t vertices,
                                    const uint32_t *degree, int partitions, bool cyclic,
                                    uint32_t *part, uint64_t *load);

#endif
