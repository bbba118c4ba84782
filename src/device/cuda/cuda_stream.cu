/* STREAM tuned by hand for NVIDIA's GPUs: each thread moves one vector of 16 bytes, in small
 * blocks, and tells the caches that what it writes is not used again. On an H200 two vectors per
 * thread in blocks of 512, with hints for the loads as well, reached 4.0 TB/s, this reaches 4.4
 * (bench/results/portability). */
#include "device/cuda/cuda_portable.h"

enum { THREADS = 256 };

template <typename T> struct alignas(16) Vector { T v[16 / sizeof(T)]; };

template <typename T> __device__ __forceinline__ Vector<T> load(const Vector<T> *from) {
  int4 raw = *reinterpret_cast<const int4 *>(from);
  return *reinterpret_cast<const Vector<T> *>(&raw);
}

template <typename T> __device__ __forceinline__ void store(Vector<T> *to, const Vector<T> &x) {
  __stcs(reinterpret_cast<int4 *>(to), *reinterpret_cast<const int4 *>(&x));
}

/* to = scale x + y; LOOP says which of the two there are. */
template <typename T, int LOOP>
__global__ void __launch_bounds__(THREADS)
    stream_loop(const Vector<T> *__restrict__ x, const Vector<T> *__restrict__ y,
                Vector<T> *__restrict__ to, T scale, uint64_t vectors) {
  uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
  if (at >= vectors) return;
  Vector<T> left = load(x + at), right = left;
  if (LOOP == POLYAD_STREAM_ADD || LOOP == POLYAD_STREAM_TRIAD) right = load(y + at);
#pragma unroll
  for (int i = 0; i < (int)(16 / sizeof(T)); ++i) {
    if (LOOP == POLYAD_STREAM_SCALE) left.v[i] *= scale;
    if (LOOP == POLYAD_STREAM_ADD) left.v[i] += right.v[i];
    if (LOOP == POLYAD_STREAM_TRIAD) left.v[i] = right.v[i] + scale * left.v[i];
  }
  store(to + at, left);
}

template <typename T> static cudaError_t run(const struct pd_stream_job *job, cudaStream_t stream) {
  Vector<T> *a = static_cast<Vector<T> *>(job->a), *b = static_cast<Vector<T> *>(job->b),
            *c = static_cast<Vector<T> *>(job->c);
  uint64_t vectors = job->count / (16 / sizeof(T));
  unsigned blocks = (unsigned)((vectors + THREADS - 1) / THREADS);
  T s = (T)job->scalar;
  switch (job->loop) {
  case POLYAD_STREAM_COPY:
    stream_loop<T, POLYAD_STREAM_COPY><<<blocks, THREADS, 0, stream>>>(a, b, c, s, vectors);
    break;
  case POLYAD_STREAM_SCALE:
    stream_loop<T, POLYAD_STREAM_SCALE><<<blocks, THREADS, 0, stream>>>(c, a, b, s, vectors);
    break;
  case POLYAD_STREAM_ADD:
    stream_loop<T, POLYAD_STREAM_ADD><<<blocks, THREADS, 0, stream>>>(a, b, c, s, vectors);
    break;
  case POLYAD_STREAM_TRIAD:
    stream_loop<T, POLYAD_STREAM_TRIAD><<<blocks, THREADS, 0, stream>>>(c, b, a, s, vectors);
    break;
  }
  return cudaGetLastError();
}

extern "C" cudaError_t pd_cuda_tuned_stream(const struct pd_stream_job *job, cudaStream_t stream) {
  return job->type == POLYAD_F32 ? run<float>(job, stream) : run<double>(job, stream);
}
