# The Python module lowtide._core with its type stub, made by nanobind from python/bindings/*.cpp.

file(GLOB binding_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/bindings/*.cpp")
if(NOT binding_sources)
  message(STATUS "lowtide: no Python bindings yet")
  return()
endif()

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
find_package(nanobind CONFIG QUIET)
if(NOT nanobind_FOUND)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
endif()

nanobind_add_module(_core NB_STATIC NB_SUPPRESS_WARNINGS ${binding_sources})
target_link_libraries(_core PRIVATE lowtide lowtide_options nlohmann_json::nlohmann_json Python::NumPy)
target_link_options(_core PRIVATE -Wl,--exclude-libs,ALL)
nanobind_add_stub(core_stub MODULE _core OUTPUT _core.pyi MARKER_FILE py.typed PYTHON_PATH "$<TARGET_FILE_DIR:_core>"
                  DEPENDS _core)

install(TARGETS _core LIBRARY DESTINATION lowtide COMPONENT python)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/_core.pyi" "${CMAKE_CURRENT_BINARY_DIR}/py.typed" DESTINATION lowtide
        COMPONENT python)
