/* Four bugs, one for each tool of compute-sanitizer: a tool that lets its bug pass would let
 * polyad's pass too. tests/gpu/sanitize.sh runs each and expects a report. And two programs without
 * a bug: `none`, and `loop`, whose kernel the loop of a graph starts, as iterations of CP-APR are.
 * usage: planted_bugs bounds | uninitialised | race | barrier | none | loop */
#include <cstdio>
#include <cstring>

enum { THREADS = 128 };

/* Elements, 1 GiB: there is nothing of this program so far from its arrays. */
static const size_t FAR_BEHIND = (size_t)1 << 28;

/* memcheck: far behind the array. One element behind it is where the next allocation begins, since
 * the driver puts small ones side by side, and that is no error that a tool could see. */
__global__ void read_behind(const float *data, size_t behind, float *out) {
  const volatile float *there = data + behind; /* the read may not be left out */
  out[threadIdx.x] = there[threadIdx.x];
}

/* initcheck: sums an array that nobody wrote to. */
__global__ void add_one(const float *data, float *out) {
  out[threadIdx.x] = data[threadIdx.x] + 1.0f;
}

/* racecheck: neighbours in shared memory without a barrier between write and read. */
__global__ void swap_neighbours(float *out) {
  __shared__ float shared[THREADS];
  shared[threadIdx.x] = (float)threadIdx.x;
  out[threadIdx.x] = shared[(threadIdx.x + 33) % THREADS];
}

/* synccheck: lane 16 waits in a barrier of the lanes below it. That half of a block never comes to
 * __syncthreads() would be no report: the barrier counts threads that have ended as arrived. */
__global__ void meet_wrongly(float *out) {
  unsigned lane = threadIdx.x % 32, lower = __ballot_sync(0xffffffffu, lane < 16);
  if (lane <= 16) {
    out[threadIdx.x] = 1.0f;
    __syncwarp(lower);
    out[threadIdx.x] += 1.0f;
  }
}

#if CUDART_VERSION >= 12040
/* Every thread of the block comes to every barrier. */
__global__ void turn(float *data) {
  __shared__ float shared[THREADS];
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[(threadIdx.x + 33) % THREADS];
}

/* Ends the loop after three rounds, which out[0] counts. */
__global__ void count_round(cudaGraphConditionalHandle handle, float *out) {
  out[0] += 1.0f;
  cudaGraphSetConditional(handle, out[0] < 3.0f);
}

/* A graph of a loop, and nothing else, whose body is turn() and count_round(). */
static cudaError_t make_loop(float *data, float *out, cudaStream_t stream, cudaGraphExec_t *loop) {
  cudaGraph_t graph, body;
  cudaGraphNode_t node;
  cudaGraphNodeParams params = {};
  cudaError_t error = cudaGraphCreate(&graph, 0);
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  if (error == cudaSuccess)
    error = cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 1,
                                             cudaGraphCondAssignDefault);
#if CUDART_VERSION >= 13000
  if (error == cudaSuccess) error = cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params);
#else
  if (error == cudaSuccess) error = cudaGraphAddNode(&node, graph, nullptr, 0, &params);
#endif
  if (error != cudaSuccess) return error;
  body = params.conditional.phGraph_out[0];
  error = cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                        cudaStreamCaptureModeThreadLocal);
  turn<<<1, THREADS, 0, stream>>>(data);
  count_round<<<1, 1, 0, stream>>>(params.conditional.handle, out);
  if (error == cudaSuccess) error = cudaStreamEndCapture(stream, &body);
  return error == cudaSuccess ? cudaGraphInstantiate(loop, graph, 0) : error;
}

static int run_loop(float *data, float *out) {
  cudaStream_t stream;
  cudaGraphExec_t loop;
  float rounds = 0;
  cudaError_t error = cudaStreamCreate(&stream);
  if (error == cudaSuccess) error = make_loop(data, out, stream, &loop);
  if (error == cudaSuccess) error = cudaGraphLaunch(loop, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error == cudaSuccess) error = cudaMemcpy(&rounds, out, sizeof rounds, cudaMemcpyDefault);
  if (error != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error == cudaSuccess && rounds == 3.0f ? 0 : 1;
}
#else
static int run_loop(float *, float *) { return 0; }
#endif

int main(int count, char **arguments) {
  const char *bug = count == 2 ? arguments[1] : "";
  float *data, *out;
  if (cudaMalloc(&data, THREADS * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&out, THREADS * sizeof(float)) != cudaSuccess) {
    fprintf(stderr, "no device memory: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 2;
  }
  cudaMemset(out, 0, THREADS * sizeof(float));
  if (strcmp(bug, "uninitialised") != 0) cudaMemset(data, 0, THREADS * sizeof(float));
  if (strcmp(bug, "loop") == 0) return run_loop(data, out);
  if (strcmp(bug, "bounds") == 0)
    read_behind<<<1, THREADS>>>(data, FAR_BEHIND, out);
  else if (strcmp(bug, "uninitialised") == 0 || strcmp(bug, "none") == 0)
    add_one<<<1, THREADS>>>(data, out);
  else if (strcmp(bug, "race") == 0)
    swap_neighbours<<<1, THREADS>>>(out);
  else if (strcmp(bug, "barrier") == 0)
    meet_wrongly<<<1, THREADS>>>(out);
  else
    return 2;
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(error));
  cudaFree(data);
  cudaFree(out);
  return error == cudaSuccess ? 0 : 1;
}
