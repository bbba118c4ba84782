/* Building and checking lists of nonzeros that are sorted by one mode. */
#ifndef PD_ROWSUM_BUILD_H
#define PD_ROWSUM_BUILD_H

#include "build/records.h"
#include "formats/rowsum/rowsum.h"
#include "formats/storage.h"

/** Bytes of one stored index of a mode. */
static inline int pd_rowsum_index_bytes(uint64_t dim, bool force_index64) {
  if (force_index64) return 8;
  return dim <= UINT64_C(1) << 16 ? 2 : pd_index_bytes(dim);
}

/** Order of a list's columns, and how it is cut into blocks and tiles. */
struct pd_tiling {
  int columns;
  int mode[POLYAD_MAX_ORDER]; /* of each column; runs are sorted by them */
  bool tiled;
  int block_shift;             /* a block has 2^block_shift output rows */
  int shift[POLYAD_MAX_ORDER]; /* a tile has 2^shift[g] rows of column g's factor */
  uint64_t runs;               /* at most */
  double nanoseconds;          /* estimated, of one thread for one MTTKRP */
};

/** What a model of the caches finds best for the list of `mode`; without `tiles` only the order
 *  of the columns is chosen. */
void pd_tiling_choose(const struct pd_traits *traits, const struct pd_request *request, int mode,
                      bool tiles, struct pd_tiling *tiling);

/** Nanoseconds in which one thread fetches a cache line, of a table of so many bytes, at random. */
double pd_line_nanoseconds(double bytes);

/** The order in which the nonzeros of the list of `mode` are sorted. */
void pd_rowsum_layout(const polyad_tensor *tensor, int mode, const struct pd_tiling *tiling,
                      struct pd_layout *layout);
/** Builds the list of `mode` from the tensor (left as it is), sorting in `room`. */
polyad_status pd_rowsum_build(polyad_context *context, const polyad_tensor *tensor, int mode,
                              bool force_index64, const struct pd_tiling *tiling,
                              struct pd_room *room, struct pd_rowsum *list);
/** The same from another source than a tensor's arrays; the room is for records of its dims. */
polyad_status pd_rowsum_build_from(polyad_context *context, const struct pd_record_source *source,
                                   int mode, bool force_index64, const struct pd_tiling *tiling,
                                   struct pd_room *room, struct pd_rowsum *list);
/** Records that are sorted already by the rows of a list and its columns: row r of `runs` has those
 *  from start[r] on. */
struct pd_rowsum_sorted {
  uint64_t nnz;
  const uint64_t *dims;
  polyad_type type;
  const struct pd_layout *layout;
  const uint64_t *records;
  uint64_t runs;
};
/** The plain list of them, whose rows are 0 to runs - 1.
 *  @param start  runs + 1 numbers of 4 bytes, or 8 with force_index64 or 2^32 nonzeros; they become
 *                the list's, also on failure */
polyad_status pd_rowsum_fill(polyad_context *context, const struct pd_rowsum_sorted *sorted,
                             bool force_index64, const struct pd_tiling *tiling, void *start,
                             struct pd_rowsum *list);
/** The room that lists of a tensor's modes are built in; permuted lists need another one. The
 * tensor may be arrays alone, in any order. */
polyad_status pd_rowsum_room_create(polyad_context *context, const polyad_tensor *tensor,
                                    bool permuted, struct pd_room *room);
/** Arrays that permuted lists share, in the order of the tensor. */
struct pd_rowsum_shared {
  int id_bytes[POLYAD_MAX_ORDER];
  void *id[POLYAD_MAX_ORDER]; /* of every mode */
  void *values;
};
/** What was allocated is there also on failure. */
polyad_status pd_rowsum_share(polyad_context *context, const polyad_tensor *tensor,
                              bool force_index64, struct pd_rowsum_shared *shared);
/** The same list by its order alone; see struct pd_rowsum. */
polyad_status pd_rowsum_build_permuted(polyad_context *context, const polyad_tensor *tensor,
                                       int mode, bool force_index64, const struct pd_tiling *tiling,
                                       const struct pd_rowsum_shared *shared, struct pd_room *room,
                                       struct pd_rowsum *list);
/** Bytes of a permuted list of at most `runs` rows. */
uint64_t pd_rowsum_permuted_bytes(const uint64_t *dims, int mode, uint64_t nnz, uint64_t runs,
                                  bool force_index64);
void pd_rowsum_clear(polyad_context *context, struct pd_rowsum *list);

/** Shows the arrays that are the list's own; `type` is that of its values. */
void pd_rowsum_arrays(struct pd_rowsum *list, polyad_type type, struct pd_arrays *arrays);
/** Their bytes before it is built, and what building takes on top. */
uint64_t pd_rowsum_estimate_bytes(int order, const uint64_t *dims, int mode, uint64_t nnz,
                                  uint64_t runs, polyad_type type, bool force_index64);
uint64_t pd_rowsum_building_bytes(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                                  bool permuted, int threads);

/** Nonzeros [first, first + count) of the list of `mode`; `type` is that of its values. */
void pd_rowsum_decode(const struct pd_rowsum *list, int mode, polyad_type type, uint64_t first,
                      int count, struct pd_chunk *chunk);

/** Fails with POLYAD_INTERNAL when an invariant is broken. */
polyad_status pd_rowsum_check(polyad_context *context, const struct pd_rowsum *list, int mode,
                              const uint64_t *dims);

#endif
