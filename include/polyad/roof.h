/** @file
 *  @brief What bounds kernels on a device: rates of copying, gathering, adding and computing. */
#ifndef POLYAD_ROOF_H
#define POLYAD_ROOF_H

#include <polyad/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What bounds kernels on a device. */
typedef enum polyad_roof {
  POLYAD_ROOF_COPY = 0,   /**< copying an array; bytes, read and written together */
  POLYAD_ROOF_GATHER = 1, /**< reading rows of a table in random order; bytes of the rows */
  POLYAD_ROOF_ADD = 2,    /**< adding ones to rows of a table in random order; numbers added. With
                               atomic operations on a GPU, each thread to its own rows on a CPU */
  POLYAD_ROOF_FLOPS = 3   /**< multiplying and adding in registers; additions and multiplications */
} polyad_roof;

/** Measures one of them on the context's device.
 *  @param type  type of the numbers
 *  @param rank  numbers in a row of the table (POLYAD_ROOF_GATHER, POLYAD_ROOF_ADD)
 *  @param bytes  size of the table (at least one row), or of both arrays of POLYAD_ROOF_COPY
 *  @param runs  how often to run it
 *  @param[out] seconds  the time of each run by the device's clock; `runs` numbers
 *  @param[out] work  bytes, numbers or operations of one run
 *  @return POLYAD_UNSUPPORTED when the device has no such measurement, POLYAD_INVALID_ARGUMENT,
 *  POLYAD_OVERFLOW, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
POLYAD_API POLYAD_CHECKED polyad_status polyad_roof_measure(polyad_context *context,
                                                            polyad_roof what, polyad_type type,
                                                            uint64_t rank, uint64_t bytes, int runs,
                                                            double *seconds, double *work);

#ifdef __cplusplus
}
#endif
#endif
