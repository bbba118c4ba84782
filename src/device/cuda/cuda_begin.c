/* Making the driver's context of a GPU takes a tenth of a second, and pinning the memory of
 * transfers a fiftieth. A thread does both as soon as the GPU is chosen, while the program reads
 * its tensor; whoever enters the device before that has ended waits in the driver. A process must
 * not end while the thread is in the driver, which the end takes to pieces: it is joined first. */
#include "device/cuda/cuda_copy.h"
#include <stdlib.h>

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER; /* guards what is below */
static struct pd_cuda_state *begun[PD_MODULE_DEVICES];
static pthread_t threads[PD_MODULE_DEVICES];
static int begun_count;

/* Errors are found again, and reported, by the first call that needs the device. */
static void *make_driver_context(void *user) {
  struct pd_cuda_state *state = user;
  state->begun = cudaSetDevice(state->device.index) == cudaSuccess;
  if (!state->begun) return NULL;
  pthread_mutex_lock(&state->lock);
  if (pd_cuda_pin_staging(state) != cudaSuccess) state->pinned = NULL;
  pthread_mutex_unlock(&state->lock);
  return NULL;
}

void pd_cuda_begin(const struct pd_device *device) {
  struct pd_cuda_state *state = pd_cuda_state_of(device);
  static bool promised;
  pthread_mutex_lock(&beginning);
  bool known = false;
  for (int k = 0; k < begun_count; ++k)
    known = known || begun[k] == state;
  if (!promised) promised = atexit(pd_cuda_end_beginning) == 0;
  if (!known && promised &&
      pthread_create(&threads[begun_count], NULL, make_driver_context, state) == 0)
    begun[begun_count++] = state;
  pthread_mutex_unlock(&beginning);
}

void pd_cuda_end_beginning(void) {
  static int joined;
  pthread_mutex_lock(&beginning);
  for (; joined < begun_count; ++joined)
    (void)pthread_join(threads[joined], NULL);
  pthread_mutex_unlock(&beginning);
}
