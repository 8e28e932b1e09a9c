# One static library for each folder. It sees its own headers and those of the folders that it names
# in DEPS, and no others: a forbidden include fails to compile. DEPS are private for that: who links
# a library links what is below it too, but sees of it the one folder only. What a folder may see is
# written down in tests/lint/rooms.txt, and tried by its neighbours.

set(TIDEMARK_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2)

add_library(tidemark_options INTERFACE)
target_compile_options(tidemark_options INTERFACE ${TIDEMARK_WARNINGS}
  $<$<BOOL:${TIDEMARK_WERROR}>:-Werror> -fno-common)
target_compile_definitions(tidemark_options INTERFACE _GNU_SOURCE TIDEMARK_VERSION="${PROJECT_VERSION}")
if(TIDEMARK_SANITIZE)
  target_compile_options(tidemark_options INTERFACE -fsanitize=${TIDEMARK_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tidemark_options INTERFACE -fsanitize=${TIDEMARK_SANITIZE})
endif()
if(TIDEMARK_FUZZ)
  target_compile_options(tidemark_options INTERFACE -fsanitize=fuzzer-no-link)
  target_compile_definitions(tidemark_options INTERFACE TIDEMARK_ENSURE_ALWAYS)
endif()

# tidemark_library(NAME SOURCES ... DEPS ... [LINKS ...]): target NAME from the current folder. LINKS
# are linked and not seen.
function(tidemark_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE tidemark_options ${ARG_DEPS})
  foreach(link IN LISTS ARG_LINKS)
    set_property(TARGET ${name} APPEND PROPERTY INTERFACE_LINK_LIBRARIES $<LINK_ONLY:${link}>)
  endforeach()
endfunction()

# Tests see every room, whatever they link. Behind all that they name themselves, and the lowest room
# first: some have headers of the same names, and those of samples/ are not looked for.
add_library(tidemark_headers INTERFACE)
file(STRINGS ${PROJECT_SOURCE_DIR}/tests/lint/rooms.txt tidemark_rooms REGEX "^[a-z]")
foreach(room IN LISTS tidemark_rooms)
  string(REGEX REPLACE "[ :].*" "" room ${room})
  if(NOT room STREQUAL "samples")
    target_include_directories(tidemark_headers INTERFACE ${PROJECT_SOURCE_DIR}/${room})
  endif()
endforeach()

# tidemark_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT n] [ARGS ...]): a program on
# tests/support, run by ctest. NAME is also the name of the executable.
function(tidemark_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tidemark_options test_support ${ARG_DEPS}
    tidemark_headers)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT}
    LABELS "${ARG_LABELS}")
endfunction()

# tidemark_tests_ask(): the tests that this folder has so far run with the second level of asserts
# (base/ensure.h).
function(tidemark_tests_ask)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT TIDEMARK_ASSERTS=full)
endfunction()

# tidemark_takes_long(NAME ...): tests that the default run leaves out for their time, and .ci/run has.
function(tidemark_takes_long)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS long)
endfunction()

# tidemark_test_long(NAME [ENV ...]): the same program once more, in its long form (test_is_long).
function(tidemark_test_long name)
  add_test(NAME ${name}_long COMMAND ${name})
  set_tests_properties(${name}_long PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 7200 LABELS slow
    ENVIRONMENT "TIDEMARK_TEST_LONG=1;${ARGN}")
endfunction()
