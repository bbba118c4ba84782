# Flags for everything polyad compiles: warnings, sanitizers, no fast-math (subnormals and NaN
# checks must hold).
add_library(polyad_flags INTERFACE)
target_compile_definitions(polyad_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(polyad_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -fno-math-errno)
# A compiler may compute what is then not taken, and compare NaN in isfinite: nothing looks at the
# exceptions. Where they are to trap (tests/long/traps.sh) it computes what is written, no more.
option(POLYAD_TRAPS "Compile for, and test with, traps on invalid floating-point operations" OFF)
if(NOT POLYAD_TRAPS)
  target_compile_options(polyad_flags INTERFACE -fno-trapping-math)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # A loop that is not vectorised is no fault, and is the rule under sanitizers.
  target_compile_options(polyad_flags INTERFACE -Wno-pass-failed)
endif()
if(POLYAD_WARNINGS_AS_ERRORS)
  target_compile_options(polyad_flags INTERFACE -Werror)
endif()
option(POLYAD_FUZZ "Build the fuzz targets for libFuzzer (clang)" OFF)
if(POLYAD_FUZZ)
  # The fuzzer sees which code a run reaches.
  target_compile_options(polyad_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
# Hardening: what a hostile file could reach must end the process before it can do harm. Sanitizers
# bring stronger checks of their own, which FORTIFY would hide. FORTIFY needs optimisation.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
option(POLYAD_HARDENING "Stack protector, FORTIFY, read-only relocations" ON)
if(POLYAD_HARDENING AND NOT POLYAD_SANITIZE)
  foreach(flag -fstack-protector-strong -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "POLYAD_HAS${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
      target_compile_options(polyad_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:${flag}>)
    endif()
  endforeach()
  # Some distributions' compilers define a lower level of their own.
  target_compile_options(polyad_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE>
    $<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-D_FORTIFY_SOURCE=3>)
  foreach(flag relro now noexecstack)
    check_linker_flag(C LINKER:-z,${flag} POLYAD_HAS_LINKER_${flag})
    if(POLYAD_HAS_LINKER_${flag})
      add_link_options(LINKER:-z,${flag})
    endif()
  endforeach()
endif()
# For files that hold a kernel many times, once for each instruction set, type and width. Checks of
# undefined behaviour would make each of them minutes of compilation; AddressSanitizer stays.
set(POLYAD_KERNEL_OPTIONS -O3)
# For those of them that say what is to be unrolled: -O3 would make twice as much of it, no faster.
# The cost model is -O3's; clang-tidy knows it by this name alone.
set(POLYAD_UNROLLED_OPTIONS -O2 -ftree-vectorize
  $<$<C_COMPILER_ID:GNU>:-fvect-cost-model>)
if(POLYAD_HAS_fstack_protector_strong)
  # Kernels read no files: a plan has proved their indices. A canary would be paid for in every row.
  list(APPEND POLYAD_KERNEL_OPTIONS -fno-stack-protector)
endif()
if(POLYAD_SANITIZE)
  set(POLYAD_KERNEL_OPTIONS -O1)
  set(POLYAD_UNROLLED_OPTIONS)
  if(POLYAD_SANITIZE MATCHES "undefined")
    list(APPEND POLYAD_KERNEL_OPTIONS -fno-sanitize=undefined)
  endif()
  if(POLYAD_FUZZ)
    # Targets read files. Kernels, which take the build's longest minutes, run under AddressSanitizer
    # in the tests.
    list(APPEND POLYAD_KERNEL_OPTIONS -fno-sanitize=fuzzer-no-link -fno-sanitize=address)
  endif()
  target_compile_options(polyad_flags INTERFACE -fsanitize=${POLYAD_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g1) # lines, which is what reports name
  add_link_options(-fsanitize=${POLYAD_SANITIZE})
endif()
