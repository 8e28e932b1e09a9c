# Targets `compat` and `compat_library`: what lets the command, built here, start on a host with glibc
# 2.28, and the rehearsal's library be loaded there. Linked by executables that we ship, and by that
# library. On other processors, and under sanitizers, whose runtimes wrap the same names and need a
# new glibc anyway, they are empty.

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT TIDEMARK_SANITIZE)
  set(compat_list ${CMAKE_CURRENT_LIST_DIR}/compat.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${compat_list})
  file(STRINGS ${compat_list} compat_lines REGEX "^COMPAT_OLD\\(")
  set(compat_wraps stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64)
  foreach(line IN LISTS compat_lines)
    string(REGEX REPLACE "^COMPAT_OLD\\(([a-z_0-9]+), .*" "\\1" name "${line}")
    list(APPEND compat_wraps ${name})
  endforeach()
  list(TRANSFORM compat_wraps PREPEND "LINKER:--wrap=")

  # By their file names: the development packages of glibc >= 2.34 have no links to them any more.
  set(compat_shells
    -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -l:libm.so.6 -Wl,--pop-state)

  # Objects, not an archive: SQLite's calls are seen after an archive would have been searched.
  add_library(compat_library OBJECT compat_old.c compat_stat.c)
  add_library(compat OBJECT compat_old.c compat_stat.c compat_start.c)
  foreach(target compat compat_library)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_link_libraries(${target} PRIVATE tidemark_options INTERFACE ${compat_shells})
    target_link_options(${target} INTERFACE ${compat_wraps} LINKER:--gc-sections)
  endforeach()
  target_link_options(compat INTERFACE LINKER:--wrap=__libc_start_main)
else()
  add_library(compat INTERFACE)
  add_library(compat_library INTERFACE)
endif()
