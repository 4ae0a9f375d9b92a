# Sources that are compiled once for every instruction set, each time into its own namespace.
#
#   lowtide_variants(lowtide_kernels src/lowtide/kernels/strips)
#
# The baseline is the source itself, as it stands in the target; the others are files of two lines that include it.

function(lowtide_variants target folder)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  # With sanitizers gcc 12 takes a quarter of an hour over AVX-512 intrinsics at -O3.
  if(LOWTIDE_SANITIZE)
    set(level -O1)
  else()
    set(level -O3)
  endif()
  # Results must not depend on where the compiler fuses a multiplication and an addition. No one reads errno or the
  # floating point flags, which would keep sqrt, floor and comparisons from being vectorised.
  set(options ${level} -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-exceptions -Wno-psabi)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # builds these for fuzz targets only
    list(APPEND options -Wno-unknown-pragmas -Wno-bitwise-instead-of-logical -Wno-c99-extensions)
  endif()
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${options}")

  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    return()
  endif()
  target_compile_definitions(${target} PRIVATE LOWTIDE_VARIANTS)
  set(avx2 -march=x86-64-v3)
  # gcc 12's own intrinsics make undefined registers of uninitialised variables.
  set(avx512 -march=x86-64-v4 -mprefer-vector-width=512 -Wno-uninitialized
             $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  foreach(arch avx2 avx512)
    foreach(source IN LISTS sources)
      cmake_path(GET source FILENAME name)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE include)
      set(variant "${PROJECT_BINARY_DIR}/variants/${arch}/${name}")
      file(CONFIGURE OUTPUT "${variant}" CONTENT "#define LOWTIDE_ARCH ${arch}\n#include \"${include}\"\n")
      set_source_files_properties("${variant}" PROPERTIES COMPILE_OPTIONS "${options};${${arch}}")
      target_sources(${target} PRIVATE "${variant}")
    endforeach()
  endforeach()
endfunction()
