# One static library for each folder. A folder sees its own headers and those of the folders that it
# names in DEPS, and no others: a forbidden include fails to compile.

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

# tidemark_library(NAME SOURCES ... DEPS ...): target NAME from the current folder.
function(tidemark_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE tidemark_options PUBLIC ${ARG_DEPS})
endfunction()

# tidemark_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT n] [ARGS ...]): a program on
# tests/support, run by ctest. NAME is also the name of the executable.
function(tidemark_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tidemark_options test_support ${ARG_DEPS})
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT}
    LABELS "${ARG_LABELS}")
endfunction()
