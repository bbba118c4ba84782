/* Layout of format "flycoo": elements <alpha, beta, value> that carry their place in the order of
 * every mode. See README. */
#ifndef PD_FLYCOO_LAYOUT_H
#define PD_FLYCOO_LAYOUT_H

#include "formats/ordered/ordered.h"
#include <string.h>

/** Some bits of an element; they may lie in two neighbouring words. */
struct pd_flycoo_field {
  int word, shift, bits;
};

/** How elements are packed: the value first, then indices, then remap ids, the last mode's first.
 */
struct pd_flycoo_packing {
  int order, words; /* of an element */
  int bits;         /* of them used: N log2 nnz + sum log2 I_n + value */
  struct pd_flycoo_field index[POLYAD_MAX_ORDER], remap[POLYAD_MAX_ORDER];
};

/** The order of one mode: partitions where rows are dealt to them, and but for the paper's variants
 *  rows. In the paper's variants `order` has the inputs alone. */
struct pd_flycoo_mode {
  uint64_t *part_start; /* partitions + 1; NULL: rows are not dealt */
  struct pd_ordered order;
};

struct pd_flycoo {
  bool sorted; /* deterministic: sorted by output row, within partitions where rows are dealt */
  bool dealt;  /* rows are dealt to partitions; else they ascend */
  bool cyclic; /* vertices dealt in turn instead of to the least filled partition */
  bool remap;  /* one copy that is remapped, or (for measurements) one ordered copy per mode */
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int partitions; /* kappa */
  int columns;    /* P: elements that a thread block takes at once (GPU) */
  double fullest; /* partition of any mode, relative to the mean */
  struct pd_flycoo_packing packing;
  struct pd_flycoo_mode mode[POLYAD_MAX_ORDER];
  uint32_t *elements[POLYAD_MAX_ORDER]; /* in the order of the mode; without remapping all of
                                           them exist, else the first alone */
};

static inline uint32_t pd_flycoo_get(const uint32_t *element, const struct pd_flycoo_field *field) {
  uint64_t word = element[field->word];
  if (field->shift + field->bits > 32) word |= (uint64_t)element[field->word + 1] << 32;
  return (uint32_t)(word >> field->shift & ((UINT64_C(1) << field->bits) - 1));
}

/** The field's bits must be zero before. */
static inline void pd_flycoo_set(uint32_t *element, const struct pd_flycoo_field *field,
                                 uint32_t value) {
  uint64_t word = (uint64_t)value << field->shift;
  element[field->word] |= (uint32_t)word;
  if (field->shift + field->bits > 32) element[field->word + 1] |= (uint32_t)(word >> 32);
}

static inline double pd_flycoo_value(const uint32_t *element, polyad_type type) {
  float narrow;
  double wide;
  if (type == POLYAD_F32) {
    memcpy(&narrow, element, sizeof narrow);
    return (double)narrow;
  }
  memcpy(&wide, element, sizeof wide);
  return wide;
}

/** Bytes of one copy of all elements: a multiple of 16, so that they can be read 16 at a time. */
static inline uint64_t pd_flycoo_copy_bytes(const struct pd_flycoo *storage) {
  return (storage->nnz * (uint64_t)storage->packing.words + 3) / 4 * 16;
}

void pd_flycoo_pack(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                    struct pd_flycoo_packing *packing);

void pd_flycoo_read_variant(const char *name, struct pd_flycoo *storage);
/** A storage without arrays and partitions: the facts, packing and variant that a request asks for.
 */
void pd_flycoo_like(const struct pd_traits *traits, const struct pd_request *request,
                    struct pd_flycoo *like);

/** Words of an element in a copy that a GPU remaps into the order of `mode`. The default variants
 * drop the ends of elements there: remap ids that were used, and in the last mode its own index,
 * which its rows have. */
int pd_flycoo_words(const struct pd_flycoo *storage, int mode);

/** Fills a storage whose facts, packing and variant are set. */
polyad_status pd_flycoo_fill(polyad_context *context, const polyad_tensor *tensor,
                             const struct pd_traits *traits, const struct pd_request *request,
                             struct pd_flycoo *storage);

/** The same on a device: slot `build_there`. */
polyad_status pd_flycoo_fill_there(polyad_context *context, struct pd_build *build,
                                   const polyad_tensor *tensor, const struct pd_request *request,
                                   void *storage);

/** Validates every invariant of the storage. */
polyad_status pd_flycoo_check(polyad_context *context, const void *storage);

/** Nonzeros in the order of mode 0, or of a copy of the elements. */
void pd_flycoo_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk);
void pd_flycoo_decode_elements(const struct pd_flycoo *storage, const uint32_t *elements,
                               uint64_t first, int count, struct pd_chunk *chunk);

/** Elements of a workspace on the CPU as the last MTTKRP left them, and the mode in whose order
 *  they are (for tests). */
const uint32_t *pd_flycoo_cpu_elements(const void *scratch, int *mode);

#endif
