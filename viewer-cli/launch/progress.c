#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "human.h"
#include "terminal.h"

#define FIRST_NS NS_PER_S /* a short run has no line */
#define SILENCE_NS (2 * NS_PER_S)
#define SHARED_SILENCE_NS (5 * NS_PER_S) /* among the program's own lines */
#define MOST_SILENCE_NS (300 * NS_PER_S)
#define STALE_NS (10 * NS_PER_S)

const char *const progress_choices[] = {"auto", "always", "never", NULL};

static bool same_terminal(void)
{
    struct stat out, err;
    return isatty(STDOUT_FILENO) == 1 && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

bool progress_begin(struct progress *progress, enum progress_when when)
{
    const char *terminal = getenv("TERM");
    *progress = (struct progress){0};
    if (when == PROGRESS_NEVER || isatty(STDERR_FILENO) != 1)
        return false;
    if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0)
        return false;
    progress->patient = when == PROGRESS_AUTO && same_terminal();
    progress->silence_ns = progress->patient ? SHARED_SILENCE_NS : SILENCE_NS;
    progress->stale_ns = when == PROGRESS_ALWAYS ? STALE_NS : 0;
    return true;
}

bool progress_is_due(struct progress *progress, const struct record_progress *now)
{
    if (now->written != progress->written) {
        progress->written = now->written;
        progress->quiet_ns = now->run_ns;
        progress->shown = false;
    }
    if (now->run_ns < FIRST_NS)
        return false;
    if (progress->shown || now->run_ns - progress->quiet_ns >= progress->silence_ns)
        return true;
    return progress->stale_ns && now->run_ns - progress->drawn_ns >= progress->stale_ns;
}

void progress_drew(struct progress *progress, const struct record_progress *now)
{
    if (!progress->shown && progress->patient && progress->silence_ns < MOST_SILENCE_NS)
        progress->silence_ns *= 2;
    progress->shown = true;
    progress->drawn_ns = now->run_ns;
}

static void add_count(struct buf *line, uint64_t count, const char *what)
{
    char text[HUMAN_MAX];
    buf_print(line, "  %s %s", human_count(text, count > INT64_MAX ? INT64_MAX : (int64_t)count),
              what);
}

static void add_bytes(struct buf *line, uint64_t bytes, const char *what)
{
    char text[HUMAN_MAX];
    buf_print(line, "  %s %s", what,
              human_bytes(text, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes));
}

/* 0: it does not say. */
static unsigned terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Takes back what was added since `fits` if the line has become too long; it is all ASCII. */
static bool ends_here(struct buf *line, size_t fits, unsigned width)
{
    if (line->broken || line->count < width)
        return false;
    line->count = fits;
    line->data[fits] = '\0';
    return true;
}

/* What matters most comes first, and a field that does not fit is left out with all after it. */
void progress_line(struct buf *line, const struct record_progress *now, unsigned width)
{
    char text[HUMAN_MAX];
    int64_t second = (int64_t)NS_PER_S;
    buf_print(line, "tidemark: %s", human_ns(text, (int64_t)now->run_ns / second * second));
    if (ends_here(line, 0, width))
        return;
    for (int field = 0; field < 5; field++) {
        size_t fits = line->count;
        if (field == 0)
            add_bytes(line, now->totals.allocated, "allocated");
        else if (field == 1)
            add_bytes(line, now->totals.peak_allocated, "peak");
        else if (field == 2 && now->totals.lost)
            add_count(line, now->totals.lost, "lost");
        else if (field == 3)
            add_count(line, now->totals.allocs, "blocks");
        else if (field == 4)
            add_count(line, now->totals.events, "events");
        if (ends_here(line, fits, width))
            return;
    }
}

/* The program may have left its line unfinished. So many spaces go on to the next line unless the
 * cursor is in the first column, and then they leave it where it is. */
static void begin_line(struct buf *out, unsigned width)
{
    if (width > 1)
        buf_print(out, "%*s\r", (int)width - 1, "");
}

/* One write, so that nothing of the program comes between. Where the line is replaced, the cursor
 * goes back to where it was: somebody may be typing there. */
static void put(const struct progress *progress, const struct buf *line, unsigned width)
{
    struct buf out = {0};
    if (progress->shown)
        buf_print(&out, "\0337\033[A\r\033[K%s\0338", buf_string(line));
    else {
        begin_line(&out, width);
        buf_print(&out, "%s\033[K\n", buf_string(line));
    }
    if (!out.broken)
        (void)!write(STDERR_FILENO, buf_string(&out), out.count);
    buf_clear(&out);
}

void progress_show(void *context, const struct record_progress *now)
{
    struct progress *progress = context;
    struct buf line = {0};
    /* NULL: what the program wrote last is not known any more, the line stays */
    if (!now || !progress_is_due(progress, now))
        return;
    if (!terminal_is_ours(STDERR_FILENO)) {
        progress->shown = false; /* whose line is above the cursor then, we do not know */
        return;
    }
    unsigned width = terminal_width();
    progress_line(&line, now, width ? width : 80);
    if (!line.broken) {
        put(progress, &line, width);
        progress_drew(progress, now);
    }
    buf_clear(&line);
}
