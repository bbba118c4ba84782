/* The contract of a device: memory, streams, timing. One folder per device implements it; a
 * module that is loaded at run time registers its table through pd_module_entry. */
#ifndef PD_DEVICE_H
#define PD_DEVICE_H

#include "core/core.h"
#include "tensor/tensor.h"
#include <polyad/device.h>
#include <polyad/tensor.h>

/** A dense matrix on a device, row major. `stride` is in elements. Opaque to algorithms:
 *  only linalg and kernels of the same device look at `data`. */
struct pd_matrix {
  const struct pd_device *device;
  polyad_type type;
  uint64_t rows, columns, stride;
  void *data;
  bool borrowed; /* data belongs to somebody else */
  /* Tells what the numbers are: no two contents have the same version. What kernels keep that was
   * made from a factor holds for its version only. 0: not known, counts as new in every call. */
  uint64_t version;
  /* A copy of the same rows in bfloat16, with the same stride, where the numbers are no more
     precise than that: kernels may gather it in their place. Belongs to somebody else; NULL: there
     is none. */
  uint16_t *halves;
  /* Bits of the rows that hold numbers, 32 to a word; the others count as zeros, whatever is there.
     On the device, and somebody else's. NULL: all rows hold numbers. */
  const uint32_t *used;
};

/** Gives the matrix a version that none had before: to be called whenever its numbers change. */
void pd_matrix_touch(struct pd_matrix *matrix);

/** An open device. */
struct pd_device {
  const char *kind; /* "cpu", "cuda", … */
  char name[32];    /* "cpu", "cuda:0" */
  int index;
  uint64_t unit; /* the same for the same GPU in all processes; 0: of the CPU */
  const struct pd_device_functions *functions;
  const struct pd_linalg *linalg;
  void *state; /* private to the device */
};

struct pd_device_build;
struct pd_stream_job;
struct pd_roof_job;
struct pd_rows_launch;
struct pd_rows_shape;

enum { PD_DEVICE_MARKS = 4 * POLYAD_MAX_ORDER };

/** A way for data of the host beside the device's work: pieces are copied in turn to a few places
 * of the device's memory, its slots, while work on earlier ones goes on. */
struct pd_device_feed {
  polyad_status (*open)(polyad_context *context, const struct pd_device *device, int slots,
                        void **feed);
  /** Copies to `to`, which is the slot's memory, when the work that reads the slot's last piece is
   *  done; work that is enqueued on the device from now on waits for it. Does not wait itself; the
   *  host's memory has to stay as it is until copied() has returned. */
  polyad_status (*copy)(polyad_context *context, void *feed, int slot, void *to, const void *from,
                        uint64_t bytes);
  /** All work that reads the slot's piece has been enqueued. */
  polyad_status (*used)(polyad_context *context, void *feed, int slot);
  /** Waits until the slot's piece has been copied. */
  polyad_status (*copied)(polyad_context *context, void *feed, int slot);
  /** Waits for the copies. NULL is fine. */
  void (*close)(void *feed);
};

/** A recorded loop, as a kernel in its body knows it: the body runs once, and goes on until the
 * kernel has asked for `most` repetitions, or not for one. */
struct pd_loop {
  uint64_t handle; /* loop_begin() sets it */
  double *outcome; /* two numbers on the device, zero before the loop: what the kernel found last,
                      and how often it has asked for another repetition */
  int most;
};

/** What a device can do. All work is ordered on the device's one stream; functions return
 *  without waiting unless they say so. */
struct pd_device_functions {
  bool host_memory; /* its memory is the host's: matrices may lie in the caller's arrays */
  bool wide_rows;   /* its kernels read rows of factors 16 bytes at a time: pd_wide_stride() */
  /** Begins to make the device ready, in the background: the first call that needs the device then
   *  waits for less. Called whenever a context chooses the device. NULL: the device needs no time
   * to become ready. */
  void (*begin)(const struct pd_device *device);
  polyad_status (*allocate)(polyad_context *context, const struct pd_device *device, uint64_t bytes,
                            void **out);
  void (*release)(polyad_context *context, const struct pd_device *device, void *pointer);
  polyad_status (*copy_in)(polyad_context *context, const struct pd_device *device, void *to,
                           const void *from_host, uint64_t bytes);
  /** Waits for the data. */
  polyad_status (*copy_out)(polyad_context *context, const struct pd_device *device, void *to_host,
                            const void *from, uint64_t bytes);
  polyad_status (*copy)(polyad_context *context, const struct pd_device *device, void *to,
                        const void *from, uint64_t bytes);
  /** Copies `rows` pieces of `bytes` each, whose beginnings lie `to_step` and `from_step` bytes
   *  apart. NULL: the device cannot, and has no wide rows. */
  polyad_status (*copy_pieces)(polyad_context *context, const struct pd_device *device, void *to,
                               uint64_t to_step, const void *from, uint64_t from_step,
                               uint64_t bytes, uint64_t rows);
  /** Copies from another device of the same kind, after all earlier work of both; later work of
   *  both waits for it. NULL: the data has to go through the host. */
  polyad_status (*copy_peer)(polyad_context *context, const struct pd_device *device, void *to,
                             const struct pd_device *from_device, const void *from, uint64_t bytes);
  /** Keeps memory of the host where it is (`pinned`), so that copies from it go on beside the
   * host's and the device's work, or lets it go again. Where the system does not let so much be
   * kept, copies still work. NULL: it makes no difference. */
  void (*pin)(const struct pd_device *device, void *host, uint64_t bytes, bool pinned);
  /** NULL: data comes by copy_in() alone, and no tensor streams to the device. */
  const struct pd_device_feed *feed;
  polyad_status (*fill_zero)(polyad_context *context, const struct pd_device *device, void *to,
                             uint64_t bytes);
  /** Waits until all work is done; reports errors of earlier work. */
  polyad_status (*synchronize)(polyad_context *context, const struct pd_device *device);
  /** Bytes of its own memory that are allocated, and the most that ever were. NULL: not counted, as
   * where its memory is the host's. */
  void (*memory_used)(const struct pd_device *device, uint64_t *in_use, uint64_t *peak);
  /** Bytes that may still be allocated. */
  uint64_t (*memory_available)(polyad_context *context, const struct pd_device *device);
  /** Marks a place in the stream; timer_stop waits for all work and tells how long the device
   *  took for what was enqueued since. NULL where the host's clock serves. */
  polyad_status (*timer_start)(polyad_context *context, const struct pd_device *device);
  polyad_status (*timer_stop)(polyad_context *context, const struct pd_device *device,
                              double *seconds);
  /** Marks a place in the stream under a number below PD_DEVICE_MARKS, and tells the device's time
   *  from one mark to another when both are passed (wait first). Neither waits. NULL where the
   *  host's clock serves. */
  polyad_status (*mark)(polyad_context *context, const struct pd_device *device, int number);
  polyad_status (*between)(polyad_context *context, const struct pd_device *device, int first,
                           int second, double *seconds);
  /** Recording: what this thread enqueues from record_begin to record_end is not done then but
   * kept, to be enqueued as a whole by each replay, which costs little. In between nothing may
   * wait, allocate or copy to or from the host. record_end is called also after a failure, with
   * `keep` false. NULL: the device does not record. */
  polyad_status (*record_begin)(polyad_context *context, const struct pd_device *device);
  polyad_status (*record_end)(polyad_context *context, const struct pd_device *device, bool keep,
                              void **record);
  polyad_status (*replay)(polyad_context *context, const struct pd_device *device, void *record);
  /** While recording: what is enqueued until loop_end is recorded as the body of a loop, which a
   *  replay repeats for as long as a kernel in it asks for that (struct pd_loop).
   * POLYAD_UNSUPPORTED where the driver has no loops. record_end ends a loop whose end a failure
   * has left out. NULL with `record_begin`. */
  polyad_status (*loop_begin)(polyad_context *context, const struct pd_device *device,
                              struct pd_loop *loop);
  polyad_status (*loop_end)(polyad_context *context, const struct pd_device *device);
  /** NULL is fine. */
  void (*record_release)(polyad_context *context, const struct pd_device *device, void *record);
  /** One loop of STREAM (portable/portable.h), tuned by hand for the device or compiled from the
   *  source for all devices; `has_stream` says which there are. */
  polyad_status (*stream)(polyad_context *context, const struct pd_device *device,
                          const struct pd_stream_job *job, bool portable);
  bool has_stream[2]; /* tuned, portable */
  /** Enqueues one measurement of a roof (roof.h); NULL: there are none. */
  polyad_status (*roof)(polyad_context *context, const struct pd_device *device,
                        const struct pd_roof_job *job);
  /** The steps of building storages there (device/build.h); NULL: the host builds. */
  const struct pd_device_build *build;
  /** Launches a portable kernel over rows (portable/portable_launch.h); NULL: it cannot. */
  polyad_status (*rows)(polyad_context *context, const struct pd_device *device,
                        const struct pd_rows_launch *launch);
  /** The tiles it has, and how many groups of lanes keep it busy. */
  const struct pd_rows_shape *(*rows_shape)(const struct pd_device *device);
  uint64_t (*rows_groups)(polyad_context *context, const struct pd_device *device);
};

/** The CPU: allocations are pd_alloc, copies are memcpy. */
extern const struct pd_device pd_cpu_device;

/** The device the context chose, the first of several (never NULL). */
polyad_status pd_device_of(polyad_context *context, const struct pd_device **device);

/** Elements from row to row of a matrix whose rows are read 16 bytes at a time: every row begins at
 *  a multiple of 16 bytes, but for rows of up to 8, which would only become longer. */
static inline uint64_t pd_wide_stride(polyad_type type, uint64_t columns) {
  uint64_t unit = 16 / pd_type_bytes(type);
  return 2 * columns <= unit ? columns : (columns + unit - 1) / unit * unit;
}

/** Matrices: rows x columns of zeros; stride == columns. */
polyad_status pd_matrix_create(polyad_context *context, const struct pd_device *device,
                               polyad_type type, uint64_t rows, uint64_t columns,
                               struct pd_matrix *matrix);
/** Elements from row to row of a factor on the device. */
uint64_t pd_factor_stride(const struct pd_device *device, polyad_type type, uint64_t columns);
/** Bytes on the device that a copy of a factor to or from the host takes beside it. */
uint64_t pd_factor_copy_bytes(const struct pd_device *device, polyad_type type, uint64_t rows,
                              uint64_t columns);
/** A matrix as kernels read and write factors fastest: rows begin pd_factor_stride() elements
 * apart. What lies behind a row's columns is zero, and kernels keep it so. */
polyad_status pd_factor_create(polyad_context *context, const struct pd_device *device,
                               polyad_type type, uint64_t rows, uint64_t columns,
                               struct pd_matrix *matrix);
/** A factor of zeros with a host array of zeros of its size: it is the array where the device can
 * use that (changes then go straight there), else it lies on the device. */
polyad_status pd_matrix_over_host(polyad_context *context, const struct pd_device *device,
                                  polyad_type type, uint64_t rows, uint64_t columns, void *host,
                                  struct pd_matrix *matrix);
void pd_matrix_destroy(polyad_context *context, struct pd_matrix *matrix);
/** Copies between host memory (row major, no padding, of the matrix's type) and a matrix; nothing
 *  to do when the matrix lies over that array. */
polyad_status pd_matrix_from_host(polyad_context *context, struct pd_matrix *matrix,
                                  const void *host);
polyad_status pd_matrix_to_host(polyad_context *context, const struct pd_matrix *matrix,
                                void *host);

#endif
