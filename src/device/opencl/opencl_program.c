/* Compiling the portable kernels for an OpenCL device, each when it is first needed. */
#include "device/opencl/opencl_state.h"
#include <stdio.h>
#include <string.h>

enum { LOG_BYTES = 2048, OPTION_BYTES = 512 };

static polyad_status fail_build(polyad_context *context, const struct pd_opencl_state *state,
                                cl_program program, cl_int code) {
  char log[LOG_BYTES] = "";
  size_t bytes = 0;
  char *whole = NULL;
  if (pd_cl.clGetProgramBuildInfo(program, state->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) ==
          CL_SUCCESS &&
      pd_opencl_services->alloc(context, bytes + 1, 1, (void **)&whole) == POLYAD_OK) {
    memset(whole, 0, bytes + 1);
    (void)pd_cl.clGetProgramBuildInfo(program, state->id, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL);
    snprintf(log, sizeof log, "%s", whole);
    pd_opencl_services->free(context, whole);
  }
  for (char *c = log; *c != '\0'; ++c)
    if (*c == '\n') *c = ' ';
  return pd_opencl_services->fail(context, POLYAD_DEVICE,
                                  "%s: its compiler refuses the kernels (%d): %.400s",
                                  state->device.name, (int)code, log);
}

static polyad_status opencl_program_build(polyad_context *context, struct pd_opencl_state *state,
                                          const char *options, const char *name,
                                          cl_kernel *kernel) {
  const char *text = (const char *)pd_opencl_source;
  cl_int code;
  cl_program program =
      pd_cl.clCreateProgramWithSource(state->context, 1, &text, &pd_opencl_source_bytes, &code);
  PD_TRY(pd_opencl_check(context, state, code, "clCreateProgramWithSource"));
  code = pd_cl.clBuildProgram(program, 1, &state->id, options, NULL, NULL);
  if (code != CL_SUCCESS) {
    polyad_status status = fail_build(context, state, program, code);
    (void)pd_cl.clReleaseProgram(program);
    return status;
  }
  *kernel = pd_cl.clCreateKernel(program, name, &code);
  (void)pd_cl.clReleaseProgram(program); /* the kernel keeps it */
  return pd_opencl_check(context, state, code, "clCreateKernel");
}

polyad_status pd_opencl_rows_kernel(polyad_context *context, struct pd_opencl_state *state,
                                    const struct pd_rows_launch *launch, cl_kernel *kernel) {
  static const int inputs[PD_ROWS_CLASSES] = {0, 2, 3, 4};
  int wide = launch->type == POLYAD_F64, tile = launch->tile;
  cl_kernel *slot = &state->rows[wide][launch->what][launch->inputs_class][tile];
  char options[OPTION_BYTES];
  if (*slot == NULL) {
    snprintf(options, sizeof options,
             "-cl-std=CL1.2 -cl-mad-enable -DPD_ROWS -DPD_F64=%d -DPD_KIND=%d -DPD_INPUTS=%d "
             "-DPD_LANES=%d -DPD_VECTORS=%d -DPD_PARTIAL=%d -DPD_GROUPS=%d -DPD_VECTOR_BYTES=%d "
             "-DPD_WIDE_SUMS=%d -DPD_REUSE_ROWS=%d",
             wide, (int)launch->what, inputs[launch->inputs_class], state->lanes[tile],
             state->vectors[tile], tile == PD_ROWS_PARTIAL, state->shape.groups[tile],
             state->vector_bytes, state->is_cpu, !state->is_cpu);
    PD_TRY(opencl_program_build(context, state, options, "rows", slot));
  }
  *kernel = *slot;
  return POLYAD_OK;
}

polyad_status pd_opencl_entry_kernel(polyad_context *context, struct pd_opencl_state *state,
                                     polyad_type type, int which, cl_kernel *kernel) {
  static const char *const names[] = {"join_rows",    "zero_rows",  "sum_gains",   "stream_copy",
                                      "stream_scale", "stream_add", "stream_triad"};
  int wide = type == POLYAD_F64;
  cl_kernel *slot = &state->entries[wide][which];
  char options[OPTION_BYTES], name[32];
  if (*slot == NULL) {
    snprintf(options, sizeof options,
             "-cl-std=CL1.2 -DPD_F64=%d -DPD_LANES=1 -DPD_GROUPS=1 -DPD_VECTOR_BYTES=%d "
             "-DPD_WIDE_SUMS=0 -DPD_REUSE_ROWS=0",
             wide, state->vector_bytes);
    snprintf(name, sizeof name, "%s_%s", names[which], wide ? "f64" : "f32");
    PD_TRY(opencl_program_build(context, state, options, name, slot));
  }
  *kernel = *slot;
  return POLYAD_OK;
}
