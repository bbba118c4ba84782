/* Whether the values of a tensor are whole numbers, and how many bits they need. */
#include "build/pack_block.h"
#include "build/records.h"

enum { THREAD_GRAIN = 1 << 16, BLOCK = 1 << 12 };

static uint32_t bits_of_part(const polyad_tensor *tensor, uint64_t first, uint64_t end) {
  uint32_t bits = 0;
  for (uint64_t stop; first < end && bits < UINT32_MAX; first = stop) {
    stop = end - first < BLOCK ? end : first + BLOCK;
    const char *values = (const char *)tensor->values + first * pd_type_bytes(tensor->type);
    bits |= pd_pack_block_functions()->count_bits(tensor->type, values, stop - first);
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
  return length <= PD_COUNT_BITS_MOST ? length : 8 * (int)pd_type_bytes(tensor->type);
}
