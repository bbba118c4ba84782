/* The sum of one thread in the kernels of papers A and B. A thread sees to one column of the output
 * for every P-th nonzero of its partition. While these stay in one row its sum stays in a register,
 * and is then added to those of the block's other threads. The papers do not say where updates of a
 * row come together but that it is on the chip. */
#ifndef PD_COLUMN_SUM_CUH
#define PD_COLUMN_SUM_CUH

#include <cstdint>

/** Nonzeros whose loads a thread has under way at once. */
enum { COLUMN_AHEAD = 4 };

/** GLOBAL: other blocks add to the same rows. */
template <typename T, bool GLOBAL> struct ColumnSum {
  T *out;                    /* the column's entry in row 0 */
  uint64_t row = UINT64_MAX; /* its place behind `out`; UINT64_MAX: none has begun */
  T sum = 0;

  __device__ void end() const {
    if (row == UINT64_MAX) return;
    if (GLOBAL)
      atomicAdd(out + row, sum);
    else
      atomicAdd_block(out + row, sum);
  }

  __device__ void add(uint64_t to, T product) {
    if (to != row) {
      end();
      row = to;
      sum = 0;
    }
    sum += product;
  }
};

#endif
