# The command line, bin/lowtide in the build folder: the name must not clash with the library's target.

file(GLOB cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lowtide/cli/*.cpp")
list(FILTER cli_sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
if(NOT cli_sources)
  return()
endif()

add_executable(lowtide_cli ${cli_sources})
set_target_properties(lowtide_cli PROPERTIES OUTPUT_NAME lowtide RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
# Nothing here is hot: the kernels are in the library. -O1 compiles a quarter faster, and at -O3 gcc 12 warns falsely about fmt.
set_source_files_properties(${cli_sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
target_link_libraries(lowtide_cli PRIVATE lowtide lowtide_options fmt::fmt CLI11::CLI11 nlohmann_json::nlohmann_json)

if(SKBUILD)
  install(TARGETS lowtide_cli RUNTIME DESTINATION "${SKBUILD_SCRIPTS_DIR}" COMPONENT python)
else()
  install(TARGETS lowtide_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cpp)
endif()
