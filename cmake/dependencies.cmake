# Libraries that polyad stands on. Each missing one is named with its Debian package.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)

function(polyad_require variable module package)
  pkg_check_modules(${variable} QUIET IMPORTED_TARGET ${module})
  if(NOT ${variable}_FOUND)
    message(FATAL_ERROR "polyad needs ${module}: install ${package} (or run `make setup`)")
  endif()
endfunction()

polyad_require(OPENBLAS openblas libopenblas-dev)
polyad_require(LAPACKE lapacke liblapacke-dev)
polyad_require(DEFLATE libdeflate libdeflate-dev)
polyad_require(ZLIB zlib zlib1g-dev)
polyad_require(ZSTD libzstd libzstd-dev)
polyad_require(XXHASH libxxhash libxxhash-dev)
polyad_require(CJSON libcjson libcjson-dev)

set(POLYAD_DEPENDENCIES OpenMP::OpenMP_C Threads::Threads PkgConfig::LAPACKE PkgConfig::OPENBLAS
  PkgConfig::ZLIB PkgConfig::ZSTD PkgConfig::XXHASH PkgConfig::CJSON ${CMAKE_DL_LIBS} m)
