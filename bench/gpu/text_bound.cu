/* The least time in which text could reach a GPU and be looked at there: a bound for a parser on
 * the GPU, to be held against `polyad bench read`, which parses by the processors.
 *
 * usage: nvcc -O3 -arch=sm_90 -Xcompiler -fopenmp bench/gpu/text_bound.cu -o text_bound
 *        OMP_NUM_THREADS=16 ./text_bound FILE.tns [rounds]
 *
 * All threads copy the file's pages, which the page cache has, into a ring of pinned buffers, each
 * of which is sent and then read by a kernel that counts line ends, a byte a step: no parser does
 * less. One line of JSON: seconds of the fastest round, and of the same without the kernel; rates.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t BUFFER = 8 << 20;
enum { RING = 4, BLOCK = 256, BYTES_OF_THREAD = 64 };

static void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

__global__ void count_lines(const char *text, size_t size, unsigned long long *lines) {
  size_t begin = ((size_t)blockIdx.x * BLOCK + threadIdx.x) * BYTES_OF_THREAD;
  unsigned found = 0;
  for (size_t p = begin; p < begin + BYTES_OF_THREAD && p < size; ++p)
    found += text[p] == '\n';
  if (found > 0) atomicAdd(lines, found);
}

struct ring {
  char *pinned[RING], *there[RING];
  cudaEvent_t sent[RING];
  cudaStream_t stream;
  unsigned long long *lines;
};

/* Seconds of one pass over the text. */
static double pass(const struct ring *r, const char *text, size_t size, bool kernel) {
  double begin = omp_get_wtime();
  check(cudaMemsetAsync(r->lines, 0, sizeof *r->lines, r->stream));
  for (size_t at = 0, k = 0; at < size; at += BUFFER, k = (k + 1) % RING) {
    size_t part = size - at < BUFFER ? size - at : BUFFER;
    check(cudaEventSynchronize(r->sent[k]));
#pragma omp parallel
    {
      size_t threads = (size_t)omp_get_num_threads(), t = (size_t)omp_get_thread_num();
      size_t from = part * t / threads, to = part * (t + 1) / threads;
      std::memcpy(r->pinned[k] + from, text + at + from, to - from);
    }
    check(cudaMemcpyAsync(r->there[k], r->pinned[k], part, cudaMemcpyHostToDevice, r->stream));
    check(cudaEventRecord(r->sent[k], r->stream));
    size_t blocks = (part + BLOCK * BYTES_OF_THREAD - 1) / (BLOCK * BYTES_OF_THREAD);
    if (kernel) count_lines<<<(unsigned)blocks, BLOCK, 0, r->stream>>>(r->there[k], part, r->lines);
  }
  check(cudaStreamSynchronize(r->stream));
  return omp_get_wtime() - begin;
}

int main(int argc, char **argv) {
  struct stat about;
  int file = argc > 1 ? open(argv[1], O_RDONLY) : -1, rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) {
    std::fprintf(stderr, "usage: text_bound FILE.tns [rounds]\n");
    return 2;
  }
  size_t size = (size_t)about.st_size;
  const char *text = (const char *)mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  struct ring r = {};
  if (text == MAP_FAILED) return 1;
  check(cudaStreamCreate(&r.stream));
  check(cudaMalloc(&r.lines, sizeof *r.lines));
  for (int k = 0; k < RING; ++k) {
    check(cudaMallocHost(&r.pinned[k], BUFFER));
    check(cudaMalloc(&r.there[k], BUFFER));
    check(cudaEventCreate(&r.sent[k]));
  }
  double with = 1e30, without = 1e30;
  for (int k = 0; k < rounds; ++k) {
    double one = pass(&r, text, size, true), other = pass(&r, text, size, false);
    with = one < with ? one : with;
    without = other < without ? other : without;
  }
  unsigned long long lines;
  (void)pass(&r, text, size, true);
  check(cudaMemcpy(&lines, r.lines, sizeof lines, cudaMemcpyDeviceToHost));
  std::printf("{\"bytes\": %zu, \"lines\": %llu, \"threads\": %d, \"seconds\": %.4f, "
              "\"seconds_without_kernel\": %.4f, \"gigabytes_a_second\": %.2f}\n",
              size, lines, omp_get_max_threads(), with, without, (double)size / with / 1e9);
  return 0;
}
