/* Formats that list every nonzero in an order of their own share what is here: MTTKRP and the gains
 * of losses on the CPU, going back to a tensor, and checks. Such a storage begins with a struct
 * pd_nz and says how to decode a run of its nonzeros; see README.md. */
#ifndef PD_NONZEROS_H
#define PD_NONZEROS_H

#include "build/sorted.h"
#include "formats/format.h"

struct pd_rowsum;

/** Parts of a list in groups that threads may compute at once: no two groups have an output row in
 *  common. Group g has the parts part[group_start[g]] to part[group_start[g + 1] - 1]; part k has
 *  the nonzeros start[k] to start[k + 1] - 1. */
struct pd_nz_schedule {
  uint32_t groups;
  const uint32_t *group_start, *part, *start;
};

/** What a format says about its storage. A storage has one list for all modes, or one per mode. */
struct pd_nz_ops {
  /** Whether all nonzeros of an output row stand together in the list of its mode. */
  bool rows_together;
  /** Nonzeros [first, first + count) of the list of `mode`; count is 1 to PD_CHUNK. */
  void (*decode)(const void *storage, int mode, uint64_t first, int count, struct pd_chunk *block);
  /** The list of `mode` as the kernels of sorted rows take it, `sorted` all zero before; false: the
   *  nonzeros are not in the order of the mode. NULL: the format has no such lists. */
  bool (*sorted)(const void *storage, int mode, struct pd_rowsum *sorted);
  /** How to share out the list of `mode` among threads; NULL: the format has no plan for that. */
  const struct pd_nz_schedule *(*schedule)(const void *storage, int mode);
};

/** The head of such a storage. */
struct pd_nz {
  const struct pd_nz_ops *ops;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
};

void pd_nz_init(struct pd_nz *head, const struct pd_nz_ops *ops, const polyad_tensor *tensor);

/** Reasons to refuse a tensor, or a member's part of one: 2^32 - 8 nonzeros or more, or a mode
 *  longer than 2^32. */
bool pd_nz_supports(const struct pd_traits *traits, const struct pd_request *request,
                    char reason[PD_REASON_BYTES]);

/** Fails with POLYAD_INTERNAL and the place of what is wrong. */
polyad_status pd_nz_broken(polyad_context *context, const char *format, const char *what,
                           uint64_t place);
/** Decodes every list: indices below their mode's length, values finite, and rows together
 *   where rows_together says so. */
polyad_status pd_nz_check(polyad_context *context, const struct pd_nz *head, const char *format);
/** Nonzeros in the order of the list of mode 0: slot `decode` of such a format. */
void pd_nz_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk);

/* ---- building ------------------------------------------------------------------------------- */

/** The bits of all indices of a nonzero side by side, for sorting along a space-filling curve. */
struct pd_nz_curve {
  int bits, words; /* words of 64 bits, the first has the highest */
  struct {
    uint8_t mode, bit;
  } place[POLYAD_MAX_ORDER * 64]; /* from the lowest bit up */
};

/** Interleaves bit 0 of all modes, then bit 1, ..., short modes lower (Morton order; the order of
 *  ALTO). Takes the bits of each mode from `least` up. */
void pd_nz_curve_init(struct pd_nz_curve *curve, int order, const uint64_t *dims, int least);
/** The permutation (32-bit) that sorts the nonzeros along the curve; where the bits above the
 *  lowest 64 agree, by mode `inner` first unless it is -1. */
polyad_status pd_nz_sort_curve(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_nz_curve *curve, int inner, uint32_t *permutation);
/** The permutation (32-bit) that sorts the nonzeros by modes[0], modes[1], ... Where it is not
 * needed itself, pd_sorted_by_modes() is faster. */
polyad_status pd_nz_sort_modes(polyad_context *context, const polyad_tensor *tensor,
                               const int *modes, uint32_t *permutation);
/** Most bytes that finding a permutation takes. */
uint64_t pd_nz_sorting_bytes(uint64_t nnz, int words);
/** Most bytes that a tensor's nonzeros in other orders take, and a byte for each nonzero. */
uint64_t pd_nz_sorted_bytes(const struct pd_traits *traits, const struct pd_request *request);

/** Item p of an order of nonzeros; NULL: the tensor's own. */
static inline uint64_t pd_nz_at(const uint32_t *permutation, uint64_t p) {
  return permutation == NULL ? p : permutation[p];
}
/** An array of `count` values in the order of the permutation; NULL: the tensor's own. */
polyad_status pd_nz_gather_values(polyad_context *context, const polyad_tensor *tensor,
                                  uint64_t count, const uint32_t *permutation, void **values);
/** The same of a mode's indices, as 32-bit numbers. */
polyad_status pd_nz_gather_index(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 uint64_t count, const uint32_t *permutation, uint32_t **index);

/** Whether a place of a list is looked for, such as one where a run begins. Called by many threads.
 */
typedef bool (*pd_nz_chosen)(const void *user, uint64_t place);
/** The chosen ones of `count` places, ascending, and `count` after the last: `found` + 1 numbers.
 */
polyad_status pd_nz_places(polyad_context *context, uint64_t count, pd_nz_chosen chosen,
                           const void *user, uint32_t **places, uint32_t *found);
/** The same in two steps: bit p % 64 of word p / 64 says whether p is chosen. */
polyad_status pd_nz_mark(polyad_context *context, uint64_t count, pd_nz_chosen chosen,
                         const void *user, uint64_t **marks);
polyad_status pd_nz_marked(polyad_context *context, uint64_t count, const uint64_t *marks,
                           uint32_t **places, uint32_t *marked);

enum { PD_NZ_LEFT_OUT = 64 };
/** Where runs of nonzeros begin that agree, in every mode n, in the bits of their index from
 * shift[n] on; modes of PD_NZ_LEFT_OUT do not matter. `permutation` has `count` nonzeros in order
 * (NULL: the tensor's first ones); `start` gets runs + 1 numbers, as of pd_nz_places(). */
polyad_status pd_nz_runs(polyad_context *context, const polyad_tensor *tensor, uint64_t count,
                         const uint32_t *permutation, const int *shift, uint32_t **start,
                         uint32_t *runs);

/** For work that starts in the middle of a list: piece[c] is the piece (row, fiber, block) of
 *  nonzero c * unit, where piece k has nonzeros start[k] to start[k + 1] - 1; one more entry at
 *  the end is the last piece. */
polyad_status pd_nz_pieces(polyad_context *context, uint64_t nnz, uint64_t unit,
                           const uint32_t *start, uint32_t pieces, uint32_t **piece);
static inline uint64_t pd_nz_units(uint64_t nnz, uint64_t unit) {
  return (nnz + unit - 1) / unit + 1;
}
/** The piece of nonzero p: the last k with start[k] <= p. */
uint64_t pd_nz_piece_of(const uint32_t *start, uint64_t pieces, uint64_t p);

/* ---- MTTKRP on the CPU -------------------------------------------------------------------- */

extern const struct pd_walk pd_nz_walk_cpu;

/** The slots of a struct polyad_format that every baseline fills alike: orders from 3 on, the
 * functions NAME_build() and so on of its file, and nonzeros given back through struct pd_nz_ops.
 */
#define PD_NZ_FORMAT_SLOTS(name)                                                                   \
  .min_order = 3, .max_order = POLYAD_MAX_ORDER, .estimate_bytes = name##_estimate_bytes,          \
  .build = name##_build, .check = name##_check, .describe = name##_describe,                       \
  .decode = pd_nz_decode, .header_bytes = sizeof(struct pd_##name), .arrays = name##_arrays

/** A struct polyad_kernels for the CPU. */
#define PD_NZ_KERNELS_CPU(name)                                                                    \
  {                                                                                                \
    .format = (name), .device = "cpu", .plain = true, .walks = {&pd_nz_walk_cpu},                  \
    .sum_depth = pd_sum_depth_on_cpu, .phi_over_mttkrp = 1.8                                       \
  }

/** Seconds of an MTTKRP in every mode that a baseline is estimated at: never the best choice. */
double pd_nz_estimate_seconds(const struct pd_traits *traits, const struct pd_request *request);

#endif
