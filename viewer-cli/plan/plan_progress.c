/* plan_progress.c - what a plan says on stderr while it works: a line for each try and, on a
 * terminal, one below them that says what runs. See plan.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "emit_text.h"
#include "human.h"
#include "plan.h"
#include "terminal.h"

#define DRAW_NS (NS_PER_S / 2)
#define WORDS_MOST 200u /* columns */

static struct {
    bool terminal;
    uint64_t drawn_ns;
} screen;

static unsigned terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* The line is replaced where it stands; the cursor stays at its beginning. */
static void draw(void *context, const struct plan_run *run)
{
    const struct plan *plan = context;
    struct buf line = {0};
    char took[HUMAN_MAX];
    uint64_t now = clock_now_ns();
    if (now - screen.drawn_ns < DRAW_NS || !terminal_is_ours(STDERR_FILENO))
        return;
    screen.drawn_ns = now;
    int64_t seconds = (int64_t)((now - run->began_ns) / NS_PER_S * NS_PER_S);
    buf_print(&line, "tidemark: try %zu: ", plan->try_count);
    emit_put_safe(&line, run->name, strlen(run->name));
    buf_print(&line, "%s%s ...", *run->name ? ", " : "", human_ns(took, seconds));
    if (!line.broken)
        fprintf(stderr, "%.*s\033[K\r", (int)emit_fit(line.data, line.count, terminal_width() - 1),
                line.data);
    buf_clear(&line);
}

void plan_progress_begin(struct plan *plan)
{
    const char *terminal = getenv("TERM");
    screen.terminal =
        isatty(STDERR_FILENO) == 1 && terminal && *terminal && strcmp(terminal, "dumb") != 0;
    plan->run.context = plan;
    plan->run.wait = screen.terminal ? draw : NULL;
}

static void put_memory(const struct plan_seen *seen, struct buf *line)
{
    char bytes[HUMAN_MAX];
    if (!seen->found)
        return;
    buf_print(line, ": %s allocated", human_bytes(bytes, seen->allocated));
    if (seen->reserved != SEEN_NONE)
        buf_print(line, ", %s reserved", human_bytes(bytes, seen->reserved));
    if (seen->asked != SEEN_NONE)
        buf_print(line, ", %s more refused", human_bytes(bytes, seen->asked));
}

void plan_progress_try(struct plan *plan, const struct plan_try *it)
{
    struct buf line = {0};
    char text[HUMAN_MAX];
    bool recorded = it->card == PLAN_NONE && it->result == TRY_FITS;
    if (plan->several && it->card != PLAN_NONE)
        buf_print(&line, "%s%s", plan->cards[it->card].gpu, *it->name ? ", " : "");
    emit_put_safe(&line, it->name, strlen(it->name));
    buf_print(&line, "%s%s", line.count ? " " : "",
              recorded ? "recorded" : try_result_text(it->result));
    if (it->result == TRY_FAILED) {
        plan_try_status(it, text, sizeof text);
        buf_print(&line, ", %s", text);
    } else if (it->result != TRY_LEFT && it->result != TRY_UNUSED) {
        put_memory(&it->seen, &line);
    }
    if (it->result == TRY_FAILED && it->words) {
        buf_text(&line, ": ");
        emit_put_safe(&line, it->words, emit_fit(it->words, strlen(it->words), WORDS_MOST));
    }
    if (!line.broken)
        fprintf(stderr, "%stidemark: %s (%s)\n", screen.terminal ? "\033[K" : "", buf_string(&line),
                human_ns(text, it->took_ns));
    buf_clear(&line);
}
