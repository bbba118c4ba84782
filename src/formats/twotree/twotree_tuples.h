/* The distinct tuples of a side's modes, and the tensors that a side is made of. */
#ifndef PD_TWOTREE_TUPLES_H
#define PD_TWOTREE_TUPLES_H

#include "build/records.h"
#include "formats/twotree/twotree_layout.h"

/** Bytes of one number below `count`. */
static inline int pd_twotree_number_bytes(uint64_t count) { return count <= UINT32_MAX ? 4 : 8; }

static inline uint64_t pd_twotree_number_at(const void *numbers, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)numbers)[p] : ((const uint64_t *)numbers)[p];
}

/** Index of tuple t in the side's mode number k. */
static inline uint64_t pd_twotree_tuple_index(const struct pd_twotree_side *side, int k,
                                              uint64_t t) {
  return pd_twotree_number_at(side->tuple_id[k], side->id_bytes[k], t);
}

/** The nonzeros in the order of a side's modes, then of the others: as packed records, or unpacked.
 */
struct pd_twotree_sorted {
  polyad_context *context;
  const struct pd_twotree_modes *modes;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz, tuples;
  polyad_type type;
  struct pd_layout layout;
  int tuple_bits;      /* of the side's modes, the first of a record */
  struct pd_room room; /* records; empty when they are unpacked */
  int start_bytes;
  void *start; /* tuples + 1: first nonzero of each */
  int bytes;   /* of one number of a tuple */
  /* Unpacked. */
  void *number;                               /* of the tuple of each nonzero */
  void *index[PD_TWOTREE_MAX_ORDER], *values; /* of the side's other modes */
};

/** Sorts the nonzeros by the modes of a side of two modes or more, and within a tuple by the others
 *  in the order of `column`; sets the side's tuples and their indices. What was allocated is in
 *  `sorted` and `side` also on failure.
 *  @param take  gives up the tensor's arrays once they are read
 *  @param wide  `start` has 8 bytes, however few nonzeros there are */
polyad_status pd_twotree_sorted_make(polyad_context *context, polyad_tensor *tensor, bool take,
                                     const int *column, bool wide, struct pd_twotree_side *side,
                                     struct pd_twotree_sorted *sorted);
/** Unpacks the records, which are then gone. */
polyad_status pd_twotree_sorted_unpack(polyad_context *context, struct pd_twotree_sorted *sorted);
void pd_twotree_sorted_clear(polyad_context *context, struct pd_twotree_sorted *sorted);
/** What the unpacked nonzeros take beside the tuples' indices; sorting takes what sorting records
 *  does (pd_sorting_bytes()). */
uint64_t pd_twotree_sorted_bytes(const struct pd_traits *traits, polyad_type type);

/** The tensor whose mode 0 is the number of a nonzero's tuple, and whose other modes are those that
 *  are not the side's. It borrows the arrays of unpacked nonzeros, and has none before. */
polyad_tensor pd_twotree_nonzeros(const struct pd_twotree_sorted *sorted, uint64_t tuples);

/** Fetches the nonzeros from sorted records: a struct pd_record_source's `fetch` and `packed`,
 * whose `user` is the struct pd_twotree_sorted and whose tensor is pd_twotree_nonzeros(). */
void pd_twotree_fetch(const void *user, uint64_t first, uint64_t count, uint32_t modes,
                      struct pd_block *block);
polyad_status pd_twotree_fetched(polyad_context *context, void *user);

/** The tensor of the tuples, values are ones: their number, then the side's modes, whose indices it
 *  borrows. What was allocated is in `tuples` also on failure. */
polyad_status pd_twotree_tuples_make(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_twotree_side *side, polyad_tensor *tuples);
void pd_twotree_tuples_clear(polyad_context *context, polyad_tensor *tuples);
/** Fails with POLYAD_INTERNAL unless the tuples ascend within their modes. */
polyad_status pd_twotree_tuples_check(polyad_context *context, const struct pd_twotree *twotree,
                                      const struct pd_twotree_side *side);

#endif
