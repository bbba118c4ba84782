# Cross-compiling for 64-bit Arm on Debian; tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
set(POLYAD_BUILD_PYTHON OFF CACHE STRING "")
# GCC 12's vectorizer fails on a test at -O3 (internal error in vect_transform_reduction).
set(CMAKE_C_FLAGS_RELEASE "-O2 -ftree-vectorize -DNDEBUG" CACHE STRING "")
