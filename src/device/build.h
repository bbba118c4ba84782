/* Building storages on a device: the steps that formats' builders are made of.
 *
 * The arrays of a tensor are brought to the device once. Each order of its nonzeros is then found
 * by a stable sort there, and written by a gather: as words into which indices are packed, with
 * tables of the rows that the order has. What comes out has the bits that the host's builders
 * make, since an order by the coordinates of a tensor without repeats is unique. */
#ifndef PD_BUILD_H
#define PD_BUILD_H

#include "device/build_steps.h"
#include "device/device.h"

/** A tensor on the device, and the room to sort it. */
struct pd_build;

/** The distinct tuples of indices in some modes, numbered from 0 on in the order of these modes. */
struct pd_build_groups {
  uint64_t tuples;
  uint32_t *index[POLYAD_MAX_ORDER]; /* of each tuple in each of the modes: the caller's */
  struct pd_build *nonzeros; /* mode 0: the tuple's number; then the other modes, ascending */
  struct pd_build *by_tuple; /* ones; mode 0: the tuple's number; then the modes */
};

/** How many slices have 2^c to 2^(c+1) - 1 nonzeros, and how many nonzeros these have together. */
enum { PD_BUILD_CLASSES = 32 };
struct pd_build_classes {
  uint64_t rows[PD_BUILD_CLASSES], nonzeros[PD_BUILD_CLASSES];
  uint64_t most; /* nonzeros of the fullest slice */
};

enum {
  PD_BUILD_PIECES = 33 * POLYAD_MAX_ORDER, /* each bit apart, and a mode once more */
  PD_BUILD_FIELDS = 136,                   /* of keys of 128 bits, or elements of 34 words */
  PD_BUILD_PLANES = 2 * POLYAD_MAX_ORDER + 2
};

/** What nonzeros are sorted by, or told apart: pieces of their indices, the first one before all
 *  others. */
struct pd_build_key {
  int pieces;
  struct pd_build_piece piece[PD_BUILD_PIECES];
  const uint32_t *table; /* on the device; NULL, or the first piece is of table[index] */
};

/** How the nonzeros of an order are written: item p has words of planes and a value. */
struct pd_build_planes {
  int output; /* the mode whose rows the order has; -1: none */
  int planes, fields;
  struct pd_build_field field[PD_BUILD_FIELDS];
  uint64_t padded;       /* items that each array has room for; zeros behind the last nonzero */
  const uint32_t *place; /* on the device: item p is the nonzero at place[p]; NULL: at place p */
  void *plane[PD_BUILD_PLANES];
  bool wide[PD_BUILD_PLANES]; /* words of 8 bytes instead of 4 */
  int step;                   /* 4-byte words from an item to the next, of which the first are the
                                 value's; 0: planes and values are arrays of their own */
  void *values;               /* of the tensor's type; NULL: they are not wanted */
  bool converts;              /* values are PD_BUILD_F16 or another `number`, times 2^-exponent */
  int number, exponent;
};

/** The nonzeros of an order apart by the size of the runs that they lie in: places in the order.
 *  The arrays are the caller's, on the device. */
struct pd_build_parts {
  uint64_t runs, large; /* the large runs, and nonzeros of these */
  uint32_t *first;      /* of each large run, its first nonzero */
  uint32_t *begin;      /* runs + 1: where the nonzeros of each begin in `in` */
  uint32_t *in;         /* the nonzeros of large runs */
  uint32_t *rest;       /* all others */
};

/** What a plan knows of a tensor that lies on the device alone. */
struct pd_build_facts {
  uint64_t nnz, dims[POLYAD_MAX_ORDER];
  uint64_t repeats_merged, zeros; /* when it was made; zeros are among its nonzeros if they stay */
  double norm_square_scaled;      /* of the squared norm, times 2^(2 norm_exponent) */
  int norm_exponent;
  double sum;        /* of the values */
  bool has_negative; /* the first value below 0, and where it is */
  double negative;
  uint64_t negative_index[POLYAD_MAX_ORDER];
};

/** A grid over the modes: the ranges of mode n begin at cut[n][0], cut[n][1] and so on. The cells
 *  are numbered with the last mode's range varying quickest. */
struct pd_build_grid {
  int cells;
  int ranges[POLYAD_MAX_ORDER]; /* 1: the mode is not cut */
  const uint64_t *cut[POLYAD_MAX_ORDER];
};

/** Bits of items on the device: from bit `shift` of a word on. */
struct pd_build_slot {
  uint32_t *words; /* of item 0, the first that has the bits */
  int step;        /* words from an item to the next */
  int shift, bits;
};

/** Tables of the rows of an order (formats/ordered/ordered.h), each NULL where it is not wanted. */
struct pd_build_tables {
  uint64_t rows;       /* slices of the mode that have nonzeros */
  uint64_t *row_start; /* rows + 1 */
  uint32_t *row_id;    /* rows */
  uint32_t *chunk_row; /* one per 64 nonzeros, and one more */
  uint32_t *marks;     /* two words per 32 nonzeros: ends of rows, begins of runs */
  uint32_t *ends;      /* nnz / 32 + 1: the ends of rows alone */
  uint32_t *used;      /* dim / 32 + 1: output rows with nonzeros */
  uint32_t outer_mask[POLYAD_MAX_ORDER]; /* bits of each plane that are the same all along a run */
  int outers; /* instead of masks, where the nonzeros are not written in this order: the modes */
  int outer[POLYAD_MAX_ORDER];
};

/** The steps, on the device's stream. Those that fill arrays do not wait. */
struct pd_device_build {
  /** Whether tensors of this shape can be built from. */
  bool (*takes)(uint64_t nnz, int order, const uint64_t *dims);
  /** Bytes of the device that `open` takes. */
  uint64_t (*bytes)(uint64_t nnz, int order, const uint64_t *dims, polyad_type type);
  /** Brings the tensor's arrays. They are free to be changed afterwards. */
  polyad_status (*open)(polyad_context *context, const struct pd_device *device,
                        const polyad_tensor *tensor, struct pd_build **build);
  /** Makes a tensor of a caller's arrays on the device, with values of input->type: checks, sorts
   * and merges them as polyad_tensor_create() does. Waits for all work of the process there before,
   * and for its own. NULL: the device cannot. */
  polyad_status (*open_arrays)(polyad_context *context, const struct pd_device *device,
                               const polyad_tensor_input *input, struct pd_build **build);
  /** Tells about the tensor that was made. Waits. */
  polyad_status (*facts)(polyad_context *context, struct pd_build *build,
                         struct pd_build_facts *facts);
  /** Multiplies its values by 2^exponent. */
  polyad_status (*scale)(polyad_context *context, struct pd_build *build, int exponent);
  /** Waits. NULL is fine. */
  void (*close)(polyad_context *context, struct pd_build *build);
  /** Sorts the slices of a mode into classes by their size. Waits. */
  polyad_status (*classes)(polyad_context *context, struct pd_build *build, int mode,
                           struct pd_build_classes *classes);
  /** Sees the tuples of indices in `modes` modes, as struct pd_tuple_source
   * (tensor/tensor_fibers.h) wants it: the registers of every mode. Waits. */
  polyad_status (*tuples)(polyad_context *context, struct pd_build *build, int modes, bool sampled,
                          uint8_t *registers);
  /** Sees the cells of `modes` modes from mode `first` on likewise: `words` words of bits. Waits.
   */
  polyad_status (*cells)(polyad_context *context, struct pd_build *build, int first, int modes,
                         uint64_t words, uint64_t *bits);
  /** Counts the nonzeros of every slice of a mode: degree[i], on the host. Waits. */
  polyad_status (*degrees)(polyad_context *context, struct pd_build *build, int mode,
                           uint32_t *degree);
  /** Orders the nonzeros by a key; those that agree in it stay as the tensor has them. */
  polyad_status (*sort)(polyad_context *context, struct pd_build *build,
                        const struct pd_build_key *key);
  /** Writes the nonzeros in the order that was found last. */
  polyad_status (*gather)(polyad_context *context, struct pd_build *build,
                          const struct pd_build_planes *to);
  /** Writes the tables of the rows; after gather() of the same planes. */
  polyad_status (*tables)(polyad_context *context, struct pd_build *build,
                          const struct pd_build_planes *planes,
                          const struct pd_build_tables *tables);
  /** Lists the nonzeros of the order that was found last by their index in a mode: place[q] is
   * where the q-th one stands in that order; those of a row keep it. Writes the tables of the rows
   * too, but for marks. */
  polyad_status (*list)(polyad_context *context, struct pd_build *build, int mode, uint32_t *place,
                        const struct pd_build_tables *tables);
  /** Writes, for each nonzero at place p of the order that was found last, p into the bits of item
   *  item[its number in the tensor], or of its number where `item` is NULL. */
  polyad_status (*number)(polyad_context *context, struct pd_build *build, const uint32_t *item,
                          const struct pd_build_slot *to);
  /** Finds the runs of nonzeros that agree in a key's pieces, in the order that was found last:
   *  run r begins at place start[r], and start[runs] is the number of nonzeros. `start` is
   * allocated on the device, the caller's. Waits. */
  polyad_status (*runs)(polyad_context *context, struct pd_build *build,
                        const struct pd_build_key *key, uint32_t **start, uint32_t *runs);
  /** Splits the order that was found last: runs of nonzeros that agree in a key's pieces are large
   *  when they have `least` nonzeros. What was allocated is in `parts` also on failure. Waits. */
  polyad_status (*split)(polyad_context *context, struct pd_build *build,
                         const struct pd_build_key *key, uint32_t least,
                         struct pd_build_parts *parts);
  /** Sets, of each nonzero in a large run r, the bit that the fields of `cell` name in words
   *  [r words, (r + 1) words); all others become zero. */
  polyad_status (*bitmaps)(polyad_context *context, struct pd_build *build,
                           const struct pd_build_parts *parts, const struct pd_build_planes *cell,
                           uint64_t words, uint32_t *bits);
  /** Writes the items in plane 0 as a stream of `bits` bits each, whose fields have shifts from an
   *  item's first bit; it has `words` words. */
  polyad_status (*pack)(polyad_context *context, struct pd_build *build,
                        const struct pd_build_planes *items, int bits, uint64_t words);
  /** The largest magnitude of a value. Waits. */
  polyad_status (*largest)(polyad_context *context, struct pd_build *build, double *most);
  /** run[c] = the run with place c unit, for c below `count`; of the last place where that is
   *  behind it. */
  polyad_status (*runs_at)(polyad_context *context, struct pd_build *build, const uint32_t *start,
                           uint32_t runs, uint64_t unit, uint64_t count, uint32_t *run);
  /** Groups the nonzeros by `count` modes, two or more and not all. The tensors in `groups` are
   * used as if they had been opened, one at a time, as long as `build` is open and is not used
   * itself; what was allocated is there also on failure. Waits. */
  polyad_status (*group)(polyad_context *context, struct pd_build *build, const int *modes,
                         int count, struct pd_build_groups *groups);
  /** Bytes of the device that it takes, the tuples' indices included. */
  uint64_t (*group_bytes)(uint64_t nnz, uint64_t tuples, int count, polyad_type type);
  /** row[p] = the output row of nonzero p: row_id[r], or r without it, where
   *  row_start[r] <= p < row_start[r + 1]. Needs no pd_build. */
  polyad_status (*rows_of)(polyad_context *context, const struct pd_device *device, uint64_t nnz,
                           uint64_t rows, const uint64_t *row_start, const uint32_t *row_id,
                           uint32_t *row);
  /** Orders the nonzeros by the cells of a grid that they lie in, and counts those of each; those
   *  of a cell stay as the tensor has them. Waits. NULL, as what follows: the device cannot. */
  polyad_status (*deal)(polyad_context *context, struct pd_build *build,
                        const struct pd_build_grid *grid, uint64_t *count);
  /** Sets bit i of `has`, (length + 31) / 32 words on the host, where first + i is among `count`
   *  indices on the device, which lie in [first, first + length). Waits. Needs no pd_build. */
  polyad_status (*mark)(polyad_context *context, const struct pd_device *device,
                        const uint32_t *index, uint64_t count, uint64_t first, uint64_t length,
                        uint32_t *has);
  /** Makes each of these indices i number[i - first], of `length` numbers on the host. Waits. Needs
   *  no pd_build. */
  polyad_status (*renumber)(polyad_context *context, const struct pd_device *device,
                            uint32_t *index, uint64_t count, uint64_t first, uint64_t length,
                            const uint32_t *number);
};

/** Adds bits [low, high) of a mode's index to a key; none where low == high. What follows the bits
 *  above them becomes one piece with these. */
static inline void pd_build_key_add(struct pd_build_key *key, int mode, int low, int high) {
  struct pd_build_piece *last = &key->piece[key->pieces > 0 ? key->pieces - 1 : 0];
  if (low < high && key->pieces > 0 && last->mode == mode && last->low == high) {
    last->low = (uint8_t)low;
    last->bits = (uint8_t)(last->bits + high - low);
  } else if (low < high)
    key->piece[key->pieces++] =
        (struct pd_build_piece){(uint8_t)mode, (uint8_t)low, (uint8_t)(high - low)};
}

/** The key of whole modes in turn. */
static inline struct pd_build_key pd_build_key_of_modes(const int *modes, int count,
                                                        const uint64_t *dims) {
  struct pd_build_key key = {.pieces = 0};
  for (int k = 0; k < count; ++k)
    pd_build_key_add(&key, modes[k], 0, pd_index_bits(dims[modes[k]]));
  return key;
}

/** Adds bits [low, high) of a mode's index to what is written; none where low == high. */
static inline void pd_build_field_add(struct pd_build_planes *planes, int mode, int low, int high,
                                      int plane, int shift) {
  if (low < high)
    planes->field[planes->fields++] = (struct pd_build_field){
        {(uint8_t)mode, (uint8_t)low, (uint8_t)(high - low)}, (uint8_t)plane, (uint8_t)shift};
}

#endif
