# Which GPU architectures share their PTX. For most sources nvcc makes the same PTX whatever the
# architecture, so it is made once and assembled for each: half of the compiler's time for the CUDA
# module, and the same machine code (tests/long/cuda_steps.py compares). A source's steps are the
# architectures from which on its PTX is another; a source that is not listed is compiled for each apart,
# which is always right.
set(cuda_steps_
  alto_kernels_f32 alto_kernels_f64 cuda_apr cuda_completion_rows cuda_finish cuda_gram
  cuda_invert cuda_linalg_kernels cuda_newton cuda_residual cuda_stream cuda_svd_kernels cuda_team_kernels
  fcoo_kernels fibers_sum_f64 flycoo_paper flycoo_remap hls_kernels_f64 modecopy_paper
  nonzeros_merge portable_cuda_f32 portable_cuda_f64 ttmc_kernels)
set(cuda_steps_80
  cuda_update hls_kernels_bf16 hls_kernels_f16 hls_kernels_tf32 hls_prepare ordered_elements_f32
  ordered_elements_f64 ordered_phi_f32 ordered_phi_f64 ordered_planes_f32 ordered_planes_f64
  ordered_planes_halves)
set(cuda_steps_90
  blco_kernels coo_kernels fibers_kernels fibers_sum_f32 fwc_kernels hbcsf_kernels hicoo_kernels)
set(cuda_steps_80_90 cuda_elementwise cuda_sort)

# polyad_cuda_codes(result steps): nvcc's options that compile for POLYAD_CUDA_ARCHITECTURES, with PTX
# for later ones. Architectures share the PTX of the first of them where no step lies between. Of those
# after 90 nothing has been compared.
function(polyad_cuda_codes result steps)
  set(options)
  set(codes)
  set(architectures ${POLYAD_CUDA_ARCHITECTURES})
  list(SORT architectures COMPARE NATURAL)
  foreach(architecture IN LISTS architectures)
    set(apart TRUE)
    if(codes AND NOT steps STREQUAL "each" AND NOT architecture VERSION_GREATER 90)
      set(apart FALSE)
      foreach(step IN LISTS steps)
        if(first VERSION_LESS step AND NOT architecture VERSION_LESS step)
          set(apart TRUE)
        endif()
      endforeach()
    endif()
    if(apart)
      if(codes)
        list(APPEND options "--generate-code=arch=compute_${first},code=[${codes}]")
      endif()
      set(first ${architecture})
      set(codes sm_${architecture})
    else()
      string(APPEND codes ",sm_${architecture}")
    endif()
  endforeach()
  list(APPEND options "--generate-code=arch=compute_${first},code=[${codes},compute_${first}]")
  set(${result} "${options}" PARENT_SCOPE)
endfunction()

# polyad_cuda_architectures(target): gives each CUDA source of the target the options of its steps.
function(polyad_cuda_architectures target)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cu$")
      continue()
    endif()
    get_filename_component(stem ${source} NAME_WE)
    set(steps each)
    foreach(listed "" 80 90 80_90)
      if(stem IN_LIST cuda_steps_${listed})
        string(REPLACE _ ";" steps "${listed}")
      endif()
    endforeach()
    polyad_cuda_codes(codes "${steps}")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
      PROPERTIES COMPILE_OPTIONS "${codes}")
  endforeach()
endfunction()
