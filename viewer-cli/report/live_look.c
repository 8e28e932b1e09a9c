#include "live_look.h"

#include "human.h"
#include "workers.h"

/* Below the scopes: an empty line, and how many there are no more. */
enum { NOTE_LINES = 2 };

int live_begin(struct live_look *look, struct report *report, unsigned height, unsigned least)
{
    *look = (struct live_look){.report = report, .all = report->scope_count};
    /* The cursor stands below the last line. */
    report->emit.most_lines = height - 1;
    look->room = height - 1;
    if (look->all * least > look->room)
        look->room -= look->all > 1 ? NOTE_LINES : 0;
    size_t most = look->room / least;
    int err = workers_keep(report, most ? most : 1);
    look->kept = report->scope_count;
    return err;
}

unsigned live_lines(const struct live_look *look)
{
    return look->room / (unsigned)(look->kept ? look->kept : 1);
}

void live_scope_begin(struct live_look *look)
{
    look->mark = emit_here(&look->report->emit);
}

void live_scope_end(struct live_look *look)
{
    struct emit *emit = &look->report->emit;
    bool something = emit_here(emit).bytes > look->mark.bytes;
    if (!something)
        return;
    look->full = look->full || (look->shown && emit_lines(emit) > look->room);
    if (look->full)
        emit_back(emit, &look->mark);
    else
        look->shown++;
}

void live_end(struct live_look *look)
{
    char number[HUMAN_MAX];
    size_t left = look->all - look->kept;
    if (look->full)
        left = look->all - look->shown;
    if (left && look->shown)
        emit_note(&look->report->emit, "%s more not shown: --process, --rank or --device chooses",
                  human_count(number, (int64_t)left));
}
