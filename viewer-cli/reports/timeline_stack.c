#include "timeline_stack.h"

#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "human.h"
#include "mem.h"
#include "query.h"

#define LAST (PURPOSES - 1u) /* all processes for which there is no letter of their own */
#define NAME 48

/* Something that changed: what a process has from then on, or what the device has in use. */
struct change {
    int64_t at_ns, bytes;
    size_t scope; /* its index in the report; SIZE_MAX: the device itself */
};

struct stack {
    struct report *report;
    const struct report_scope *of; /* the device is that of this scope */
    struct change *changes;        /* in the order of time */
    size_t count, cap;
    int64_t *live; /* of each scope */
    int64_t used;  /* COURSE_NONE: not sampled yet */
    struct course course;
    char names[PURPOSES][NAME];
    struct plot_parts parts;
};

/* Process 0: the device itself. A row of the timeline stands at the end of what it sums up, which
 * may lie behind the end of its process. */
static const char changes_sql[] =
    "SELECT process, at_ns, bytes FROM ("
    " SELECT t.process AS process, min(t.at_ns, coalesce(p.end_ns, t.at_ns)) AS at_ns,"
    "        t.allocated AS bytes, 0 AS ends"
    "   FROM timeline t JOIN process p ON p.id = t.process WHERE t.device = ?1"
    " UNION ALL SELECT id, end_ns, 0, 1 FROM process WHERE end_ns IS NOT NULL"
    " UNION ALL SELECT 0, at_ns, value, 0 FROM sample WHERE device = ?2 AND what = 'device used')"
    " WHERE at_ns IS NOT NULL AND bytes IS NOT NULL ORDER BY at_ns, ends";

/* ---- what happened ---- */

static size_t scope_of(const struct stack *stack, int64_t process)
{
    const struct report *report = stack->report;
    size_t i = 0;
    while (i < report->scope_count && (report->scopes[i].device != stack->of->device ||
                                       report->scopes[i].process.id != process))
        i++;
    return i;
}

static int add_change(struct stack *stack, int64_t process, int64_t at_ns, int64_t bytes)
{
    size_t scope = process == 0 ? SIZE_MAX : scope_of(stack, process);
    if (scope == stack->report->scope_count)
        return 0;
    if (!MEM_GROW(stack->changes, stack->cap, stack->count + 1))
        return ERR_NOMEM;
    stack->changes[stack->count++] = (struct change){at_ns, bytes, scope};
    return 0;
}

static int read_changes(struct stack *stack)
{
    int64_t process, at_ns, bytes;
    struct query query =
        query_ask(stack->report->db, changes_sql, Q_IN(stack->of->device_text, stack->of->device),
                  Q_OUT(Q_INT(process), Q_INT(at_ns), Q_INT(bytes)));
    while (query_next(&query))
        query_fail(&query, add_change(stack, process, at_ns, bytes));
    return query_end(&query);
}

/* ---- columns ---- */

static unsigned letter_of(const struct stack *stack, size_t scope)
{
    unsigned letter = 0;
    for (size_t i = 0; i < scope; i++)
        letter += stack->report->scopes[i].device == stack->of->device;
    return letter < LAST ? letter : LAST;
}

static int64_t sum_of(const struct stack *stack)
{
    int64_t sum = 0;
    for (size_t i = 0; i < stack->report->scope_count; i++)
        sum += stack->live[i];
    return sum;
}

/* What there is now becomes the column's, if it is more than what it has. */
static void see(struct stack *stack, unsigned at)
{
    struct course_column *column = &stack->course.columns[at];
    int64_t sum = sum_of(stack);
    column->last = sum;
    column->min = sum < column->min ? sum : column->min;
    if (stack->used > column->reserved_max)
        column->reserved_min = column->reserved_max = stack->used;
    if (sum <= column->max)
        return;
    column->max = sum;
    for (unsigned i = 0; i < PURPOSES; i++)
        column->bytes[i] = 0;
    for (size_t i = 0; i < stack->report->scope_count; i++)
        column->bytes[letter_of(stack, i)] += stack->live[i];
    if (sum > stack->course.peak) {
        stack->course.peak = sum;
        stack->course.peak_at = at;
    }
}

static void begin_column(struct stack *stack, unsigned at)
{
    struct course *course = &stack->course;
    struct course_column *column = &course->columns[at];
    int64_t span = course->until_ns - course->from_ns;
    column->from_ns = course->from_ns + (int64_t)((double)span * at / course->count);
    column->until_ns = course->from_ns + (int64_t)((double)span * (at + 1) / course->count);
    column->step = column->reserved_min = column->reserved_max = COURSE_NONE;
    column->max = -1;
    column->first = column->min = sum_of(stack);
    see(stack, at);
}

static void lay(struct stack *stack)
{
    struct course *course = &stack->course;
    size_t next = 0;
    for (unsigned at = 0; at < course->count; at++) {
        begin_column(stack, at);
        int64_t until = at + 1 < course->count ? course->columns[at].until_ns : INT64_MAX;
        for (; next < stack->count && stack->changes[next].at_ns < until; next++) {
            const struct change *change = &stack->changes[next];
            if (change->scope == SIZE_MAX)
                stack->used = change->bytes;
            else
                stack->live[change->scope] = change->bytes;
            see(stack, at);
        }
        if (course->columns[at].reserved_max > course->reserved_peak)
            course->reserved_peak = course->columns[at].reserved_max;
    }
    course->reserved_known = course->reserved_peak != COURSE_NONE;
}

static int make_course(struct stack *stack, unsigned columns)
{
    struct course *course = &stack->course;
    *course = (struct course){.count = columns,
                              .categories = true,
                              .from_ns = stack->changes[0].at_ns,
                              .until_ns = stack->changes[stack->count - 1].at_ns + 1,
                              .peak_step = COURSE_NONE,
                              .reserved_peak = COURSE_NONE};
    stack->used = COURSE_NONE;
    course->columns = mem_alloc(columns, sizeof *course->columns);
    stack->live = mem_alloc(stack->report->scope_count, sizeof *stack->live);
    return course->columns && stack->live ? 0 : ERR_NOMEM;
}

/* ---- the picture ---- */

static void name_parts(struct stack *stack)
{
    const struct report *report = stack->report;
    for (size_t i = 0; i < report->scope_count; i++) {
        const struct report_process *process = &report->scopes[i].process;
        if (report->scopes[i].device != stack->of->device)
            continue;
        unsigned letter = letter_of(stack, i);
        if (letter == LAST)
            snprintf(stack->names[letter], NAME, "the others");
        else if (process->rank == REPORT_ANY)
            snprintf(stack->names[letter], NAME, "process %" PRId64 " (pid %" PRId64 ")",
                     process->id, process->pid);
        else
            snprintf(stack->names[letter], NAME, "process %" PRId64 " (rank %" PRId64 ")",
                     process->id, process->rank);
        stack->parts.names[letter] = stack->names[letter];
    }
    stack->parts.line = "device used";
}

static int draw(struct stack *stack, const struct plot_style *style)
{
    struct emit *emit = &stack->report->emit;
    struct buf text = {0};
    int err = read_changes(stack);
    if (err < 0 || stack->count == 0)
        return err;
    err = make_course(stack, plot_columns(style));
    if (err < 0)
        return err;
    lay(stack);
    name_parts(stack);
    if (stack->course.peak > 0) {
        emit_heading(emit, "All processes on %s over time", stack->of->device_text);
        plot_stack(&stack->course, &stack->parts, style, &text);
        emit_picture(emit, &text);
    }
    buf_clear(&text);
    return 0;
}

static bool is_shared_and_new(const struct report *report, size_t at)
{
    bool shared = false;
    for (size_t i = 0; i < report->scope_count; i++) {
        bool same = i != at && report->scopes[i].device == report->scopes[at].device;
        if (same && i < at)
            return false;
        shared = shared || same;
    }
    return shared;
}

int timeline_stack_draw(struct report *report, const struct plot_style *style)
{
    int err = 0;
    for (size_t i = 0; i < report->scope_count && err >= 0; i++) {
        struct stack stack = {.report = report, .of = &report->scopes[i]};
        if (!is_shared_and_new(report, i))
            continue;
        err = draw(&stack, style);
        mem_free(stack.changes);
        mem_free(stack.live);
        course_clear(&stack.course);
    }
    return err;
}
