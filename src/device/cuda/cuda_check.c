/* Errors of CUDA calls. */
#include "device/cuda/cuda_state.h"

static atomic_long calls_made, call_to_fail;

long pd_module_fail_call(long call) {
  atomic_store(&call_to_fail, call);
  return atomic_exchange(&calls_made, 0);
}

bool pd_cuda_refuses(void) {
  long number = atomic_fetch_add(&calls_made, 1) + 1;
  return number == atomic_load(&call_to_fail);
}

/* After one of these every later call of the process fails too. */
static bool is_sticky(cudaError_t code) {
  switch (code) {
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchFailure:
  case cudaErrorLaunchTimeout:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorAssert:
  case cudaErrorECCUncorrectable:
  case cudaErrorNvlinkUncorrectable:
  case cudaErrorContextIsDestroyed:
    return true;
  default:
    return false;
  }
}

polyad_status pd_cuda_check(polyad_context *context, struct pd_cuda_state *state, cudaError_t code,
                            const char *call) {
  int waited = atomic_load_explicit(&state->gave_up, memory_order_relaxed);
  if (code == cudaSuccess && waited == 0) return POLYAD_OK;
  if (code == cudaSuccess)
    return pd_cuda_services->fail(context, POLYAD_DEVICE,
                                  "%s waited %d s in NCCL for another member of the team, and gave "
                                  "up (POLYAD_NCCL_TIMEOUT)",
                                  state->device.name, waited);
  (void)cudaGetLastError(); /* a plain error must not show up again at the next launch */
  const char *name = state->device.name, *text = cudaGetErrorString(code);
  if (is_sticky(code)) {
    atomic_store(&state->lost, true);
    return pd_cuda_services->fail(context, POLYAD_DEVICE_LOST,
                                  "%s is lost: %s (in %s); start a new process to use it again",
                                  name, text, call);
  }
  polyad_status status = code == cudaErrorMemoryAllocation ? POLYAD_OUT_OF_MEMORY : POLYAD_DEVICE;
  return pd_cuda_services->fail(context, status, "%s: %s (in %s)", name, text, call);
}
