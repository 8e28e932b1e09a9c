#include "timeline_stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "course_together.h"
#include "error.h"
#include "mem.h"

#define LAST (PURPOSES - 1u) /* all processes for which there is no letter of their own */
#define NAME 48

struct stack {
    struct report *report;
    const struct report_scope *of; /* the device is that of this scope */
    struct together_part *together;
    struct course course;
    char names[PURPOSES][NAME];
    struct plot_parts parts;
};

static unsigned letter_of(const struct stack *stack, size_t scope)
{
    unsigned letter = 0;
    for (size_t i = 0; i < scope; i++)
        letter += stack->report->scopes[i].device == stack->of->device;
    return letter < LAST ? letter : LAST;
}

/* Letters go by the scopes' order, which may be that of their peaks. */
static int by_process(const void *a, const void *b)
{
    int64_t one = ((const struct together_part *)a)->process,
            other = ((const struct together_part *)b)->process;
    return (one > other) - (one < other);
}

static int read_course(struct stack *stack, unsigned columns)
{
    const struct report *report = stack->report;
    struct together_request request = {.device = stack->of->device, .columns = columns};
    stack->together = mem_alloc(report->scope_count, sizeof *stack->together);
    if (!stack->together)
        return ERR_NOMEM;
    for (size_t i = 0; i < report->scope_count; i++)
        if (report->scopes[i].device == stack->of->device)
            stack->together[request.count++] =
                (struct together_part){report->scopes[i].process.id, letter_of(stack, i)};
    qsort(stack->together, request.count, sizeof *stack->together, by_process);
    request.parts = stack->together;
    return course_together(report->db, &request, &stack->course);
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
    int err = read_course(stack, plot_columns(style));
    if (err == 0 && stack->course.peak > 0) {
        name_parts(stack);
        emit_heading(emit, "All processes on %s over time", stack->of->device_text);
        plot_stack(&stack->course, &stack->parts, style, &text);
        emit_picture(emit, &text);
    }
    buf_clear(&text);
    return err;
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
        mem_free(stack.together);
        course_clear(&stack.course);
    }
    return err;
}
