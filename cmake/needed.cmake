# What lowtide is built with, found or refused in one message that says what to install.

set(packages "build-essential cmake ninja-build pkg-config liburing-dev libfmt-dev libcli11-dev nlohmann-json3-dev libxsimd-dev")
macro(lowtide_refuse missing)
  message(FATAL_ERROR "lowtide is built from C++20 sources, and this machine lacks: ${missing}.\n"
                      "On Debian or Ubuntu: apt-get install ${packages}\n"
                      "Elsewhere: the same under your system's names. Or install a wheel, which needs none of them.")
endmacro()

# Before project(), whose own words do not say what to install.
macro(lowtide_need_compiler)
  if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
    find_program(LOWTIDE_COMPILER NAMES c++ g++ clang++)
    if(NOT LOWTIDE_COMPILER)
      lowtide_refuse("a C++ compiler")
    endif()
  endif()
endmacro()

macro(lowtide_need_libraries)
  set(missing "")
  find_package(Threads REQUIRED)
  foreach(library fmt CLI11 nlohmann_json xsimd)
    find_package(${library} QUIET)
    if(NOT ${library}_FOUND)
      list(APPEND missing ${library})
    endif()
  endforeach()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(liburing QUIET IMPORTED_TARGET liburing)
  endif()
  if(NOT liburing_FOUND)
    list(APPEND missing liburing)
  endif()
  if(missing)
    list(JOIN missing ", " missing)
    lowtide_refuse("${missing}")
  endif()
endmacro()

# The module and the command run where no library of the build is: fmt is compiled in, the rest linked in.
macro(lowtide_link_statically)
  find_library(LOWTIDE_URING_ARCHIVE NAMES liburing.a REQUIRED)
  set_target_properties(PkgConfig::liburing PROPERTIES INTERFACE_LINK_LIBRARIES "${LOWTIDE_URING_ARCHIVE}")
  add_compile_definitions(FMT_HEADER_ONLY)
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed)
endmacro()
