# Target `compat`: what lets the command, built here, start on a host with glibc 2.28. Linked by
# executables that we ship, and by nothing else. On other processors, and under sanitizers, whose
# runtimes wrap the same names and need a new glibc anyway, it is empty.

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT TIDEMARK_SANITIZE)
  set(compat_list ${CMAKE_CURRENT_LIST_DIR}/compat.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${compat_list})
  file(STRINGS ${compat_list} compat_lines REGEX "^COMPAT_OLD\\(")
  set(compat_wraps __libc_start_main stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64)
  foreach(line IN LISTS compat_lines)
    string(REGEX REPLACE "^COMPAT_OLD\\(([a-z_0-9]+), .*" "\\1" name "${line}")
    list(APPEND compat_wraps ${name})
  endforeach()
  list(TRANSFORM compat_wraps PREPEND "LINKER:--wrap=")

  # Objects, not an archive: SQLite's calls are seen after an archive would have been searched.
  add_library(compat OBJECT compat_old.c compat_stat.c compat_start.c)
  set_target_properties(compat PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(compat PRIVATE tidemark_options)
  target_link_options(compat INTERFACE ${compat_wraps} LINKER:--gc-sections)
  # By their file names: the development packages of glibc >= 2.34 have no links to them any more.
  target_link_libraries(compat INTERFACE
    -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -l:libm.so.6 -Wl,--pop-state)
else()
  add_library(compat INTERFACE)
endif()
