# Compiler settings of every lowtide target, carried by the interface target lowtide_options.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(lowtide_options INTERFACE)
target_include_directories(lowtide_options INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(lowtide_options INTERFACE LOWTIDE_VERSION="${PROJECT_VERSION}")
target_compile_options(
  lowtide_options
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wimplicit-fallthrough
            -Wvla
            -Wundef
            $<$<BOOL:${LOWTIDE_WERROR}>:-Werror>
            $<$<CONFIG:Release>:-O3>)
# The least CPU that runs lowtide; kernels choose wider instructions at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  target_compile_options(lowtide_options INTERFACE -march=x86-64-v2)
endif()

if(LOWTIDE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LOWTIDE_FUZZ needs clang (libFuzzer); configure with: cmake --preset fuzz")
  endif()
  string(JOIN "," sanitizers fuzzer-no-link ${LOWTIDE_SANITIZE})
else()
  set(sanitizers "${LOWTIDE_SANITIZE}")
endif()
if(sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  # gcc 12 takes the inactive members of a std::variant for uninitialised reads once sanitizers keep it from inlining.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(lowtide_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
