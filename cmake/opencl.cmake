# Whether to build the OpenCL module. auto: where OpenCL's headers are found; the library itself is
# looked for when the module is loaded. Not with sanitizers: drivers are full of what they find.
set(POLYAD_OPENCL "auto" CACHE STRING "Build the OpenCL module: auto, on or off")
set(POLYAD_HAS_OPENCL FALSE)
if(NOT POLYAD_OPENCL STREQUAL "off" AND NOT CMAKE_CROSSCOMPILING AND NOT POLYAD_SANITIZE)
  find_path(OPENCL_HEADERS CL/cl.h HINTS /usr/local/cuda/include
    /usr/local/cuda/targets/x86_64-linux/include)
  if(OPENCL_HEADERS)
    set(POLYAD_HAS_OPENCL TRUE)
  elseif(POLYAD_OPENCL STREQUAL "on")
    message(FATAL_ERROR "POLYAD_OPENCL is on, but CL/cl.h was not found: install opencl-headers")
  endif()
endif()
