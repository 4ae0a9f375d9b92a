# liblowtide_sampler.so, for LD_PRELOAD: loaded into programs of others, so it links nothing but libc.

file(GLOB sampler_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lowtide/doctor/sampler/*.cpp")
list(FILTER sampler_sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
add_library(lowtide_sampler SHARED ${sampler_sources})
target_link_libraries(lowtide_sampler PRIVATE lowtide_options ${CMAKE_DL_LIBS})
target_compile_options(lowtide_sampler PRIVATE -O2 -fno-exceptions -fno-rtti -fvisibility=hidden -fno-builtin-malloc)
target_link_options(lowtide_sampler PRIVATE -static-libgcc -Wl,--as-needed)

if(SKBUILD)
  install(TARGETS lowtide_sampler LIBRARY DESTINATION lowtide/doctor COMPONENT python)
else()
  install(TARGETS lowtide_sampler LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/lowtide/doctor" COMPONENT cpp)
endif()
