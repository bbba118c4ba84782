# Kernels that are compiled once for each of the CPU's instruction sets: STEM_plain.c, STEM_avx2.c and
# STEM_avx512.c, of which src/core/isa.c chooses one when they run. One binary thus runs on any
# processor of its architecture.
set(POLYAD_ISAS plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND POLYAD_ISAS avx2 avx512)
endif()
set(POLYAD_ISA_OPTIONS_plain)
set(POLYAD_ISA_OPTIONS_avx2 -mavx2 -mfma)
set(POLYAD_ISA_OPTIONS_avx512 -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx2 -mfma
  -mprefer-vector-width=512)

# Instruction sets that the processor of this machine lacks. Under sanitizers their kernels, which no
# test can run here, are compiled without checks: those would take a fifth of the build's time.
set(POLYAD_ISAS_ABSENT)
if(POLYAD_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  foreach(isa avx2 avx512)
    if(isa IN_LIST POLYAD_ISAS AND cpu_flags AND NOT cpu_flags MATCHES " ${isa}")
      list(APPEND POLYAD_ISAS_ABSENT ${isa})
    endif()
  endforeach()
endif()

# The last one that it has is what most tests run. Of the others accesses are checked by calls, which
# halves the time of compilation, and doubles that of the few tests that run each set.
if(POLYAD_SANITIZE)
  set(present ${POLYAD_ISAS})
  list(REMOVE_ITEM present ${POLYAD_ISAS_ABSENT})
  list(POP_BACK present)
  foreach(isa IN LISTS POLYAD_ISAS_ABSENT)
    set(POLYAD_ISA_CHECKS_${isa} -O0 -fno-sanitize=all)
  endforeach()
  foreach(isa IN LISTS present)
    if(POLYAD_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
      set(POLYAD_ISA_CHECKS_${isa} --param=asan-instrumentation-with-call-threshold=0)
    endif()
  endforeach()
endif()

# polyad_isa_sources(TARGET target STEMS stems… [OPTIONS options…]): adds the files to the target. A
# multiplication and an addition may become one fused operation: it rounds once instead of twice.
function(polyad_isa_sources)
  cmake_parse_arguments(ISA "" "TARGET" "STEMS;OPTIONS" ${ARGN})
  foreach(isa IN LISTS POLYAD_ISAS)
    foreach(stem IN LISTS ISA_STEMS)
      target_sources(${ISA_TARGET} PRIVATE ${stem}_${isa}.c)
      set_source_files_properties(${stem}_${isa}.c TARGET_DIRECTORY ${ISA_TARGET}
        PROPERTIES COMPILE_OPTIONS
        "${POLYAD_KERNEL_OPTIONS};-ffp-contract=fast;${ISA_OPTIONS};${POLYAD_ISA_OPTIONS_${isa}};${POLYAD_ISA_CHECKS_${isa}}")
    endforeach()
  endforeach()
endfunction()
