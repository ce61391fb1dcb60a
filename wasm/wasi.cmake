# Toolchain: WebAssembly for WASI with clang. WASI_SDK_PREFIX (cache or environment) names a wasi-sdk; without it the
# compiler and libraries are Debian's clang-19, wasi-libc and libc++-19-dev-wasm32, which are wasi-sdk's parts.
if(NOT WASI_SDK_PREFIX)
  set(WASI_SDK_PREFIX "$ENV{WASI_SDK_PREFIX}")
endif()
set(WASI_SDK_PREFIX "${WASI_SDK_PREFIX}" CACHE PATH "A wasi-sdk; empty for Debian's parts of it")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WASI_SDK_PREFIX)

# Generic, since older CMakes know no WASI: the same static, host-free world.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(ROOMBOX_WASI ON)

set(wasi_target wasm32-wasi)
if(WASI_SDK_PREFIX)
  set(wasi_bin "${WASI_SDK_PREFIX}/bin/")
  set(CMAKE_SYSROOT "${WASI_SDK_PREFIX}/share/wasi-sysroot")
  set(CMAKE_CXX_COMPILER "${wasi_bin}clang++")
  set(CMAKE_AR "${wasi_bin}llvm-ar" CACHE FILEPATH "")
  set(CMAKE_RANLIB "${wasi_bin}llvm-ranlib" CACHE FILEPATH "")
  if(EXISTS "${CMAKE_SYSROOT}/lib/wasm32-wasip1") # the name that newer SDKs prefer
    set(wasi_target wasm32-wasip1)
  endif()
else()
  set(CMAKE_CXX_COMPILER clang++-19)
  set(CMAKE_AR llvm-ar-19 CACHE STRING "")
  set(CMAKE_RANLIB llvm-ranlib-19 CACHE STRING "")
endif()
set(CMAKE_CXX_COMPILER_TARGET ${wasi_target})

set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
