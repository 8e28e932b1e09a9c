# What C and C++ programs find an installation by: find_package(Tidemark CONFIG) and pkg-config. All
# paths in it are relative to itself, so that it may be moved, and a wheel may carry it.

add_library(tidemark_header INTERFACE)
target_include_directories(tidemark_header INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(tidemark_header PROPERTIES EXPORT_NAME tidemark)
set(package_targets tidemark_header)
if(NOT TIDEMARK_SANITIZE)
  target_include_directories(tidemark_alloc INTERFACE $<INSTALL_INTERFACE:include>)
  set_target_properties(tidemark_alloc PROPERTIES EXPORT_NAME alloc)
  list(APPEND package_targets tidemark_alloc)
endif()
install(TARGETS ${package_targets} EXPORT tidemark_package LIBRARY DESTINATION lib)
install(EXPORT tidemark_package DESTINATION lib/cmake/Tidemark NAMESPACE Tidemark::
  FILE TidemarkTargets.cmake)

include(CMakePackageConfigHelpers)
set(made ${PROJECT_BINARY_DIR}/packaging)
# Before 1.0 a second number stands for what 1.0 calls the first.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
else()
  set(compatible SameMajorVersion)
endif()
write_basic_package_version_file(${made}/TidemarkConfigVersion.cmake COMPATIBILITY ${compatible})
install(FILES packaging/TidemarkConfig.cmake ${made}/TidemarkConfigVersion.cmake
  DESTINATION lib/cmake/Tidemark)
foreach(name tidemark tidemark-alloc)
  configure_file(packaging/${name}.pc.in ${made}/${name}.pc @ONLY)
  install(FILES ${made}/${name}.pc DESTINATION lib/pkgconfig)
endforeach()
