/* Building storages on a device: the steps that formats' builders are made of.
 *
 * The arrays of a tensor are brought to the device once. Each order of its nonzeros is then found
 * by a stable sort there, and written by a gather: as words into which indices are packed, with
 * tables of the rows that the order has. What comes out has the bits that the host's builders
 * make, since an order by the coordinates of a tensor without repeats is unique. */
#ifndef PD_BUILD_H
#define PD_BUILD_H

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

/** Where the index of a mode goes: its bits, shifted left, into word p of a plane. */
struct pd_build_field {
  int mode, plane, shift;
};

/** How the nonzeros of an order are written. */
struct pd_build_planes {
  int output; /* the mode whose rows the order has */
  int planes, fields;
  struct pd_build_field field[POLYAD_MAX_ORDER];
  uint64_t padded; /* items that each array has room for; zeros behind the last nonzero */
  uint32_t *plane[POLYAD_MAX_ORDER];
  void *values; /* of the tensor's type */
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
  /** Orders the nonzeros by the index of modes[0], then of modes[1], and so on; those that agree in
   *  all of `count` modes stay as the tensor has them. */
  polyad_status (*sort)(polyad_context *context, struct pd_build *build, const int *modes,
                        int count);
  /** Writes the nonzeros in the order that was found last. */
  polyad_status (*gather)(polyad_context *context, struct pd_build *build,
                          const struct pd_build_planes *to);
  /** Writes the tables of the rows; after gather() of the same planes. */
  polyad_status (*tables)(polyad_context *context, struct pd_build *build,
                          const struct pd_build_planes *planes,
                          const struct pd_build_tables *tables);
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
};

#endif
