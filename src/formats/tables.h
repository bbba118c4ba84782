/* The tables of all formats, one word for each, in the order in which they are listed. A format
 * NAME defines pd_NAME_format, and pd_NAME_kernels_DEVICE for the CPU and for devices that it has
 * kernels on. */
#ifndef PD_TABLES_H
#define PD_TABLES_H

#include "formats/format.h"

#define PD_FORMATS(X)                                                                              \
  X(coo)                                                                                           \
  X(csf)                                                                                           \
  X(modecopy)                                                                                      \
  X(flycoo)                                                                                        \
  X(blco)                                                                                          \
  X(mmcsf) X(bcsf) X(hbcsf) X(hicoo) X(fcoo) X(fwc) X(alto) X(hls) X(portable) X(twotree) X(dense)
/** Those with kernels in the CUDA module. */
#define PD_CUDA_FORMATS(X)                                                                         \
  X(modecopy)                                                                                      \
  X(flycoo)                                                                                        \
  X(blco) X(mmcsf) X(bcsf) X(hbcsf) X(hicoo) X(fcoo) X(fwc) X(coo) X(alto) X(hls) X(twotree)

#define PD_DECLARE_TABLES(name)                                                                    \
  extern const struct polyad_format pd_##name##_format;                                            \
  extern const struct polyad_kernels pd_##name##_kernels_cpu, pd_##name##_kernels_cuda;
PD_FORMATS(PD_DECLARE_TABLES)
/** Built in: what they launch, the module brings. */
extern const struct polyad_kernels pd_portable_kernels_opencl;

/** The tensor-times-matrix chain: what gives the nonzeros row by row (slot `rows` of struct
 *  polyad_format), and the walks, of formats that have them. */
#define PD_DECLARE_CHAIN(name)                                                                     \
  void pd_##name##_row_source(const void *storage, int mode, struct pd_ttmc_source *source,        \
                              struct pd_ttmc_segments *segments);                                  \
  extern const struct pd_walk pd_##name##_ttmc_walk, pd_##name##_ttmc_walk_cuda;
PD_DECLARE_CHAIN(coo)
PD_DECLARE_CHAIN(csf)
PD_DECLARE_CHAIN(modecopy)
PD_DECLARE_CHAIN(alto)

#endif
