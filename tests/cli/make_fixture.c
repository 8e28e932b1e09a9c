/*
 * make_fixture OUT.db ROWS.sql...: a recording for the golden tests, made from SQL text as the
 * recorder would leave it: the schema of this build, one file, no log.
 */
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "db.h"
#include "error.h"

static int read_file(const char *path, struct buf *text)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    if (!file)
        return ERR_NOTFOUND;
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(text, part, n);
    fclose(file);
    return text->broken ? ERR_NOMEM : 0;
}

static int failed(const char *path, const char *why)
{
    fprintf(stderr, "make_fixture: %s: %s\n", path, why);
    return 99;
}

int main(int argc, char **argv)
{
    struct db *db;
    if (argc < 2)
        return failed("usage", "make_fixture OUT.db ROWS.sql...");
    if (db_create(&db, argv[1]) < 0)
        return failed(argv[1], db_open_message());
    for (int i = 2; i < argc; i++) {
        struct buf text = {0};
        int err = read_file(argv[i], &text);
        if (err < 0)
            return failed(argv[i], base_err_text(err));
        if (db_exec(db, "BEGIN") < 0 || db_exec(db, buf_string(&text)) < 0 || db_commit(db) < 0)
            return failed(argv[i], db_message(db));
        buf_clear(&text);
    }
    if (db_checkpoint(db, true) < 0 || db_single_file(db) < 0)
        return failed(argv[1], db_message(db));
    db_close(db);
    return 0;
}
