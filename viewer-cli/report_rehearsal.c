/* What a report says first where no GPU was there: a rehearsal's numbers come from stand-ins. */
#include "report_parts.h"

static int read_gpu(struct report *report, struct db_stmt **stmt)
{
    int err = db_prepare(report->db, stmt, "SELECT value FROM meta WHERE key = 'rehearsal'");
    return err < 0 ? err : db_step(*stmt);
}

int report_say_rehearsed(struct report *report, struct emit *emit, const char *whose)
{
    struct db_stmt *stmt = NULL;
    int err = read_gpu(report, &stmt);
    if (err == DB_ROW && emit->format == EMIT_TABLE)
        emit_line(emit, "%srehearsed without a GPU, as on %s", whose, db_column_text(stmt, 0));
    else if (err == DB_ROW)
        emit_warning(emit, "%srehearsed without a GPU, as on %s", whose, db_column_text(stmt, 0));
    db_finalize(stmt);
    return err < 0 ? err : 0;
}
