/* What tests ask of the CUDA and NCCL that do nothing (fake_gpu.c). */
#ifndef PD_TEST_FAKE_GPU_H
#define PD_TEST_FAKE_GPU_H

#include <cuda_runtime_api.h>

/** The one stream of a device. */
cudaStream_t fake_gpu_stream(int device);
/** Forgets all communicators and what was enqueued; nobody is in a call. */
void fake_gpu_begin(void);
/** Calls of the host that another member has left waiting, since fake_gpu_begin(). */
int fake_gpu_left(void);

/* NCCL's functions, which the code under test finds by name in the library. */
typedef struct {
  char internal[128];
} fake_ticket;
struct communicator;

int ncclGetUniqueId(fake_ticket *ticket);
int ncclCommInitRank(struct communicator **made, int size, fake_ticket ticket, int rank);
int ncclCommDestroy(struct communicator *of);
int ncclCommAbort(struct communicator *of);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclSend(const void *data, size_t count, int type, int peer, struct communicator *of,
             cudaStream_t stream);
int ncclRecv(void *data, size_t count, int type, int peer, struct communicator *of,
             cudaStream_t stream);
int ncclAllGather(const void *mine, void *all, size_t count, int type, struct communicator *of,
                  cudaStream_t stream);
const char *ncclGetErrorString(int code);

#endif
