# cmake -DOUTPUT=FILE.c -DINPUTS=a.sql|b.sql -P EmbedSql.cmake: writes the texts, one behind the
# other, as one NUL-terminated array. Bytes, because C compilers need not take a string literal that long.
# -DNAME and -DHEADER: what the array is called, and where it is declared, if it is no schema.
if(NOT DEFINED NAME)
  set(NAME schema_text)
  set(HEADER schema_text.h)
endif()
string(REPLACE "|" ";" inputs "${INPUTS}")
set(bytes "")
foreach(input IN LISTS inputs)
  file(READ "${input}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  string(APPEND bytes "${hex}\n0x0a,\n")
endforeach()
string(REGEX REPLACE "((0x..,){16})" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "(0x[89a-f].)," "(char)\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}.new"
  "/* Made by scripts/cmake/EmbedSql.cmake. */\n"
  "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${bytes}0x00};\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
