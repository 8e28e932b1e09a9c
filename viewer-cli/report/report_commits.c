/*
 * The commits of two recordings that are compared.
 */
#include <string.h>

#include "mem.h"
#include "query.h"
#include "report.h"

static int read_commit(struct report *report, char **out)
{
    char *commit = NULL;
    int err = query_first(report->db, "SELECT value AS \"commit\" FROM meta WHERE key = 'commit'",
                          Q_NOTHING, Q_OUT(Q_COPY(commit)));
    *out = commit;
    return err < 0 ? err : 0;
}

int report_note_commits(struct report *a, struct report *b)
{
    char *commits[2] = {NULL, NULL};
    int err = read_commit(a, &commits[0]);
    if (err == 0 && (err = read_commit(b, &commits[1])) < 0)
        a->at_fault = b;
    if (err == 0 && commits[0] && commits[1] && strcmp(commits[0], commits[1]) == 0)
        emit_note(&a->emit, "A and B are of commit %.100s", commits[0]);
    else if (err == 0 && (commits[0] || commits[1]))
        emit_note(&a->emit, "A is of %s%.100s, B of %s%.100s", commits[0] ? "commit " : "",
                  commits[0] ? commits[0] : "an unknown commit", commits[1] ? "commit " : "",
                  commits[1] ? commits[1] : "an unknown commit");
    mem_free(commits[0]);
    mem_free(commits[1]);
    return err;
}
