/* Whether the values of a tensor are whole numbers, and how many bits they need. */
#include "build/records.h"
#include <string.h>

enum { THREAD_GRAIN = 1 << 16, BLOCK = 1 << 12, COUNT_BITS_MOST = 24 };

/* All bits of the values of [first, end) as whole numbers; UINT32_MAX when one is none, or
 * negative, or minus zero. A value that an integer does not hold comes back as another one. */
static uint32_t bits_of_wide(const double *value, uint64_t first, uint64_t end) {
  uint64_t differ = 0;
  uint32_t bits = 0;
  for (uint64_t p = first; p < end; ++p) {
    int32_t whole = value[p] >= 0 && value[p] < 1 << COUNT_BITS_MOST ? (int32_t)value[p] : -1;
    double back = (double)whole;
    uint64_t is, was;
    memcpy(&is, &back, sizeof is);
    memcpy(&was, &value[p], sizeof was);
    differ |= is ^ was;
    bits |= (uint32_t)whole;
  }
  return differ == 0 ? bits : UINT32_MAX;
}

static uint32_t bits_of_narrow(const float *value, uint64_t first, uint64_t end) {
  uint32_t differ = 0, bits = 0;
  for (uint64_t p = first; p < end; ++p) {
    int32_t whole = value[p] >= 0 && value[p] < 1 << COUNT_BITS_MOST ? (int32_t)value[p] : -1;
    float back = (float)whole;
    uint32_t is, was;
    memcpy(&is, &back, sizeof is);
    memcpy(&was, &value[p], sizeof was);
    differ |= is ^ was;
    bits |= (uint32_t)whole;
  }
  return differ == 0 ? bits : UINT32_MAX;
}

static uint32_t bits_of_part(const polyad_tensor *tensor, uint64_t first, uint64_t end) {
  uint32_t bits = 0;
  for (uint64_t stop; first < end && bits < UINT32_MAX; first = stop) {
    stop = end - first < BLOCK ? end : first + BLOCK;
    bits |= tensor->type == POLYAD_F64 ? bits_of_wide(tensor->values, first, stop)
                                       : bits_of_narrow(tensor->values, first, stop);
  }
  return bits;
}

int pd_value_bits(const polyad_context *context, const polyad_tensor *tensor) {
  int threads = pd_threads_for(context, tensor->nnz, THREAD_GRAIN);
  uint32_t bits = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : bits)
  for (int part = 0; part < threads; ++part)
    bits |= bits_of_part(tensor, pd_part_begin(tensor->nnz, part, threads),
                         pd_part_begin(tensor->nnz, part + 1, threads));
  int length = pd_bit_length(bits);
  return length <= COUNT_BITS_MOST ? length : 8 * (int)pd_type_bytes(tensor->type);
}
