# Writes a C file with the bytes of a source whose #include "portable/..." and "engine/..." lines are
# replaced by what they name. cmake -D ROOT=folder -D FROM=file -D TO=file.c -P embed_kernels.cmake
function(expand name result)
  file(READ ${ROOT}/${name} text)
  string(REGEX MATCHALL "#include \"((portable|engine)/[^\"]*)\"" includes "${text}")
  list(REMOVE_DUPLICATES includes)
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.*)\"" "\\1" inner "${include}")
    expand(${inner} expanded)
    string(REPLACE "${include}" "${expanded}" text "${text}")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

expand(${FROM} text)
file(WRITE ${TO}.expanded "${text}")
file(READ ${TO}.expanded bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR count "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${TO} "#include <stddef.h>
extern const unsigned char pd_opencl_source[];
extern const size_t pd_opencl_source_bytes;
const unsigned char pd_opencl_source[] = {
${bytes}};
const size_t pd_opencl_source_bytes = ${count};
")
