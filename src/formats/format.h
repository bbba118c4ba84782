/* The contract between storage formats, the plan and the devices.
 *
 * A format is two kinds of const tables (designated initialisers only): `struct polyad_format`
 * on the host, and one `struct polyad_kernels` per device. An empty slot means unsupported. */
#ifndef PD_FORMAT_H
#define PD_FORMAT_H

#include "device/device.h"
#include "engine/op.h"
#include "formats/versions.h"
#include "tensor/chunk.h"
#include "tensor/tensor.h"
#include <polyad/plan.h>

#define PD_REASON_BYTES 256

/** The most parameters that a format has. */
enum { PD_PARAMETERS_MAX = 4 };

/** A parameter of a format: what users are told of it, and what tuning tries. */
struct pd_parameter {
  polyad_format_parameter about;
  const int *trials; /* values to measure, ended by 0; NULL: it is not tuned */
};

struct pd_arrays;
struct pd_build;
struct pd_traits;
struct pd_part;

/** What is asked of a format. */
struct pd_request {
  const struct polyad_format *format; /* NULL: any */
  const char *variant;                /* "auto" or one of the format's */
  uint64_t rank;
  polyad_type precision;
  int threads;
  bool force_index64;
  int parameter[PD_PARAMETERS_MAX]; /* in the order of the format's table; 0: not given */
  polyad_kernel kernel;             /* that must be there */
  polyad_compute compute;           /* types that products are computed in */
  int first_mode;                   /* number of mode 0 in reasons: pd_shown_mode(context, 0) */
  bool keep_values;                 /* values are not to be scaled: they have been */
  double sweeps;    /* through all modes, which building is spread over; 0: it does not count */
  const char *kept; /* tuning cache that may have values of parameters; NULL: none */
  const struct pd_device *device;
  const double *weights;          /* shares of a team's members, which add up to 1; NULL: equal */
  const struct pd_traits *traits; /* of the tensor that is built from; NULL: not known yet */
  struct pd_part *part;           /* of the team that shares the plan; NULL: none */
  bool facts_shared;              /* its members have told each other the tensor's facts */
  /* Where the plan keeps that tensor on `device`, for traits and for building there: NULL or a
   * NULL there: nowhere. See formats/sent.h. */
  struct pd_build **sent;
};

/** Facts about a tensor that choices rest on: cheap, exact where it says so. Made once per
 *  plan by pd_traits_compute(). */
struct pd_traits {
  int order;
  uint64_t nnz;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nonempty[POLYAD_MAX_ORDER];  /* non-empty slices, exact */
  uint64_t slice_max[POLYAD_MAX_ORDER]; /* nonzeros of the fullest slice, exact */
  uint64_t fibers[POLYAD_MAX_ORDER];    /* non-empty ones along each mode, to a few percent, where
                                           a format looks at them */
  /* tuples[n][k]: distinct tuples of indices in the k modes from n on, in the cyclic order, to a
   * few percent, for k from 2 to order - 2; 0: not counted. */
  uint64_t tuples[POLYAD_MAX_ORDER][POLYAD_MAX_ORDER];
};

polyad_status pd_traits_compute(polyad_context *context, const polyad_tensor *tensor,
                                struct pd_traits *traits);
/** The same for one format: fibers are left out where it never looks at them. NULL: for any. */
polyad_status pd_traits_compute_for(polyad_context *context, const polyad_tensor *tensor,
                                    const struct polyad_format *format, struct pd_traits *traits);
/** Those of the request, which the plan has computed; computes them where it has none. */
polyad_status pd_traits_of_request(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request, struct pd_traits *traits);

/** The same of a tensor that has been sent to the request's device, which looks at it. */
polyad_status pd_traits_compute_sent(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_request *request, struct pd_traits *traits);

/** Counts `tuples`, which few choices rest on, unless they have been counted. */
polyad_status pd_traits_count_tuples(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_request *request, struct pd_traits *traits);

struct pd_ttmc_source;
struct pd_ttmc_segments;

struct polyad_format {
  const char *name;
  const char *summary;
  const char *paper;
  const char *variants; /* blank-separated names, "auto" first */
  const struct pd_parameter *parameters;
  int parameter_count;
  int min_order, max_order;
  bool by_name;       /* serves comparisons: "auto" never takes it */
  bool counts_tuples; /* its estimates rest on traits->tuples, which are counted for it */
  bool fiberless;     /* it never looks at traits->fibers, which are not counted for it alone */
  bool reduced;       /* has kernels for compute types other than POLYAD_COMPUTE_NATIVE */

  /** Whether it can hold the tensor as asked; if not, writes why into `reason`. */
  bool (*supports)(const struct pd_traits *traits, const struct pd_request *request,
                   char reason[PD_REASON_BYTES]);
  /** Bytes the storage will take, and the most that building takes at once beyond the tensor
   *  itself (storage included). */
  void (*estimate_bytes)(const struct pd_traits *traits, const struct pd_request *request,
                         uint64_t *storage, uint64_t *building);
  /** Estimated seconds of one MTTKRP in every mode: what the plan compares. */
  double (*estimate_seconds)(const struct pd_traits *traits, const struct pd_request *request);
  /** Estimated nanoseconds in which one thread of the host builds the storage. NULL: about what
   *  sorting the nonzeros once for each mode takes. */
  double (*estimate_building)(const struct pd_traits *traits, const struct pd_request *request);
  /** Makes the arrays of a storage that begin() has begun, on the host; called by
   *  pd_storage_build(). What was allocated is in the storage also on failure. When `take` is true
   *  the tensor's arrays may be moved out of it or freed early (its pointers then set to NULL). */
  polyad_status (*build)(polyad_context *context, polyad_tensor *tensor, bool take,
                         const struct pd_request *request, void *storage);
  /** A storage is a header of so many bytes, and arrays that it points to. arrays() shows each of
   *  them that there can be by what the header says, with pd_show_array() (formats/storage.h): what
   *  counts and frees a storage, and moves it to a device and back. */
  size_t header_bytes;
  void (*arrays)(void *storage, struct pd_arrays *arrays);
  /** Sets the facts of a storage, whose header is zero; NULL: build() does, and there is no
   *  build_there(). */
  polyad_status (*begin)(polyad_context *context, const polyad_tensor *tensor,
                         const struct pd_request *request, void *storage);
  /** Makes the arrays of a storage from begin() on request->device, which has the tensor (`build`)
   *  and the steps for it (device/build.h): with the bits that build() gives. request->traits are
   *  known. What was allocated is in the storage also on failure; fails with POLYAD_OUT_OF_MEMORY
   * or POLYAD_MEMORY_LIMIT where it does not fit: the host then builds. Need not wait; called by
   *  pd_sent_build() (formats/sent.h). NULL: the host builds. */
  polyad_status (*build_there)(polyad_context *context, struct pd_build *build,
                               const polyad_tensor *tensor, const struct pd_request *request,
                               void *storage);
  /** Most bytes of the device that build_there() takes at once, a storage of `storage_bytes`
   *  included; 0: it cannot build what is asked for. */
  uint64_t (*bytes_there)(const struct pd_traits *traits, const struct pd_request *request,
                          uint64_t storage_bytes);
  /** Validates every invariant of the storage; fails with POLYAD_INTERNAL. */
  polyad_status (*check)(polyad_context *context, const void *storage);
  /** Writes what was chosen, such as "2 trees, rooted at modes 1 and 3"; mode 0 has the number
   *  `first_mode` there. */
  void (*describe)(const void *storage, int first_mode, char text[PD_REASON_BYTES]);
  /** Bytes of a storage that is no header with arrays, and freeing it; else NULL:
   * pd_storage_bytes() and pd_storage_free() serve all (formats/storage.c). */
  uint64_t (*bytes)(const void *storage);
  void (*destroy)(polyad_context *context, void *storage);
  /** Decodes some nonzeros, with the values that the kernels see. What needs the nonzeros
   *  themselves (first factors by HOSVD, residuals, round trips) gets them here. */
  pd_decode_function decode;
  /** Fails where decode() has met nonzeros that could not be read; NULL: that cannot be. */
  polyad_status (*readable)(polyad_context *context, const void *storage);
  /** Gives the nonzeros row by row of `mode`, with what its kernels see as values: see
   *  formats/ttmc/ttmc_source.h. Fills `source` but for its order, and `segments` with what is to
   * be put in the order of the rows first; none of them where the storage has that order. NULL: the
   *  storage gives its nonzeros in one order only, by `decode`. Only
   *  of storages that were built for the CPU. */
  void (*rows)(const void *storage, int mode, struct pd_ttmc_source *source,
               struct pd_ttmc_segments *segments);
};

/** The most walks that a kernel table has. */
enum { PD_WALKS_MAX = 2 };

/** Kernels of one format on one device. */
struct polyad_kernels {
  const char *format;   /* name of the format */
  const char *device;   /* kind of device */
  const char *variants; /* variants with own kernels; NULL: all */
  /** No kernels are written for this storage on this device: its nonzeros are decoded for loops
   * that serve many formats, or the kernels are those from one source for all devices. */
  bool plain;
  /** The ways through the storage (engine/op.h): those whose factors' rows combine by Hadamard,
   *  then those by Kronecker. */
  const struct pd_walk *walks[PD_WALKS_MAX];
  /** The most additions in the type of the matrices (those in a wider one do not count) that a
   *  product goes through in an MTTKRP, where the fullest row has `longest_row` nonzeros. NULL:
   * that many, all of the row's nonzeros being added to its entry one by one. */
  uint64_t (*sum_depth)(const void *storage, const void *scratch, int mode, uint64_t longest_row);
  /** Tells how `scratch` and what it has moved lie: what a call enqueues depends on nothing else
   *  but its arguments and the versions of the factors. Where a round through all modes in turn
   *  leaves it as it was, the round may be recorded once and replayed. NULL: always 0. */
  uint64_t (*position)(const void *scratch);
  /** Which partial sums the workspace has of these very factors, a bit for each; and that it has
   *  some of them: a replay of a round, which gives its factors new versions, leaves those that the
   *  round left when it was recorded. NULL: none that a round takes from the one before. */
  uint64_t (*kept)(const void *storage, const void *scratch,
                   const struct pd_matrix *const *factors);
  void (*keep)(const void *storage, void *scratch, const struct pd_matrix *const *factors,
               uint64_t which);
  /** Bytes that a storage of `storage_bytes` and one workspace take on a device with memory of its
   *  own; NULL: storage_bytes. */
  uint64_t (*device_bytes)(const struct pd_traits *traits, const struct pd_request *request,
                           uint64_t storage_bytes);
  /** Measured time of Phi divided by that of MTTKRP. The plan estimates Phi as its estimate for
   *  MTTKRP times this ratio. 0: the estimate is of the request's kernel already. */
  double phi_over_mttkrp;
};

/** The walk that runs all of these operations; NULL: there is none. */
static inline const struct pd_walk *pd_walk_of(const struct polyad_kernels *kernels, uint64_t ops) {
  for (int k = 0; k < PD_WALKS_MAX && kernels->walks[k] != NULL; ++k)
    if ((kernels->walks[k]->ops & ops) == ops) return kernels->walks[k];
  return NULL;
}
/** Whether all walks give the same bits every time, in the default variant. */
static inline bool pd_same_bits(const struct polyad_kernels *kernels) {
  for (int k = 0; k < PD_WALKS_MAX && kernels->walks[k] != NULL; ++k)
    if (kernels->walks[k]->any_order) return false;
  return true;
}
/** The operation that a public kernel stands for; `epsilon` is Phi's. */
struct pd_op pd_op_of_kernel(polyad_kernel kernel, double epsilon);
/** Its name in messages. */
const char *pd_op_name(const struct pd_op *op);

/** The formats whose MTTKRP on a kind of device gathers rows of halves. */
void pd_formats_of_halves(const char *device, char list[PD_REASON_BYTES]);

/** Builds a storage on the host; NULL on failure. */
polyad_status pd_storage_build(polyad_context *context, const struct polyad_format *format,
                               polyad_tensor *tensor, bool take, const struct pd_request *request,
                               void **storage);
/** Its header, begun. */
polyad_status pd_storage_begin(polyad_context *context, const struct polyad_format *format,
                               const polyad_tensor *tensor, const struct pd_request *request,
                               void **storage);
/** Bytes of a storage, or of one with the sizes that a header says. */
uint64_t pd_storage_bytes(const struct polyad_format *format, const void *storage);
/** Frees a storage and all arrays that it has yet. NULL is fine. */
void pd_storage_free(polyad_context *context, const struct polyad_format *format, void *storage);

/** The tensor that a storage holds, which was built from one with the shape and type of `like`. */
polyad_status pd_storage_expand(polyad_context *context, const struct polyad_format *format,
                                const void *storage, const polyad_tensor *like,
                                polyad_tensor **tensor);

/** Slot `sum_depth` of kernels on the CPU, for floats: they add up at most 128 products in float,
 * and those sums in double. In double a whole row counts (pd_plan_sum_depth()). */
uint64_t pd_sum_depth_on_cpu(const void *storage, const void *scratch, int mode,
                             uint64_t longest_row);

/** Whether a tensor has at most `most` nonzeros and no mode is longer than 2^32; else writes why
 * not. */
bool pd_supports_32_bits(const struct pd_traits *traits, const struct pd_request *request,
                         uint64_t most, char reason[PD_REASON_BYTES]);

/** A format's parameter as the request gives it, else `usual`. */
int pd_parameter(const struct pd_request *request, int which, int usual);

/** The registry: one line per format in registry.c. */
int pd_format_count(void);
const struct polyad_format *pd_format_at(int which);
/** NULL when there is none of that name. */
const struct polyad_format *pd_format_find(const char *name);
/** Kernels of a format on a kind of device; NULL when there are none. */
const struct polyad_kernels *pd_kernels_find(const char *format, const char *device);

#endif
