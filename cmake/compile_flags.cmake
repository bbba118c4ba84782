# Flags for everything polyad compiles: warnings, sanitizers, no fast-math (subnormals and NaN
# checks must hold).
add_library(polyad_flags INTERFACE)
target_compile_definitions(polyad_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(polyad_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -fno-math-errno -fno-trapping-math)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # A loop that is not vectorised is no fault, and is the rule under sanitizers.
  target_compile_options(polyad_flags INTERFACE -Wno-pass-failed)
endif()
if(POLYAD_WARNINGS_AS_ERRORS)
  target_compile_options(polyad_flags INTERFACE -Werror)
endif()
if(POLYAD_SANITIZE)
  target_compile_options(polyad_flags INTERFACE -fsanitize=${POLYAD_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${POLYAD_SANITIZE})
endif()
