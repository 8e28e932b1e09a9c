/*
 * make_seed OUT.db ROWS.sql: a recording as make_fixture makes it, in pages of 512 bytes: a small
 * file, in which one change in a thousand bytes meets something. Of rows that are called "every",
 * each table has some.
 */
#include "buf.h"
#include "db.h"
#include "fuzz.h"

static void must(struct db *db, int err)
{
    if (err < 0)
        fprintf(stderr, "make_seed: %s\n", db ? db_message(db) : db_open_message());
    MUST(err == 0);
}

static void read_file(const char *path, struct buf *text)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    MUST(file);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        buf_add(text, part, n);
    fclose(file);
    MUST(!text->broken);
}

static void must_have_every_table(struct db *db)
{
    struct db_stmt *tables, *rows;
    char query[96];
    MUST(db_prepare(db, &tables, "SELECT name FROM sqlite_schema WHERE type='table'") == 0);
    while (db_step(tables) == DB_ROW) {
        const char *name = db_column_text(tables, 0);
        snprintf(query, sizeof query, "SELECT 1 FROM %s LIMIT 1", name);
        MUST(db_prepare(db, &rows, query) == 0);
        bool any = db_step(rows) == DB_ROW;
        if (!any)
            fprintf(stderr, "make_seed: table %s has no row\n", name);
        MUST(any);
        db_finalize(rows);
    }
    db_finalize(tables);
}

int main(int argc, char **argv)
{
    struct db *db = NULL;
    struct buf text = {0};
    MUST(argc == 3);
    read_file(argv[2], &text);
    remove(argv[1]);
    must(db, db_create(&db, argv[1]));
    must(db, db_begin(db));
    must(db, db_exec(db, buf_string(&text)));
    must(db, db_commit(db));
    if (strstr(argv[2], "/every.sql"))
        must_have_every_table(db);
    must(db, db_checkpoint(db, true));
    must(db, db_single_file(db));
    must(db, db_exec(db, "PRAGMA page_size=512; VACUUM"));
    db_close(db);
    buf_clear(&text);
    return 0;
}
