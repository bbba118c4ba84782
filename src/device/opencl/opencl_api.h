/* The functions of OpenCL that polyad calls, found at run time: a build needs OpenCL's headers
 * only, and the machine that runs it any of the usual loaders. */
#ifndef PD_OPENCL_API_H
#define PD_OPENCL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

#define PD_OPENCL_FUNCTIONS(item)                                                                  \
  item(clGetPlatformIDs) item(clGetPlatformInfo) item(clGetDeviceIDs) item(clGetDeviceInfo)        \
      item(clCreateContext) item(clReleaseContext) item(clCreateCommandQueue)                      \
          item(clReleaseCommandQueue) item(clCreateBuffer) item(clReleaseMemObject)                \
              item(clGetMemObjectInfo) item(clEnqueueReadBuffer) item(clEnqueueWriteBuffer)        \
                  item(clEnqueueCopyBuffer) item(clEnqueueFillBuffer) item(clFinish) item(clFlush) \
                      item(clCreateProgramWithSource) item(clBuildProgram)                         \
                          item(clGetProgramBuildInfo) item(clReleaseProgram) item(clCreateKernel)  \
                              item(clReleaseKernel) item(clSetKernelArg)                           \
                                  item(clEnqueueNDRangeKernel) item(clEnqueueMarkerWithWaitList)   \
                                      item(clWaitForEvents) item(clGetEventProfilingInfo)          \
                                          item(clReleaseEvent)

struct pd_opencl_api {
#define PD_OPENCL_MEMBER(name) __typeof__(&name) name;
  PD_OPENCL_FUNCTIONS(PD_OPENCL_MEMBER)
#undef PD_OPENCL_MEMBER
};

extern struct pd_opencl_api pd_cl;

/** Loads OpenCL; on failure false and why. */
bool pd_opencl_load(char *why_not, size_t size);

#endif
