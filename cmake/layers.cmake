# Layers as targets: a layer's objects are linked only with those of the layers it may use, so a call that crosses the
# table in CMakeLists.txt does not link.
#
#   lowtide_layer(io DEPENDS base LINK PkgConfig::liburing)
#
# makes lowtide_io from src/lowtide/io/**/*.cpp, io_test from its *_test.cpp (LOWTIDE_TESTS), and one executable for each
# *_bench.cpp (LOWTIDE_BENCHMARKS) and *_fuzz.cpp (LOWTIDE_FUZZ). A layer without sources is an empty target.

function(lowtide_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "DEPENDS;LINK")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lowtide_layer(${name}): unexpected ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(folder "${PROJECT_SOURCE_DIR}/src/lowtide/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$|/sampler/") # the sampler is a library of its own: cmake/sampler.cmake

  set(target lowtide_${name})
  if(sources)
    add_library(${target} OBJECT ${sources})
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY LOWTIDE_OBJECT_LAYERS ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${target} ${scope} lowtide_options ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY LOWTIDE_LINK ${ARG_LINK})

  # Objects do not travel through OBJECT libraries: whoever links a layer names it and all that it reaches.
  set(reach ${target})
  foreach(layer IN LISTS ARG_DEPENDS)
    if(NOT TARGET lowtide_${layer})
      message(FATAL_ERROR "lowtide_layer(${name}): ${layer} is not declared before it")
    endif()
    target_link_libraries(${target} ${scope} lowtide_${layer})
    get_property(below GLOBAL PROPERTY LOWTIDE_REACH_${layer})
    list(APPEND reach ${below})
  endforeach()
  list(REMOVE_DUPLICATES reach)
  set_property(GLOBAL PROPERTY LOWTIDE_REACH_${name} ${reach})
  set_property(GLOBAL APPEND PROPERTY LOWTIDE_LAYERS ${name})
endfunction()

function(lowtide_layer_tests name)
  set(folder "${PROJECT_SOURCE_DIR}/src/lowtide/${name}")
  get_property(reach GLOBAL PROPERTY LOWTIDE_REACH_${name})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*_test.cpp")
  if(LOWTIDE_TESTS AND sources)
    add_executable(${name}_test ${sources})
    target_link_libraries(${name}_test PRIVATE ${reach} GTest::gtest GTest::gmock GTest::gtest_main)
    if(LOWTIDE_SANITIZE MATCHES "address")
      target_sources(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/cmake/fork_under_asan.cpp")
    endif()
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS ${name} TIMEOUT 300)
  endif()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*_bench.cpp")
  if(LOWTIDE_BENCHMARKS)
    foreach(source IN LISTS sources)
      lowtide_single_source("${source}" bench "${reach}")
      target_link_libraries(${stem} PRIVATE benchmark::benchmark benchmark::benchmark_main)
    endforeach()
  endif()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*_fuzz.cpp")
  if(LOWTIDE_FUZZ)
    foreach(source IN LISTS sources)
      lowtide_single_source("${source}" fuzz "${reach}")
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
      add_dependencies(fuzz_targets ${stem})
    endforeach()
  endif()
endfunction()

# An executable named after its one source, in <build>/<folder>. Sets `stem` for the caller.
function(lowtide_single_source source folder reach)
  cmake_path(GET source STEM stem)
  add_executable(${stem} "${source}")
  target_link_libraries(${stem} PRIVATE ${reach})
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${folder}")
  set(stem ${stem} PARENT_SCOPE)
endfunction()

function(lowtide_tests)
  if(LOWTIDE_TESTS)
    find_package(GTest REQUIRED)
    include(GoogleTest)
  endif()
  if(LOWTIDE_BENCHMARKS)
    find_package(benchmark REQUIRED)
  endif()
  if(LOWTIDE_FUZZ)
    add_custom_target(fuzz_targets)
  endif()
  get_property(layers GLOBAL PROPERTY LOWTIDE_LAYERS)
  foreach(layer IN LISTS layers)
    lowtide_layer_tests(${layer})
  endforeach()
endfunction()

# The static library lowtide::lowtide, made of every layer, with its public headers and find_package() files.
function(lowtide_library)
  get_property(layers GLOBAL PROPERTY LOWTIDE_OBJECT_LAYERS)
  get_property(links GLOBAL PROPERTY LOWTIDE_LINK)
  list(REMOVE_DUPLICATES links)
  if(NOT layers)
    message(STATUS "lowtide: no layer has sources yet, so there is no library")
    return()
  endif()

  list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(lowtide STATIC ${objects})
  add_library(lowtide::lowtide ALIAS lowtide)
  target_compile_features(lowtide PUBLIC cxx_std_20)
  target_include_directories(lowtide PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                            "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(lowtide PRIVATE ${links})

  include(CMakePackageConfigHelpers)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lowtide")
  install(TARGETS lowtide EXPORT lowtide ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/lowtide" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp
          FILES_MATCHING PATTERN "*.h")
  install(EXPORT lowtide FILE lowtide-targets.cmake NAMESPACE lowtide:: DESTINATION "${package_dir}" COMPONENT cpp)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/lowtide-config.cmake.in"
                                "${PROJECT_BINARY_DIR}/lowtide-config.cmake" INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/lowtide-config-version.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/lowtide-config.cmake" "${PROJECT_BINARY_DIR}/lowtide-config-version.cmake"
          DESTINATION "${package_dir}" COMPONENT cpp)
endfunction()
