# Libraries that polyad stands on. Each missing one is named with its Debian package.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)

set(POLYAD_DEPENDENCIES OpenMP::OpenMP_C Threads::Threads ${CMAKE_DL_LIBS} m)
set(POLYAD_PKGCONFIG_NAMES "") # VARIABLE=module pairs, for the installed package files

macro(polyad_require variable module package)
  pkg_check_modules(${variable} QUIET IMPORTED_TARGET ${module})
  if(NOT ${variable}_FOUND)
    message(FATAL_ERROR "polyad needs ${module}: install ${package} (or run `make setup`)")
  endif()
  list(PREPEND POLYAD_DEPENDENCIES PkgConfig::${variable})
  list(APPEND POLYAD_PKGCONFIG_NAMES ${variable}=${module})
endmacro()

polyad_require(CJSON libcjson libcjson-dev)
polyad_require(XXHASH libxxhash libxxhash-dev)
polyad_require(ZSTD libzstd libzstd-dev)
polyad_require(DEFLATE libdeflate libdeflate-dev)

# What inflates .gz: src/io/inflater_NAME.c. ISA-L is about three times as fast as zlib.
option(POLYAD_ISAL "Read .gz by ISA-L where it is installed, else by zlib" ON)
if(POLYAD_ISAL)
  pkg_check_modules(ISAL QUIET libisal)
endif()
if(POLYAD_ISAL AND ISAL_FOUND)
  polyad_require(ISAL libisal libisal-dev)
  set(POLYAD_INFLATER isal)
else()
  polyad_require(ZLIB zlib zlib1g-dev)
  set(POLYAD_INFLATER zlib)
endif()

list(TRANSFORM POLYAD_PKGCONFIG_NAMES REPLACE "^.*=" "" OUTPUT_VARIABLE POLYAD_PKGCONFIG_REQUIRES)
list(JOIN POLYAD_PKGCONFIG_REQUIRES " " POLYAD_PKGCONFIG_REQUIRES)
list(JOIN POLYAD_PKGCONFIG_NAMES " " POLYAD_PKGCONFIG_NAMES)
set(POLYAD_PKGCONFIG_LIBS "${OpenMP_C_FLAGS} -lpthread -ldl -lm")
