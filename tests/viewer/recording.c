#include "recording.h"

#include <stdio.h>

#include "buf.h"
#include "test.h"

struct db *recording(const char *name)
{
    struct db *db;
    struct buf text = {0};
    char path[512], part[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/%s.sql", TEST_DATA, name);
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(&text, part, n);
    fclose(file);
    remove(test_path(name)); /* a test may want several of one kind */
    REQUIRE(db_create(&db, test_path(name)) == 0);
    REQUIRE(db_exec(db, buf_string(&text)) == 0);
    buf_clear(&text);
    return db;
}
