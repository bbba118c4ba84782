/* Numbers of non-empty fibers. */
#ifndef PD_TENSOR_FIBERS_H
#define PD_TENSOR_FIBERS_H

#include "tensor/tensor.h"

#define PD_FIBERS_EXACT_NNZ (UINT64_C(1) << 22) /* up to here fibers are counted by sorting */

/** Counts the non-empty fibers along each mode: exactly up to PD_FIBERS_EXACT_NNZ nonzeros, else
 *  with a standard error of 0.8% by HyperLogLog (P. Flajolet, E. Fusy, O. Gandouet, F. Meunier,
 *  2007); along the last mode always exactly. The result does not depend on threads. */
polyad_status pd_tensor_count_fibers(polyad_context *context, const polyad_tensor *tensor,
                                     uint64_t fibers[POLYAD_MAX_ORDER], int *exact);

/** Who goes through the tensor's nonzeros, if not the host: a device that has them. */
struct pd_tuple_source {
  /** registers[n * PD_TUPLE_REGISTERS + k] = the largest rank (tensor/tuple_hash.h) of register k
   *  among the tuples of `modes` modes from mode n on, or `sampled` ones; zeros before. */
  polyad_status (*see)(polyad_context *context, void *user, int modes, bool sampled,
                       uint8_t *registers);
  /** Sets the bits of the cells that there are in `modes` modes from mode `first` on, in the cyclic
   *  order, the first varying slowest; zeros before. */
  polyad_status (*mark)(polyad_context *context, void *user, int first, int modes, uint64_t words,
                        uint64_t *bits);
  void *user;
};

/** The estimate by itself, whatever the number of nonzeros. */
polyad_status pd_tensor_estimate_fibers(polyad_context *context, const polyad_tensor *tensor,
                                        uint64_t fibers[POLYAD_MAX_ORDER]);

/** What the choice of a format needs; `source` NULL: the host looks. From one fiber in 16 where
 * there are PD_FIBERS_SAMPLED_LEAST of them or more: the standard error of n fibers is sqrt(15 /
 * n), at most 2.2%, beside the 0.8% above. Exact where no more than 2^18 fibers along a mode are
 * possible, and where no more than 2^23 are and they are fewer than that or along the last mode. */
polyad_status pd_tensor_sample_fibers(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_tuple_source *source,
                                      uint64_t fibers[POLYAD_MAX_ORDER]);
#define PD_FIBERS_SAMPLED_LEAST (1 << 15)

/** tuples[n][k]: distinct tuples of indices in the k modes from n on, in the cyclic order of the
 *  modes, estimated likewise; for k from 2 to order - 2, the others stay as they are. */
polyad_status pd_tensor_sample_tuples(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_tuple_source *source,
                                      uint64_t tuples[POLYAD_MAX_ORDER][POLYAD_MAX_ORDER]);

#endif
