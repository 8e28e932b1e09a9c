#include "emit_case.h"

#include <stdio.h>

#include "test.h"

char *emit_case_finish(struct emit *emit, int *result)
{
    static char text[1 << 20];
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    *result = emit_finish(emit, file);
    rewind(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}
