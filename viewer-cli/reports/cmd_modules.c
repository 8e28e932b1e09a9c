/*
 * tidemark modules: what each module of the program holds at one moment.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driven_report.h"
#include "error.h"
#include "human.h"
#include "mem.h"
#include "modules.h"
#include "moment.h"
#include "report.h"
#include "workers.h"

struct modules_options {
    struct report_options common;
    int64_t depth;
};

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"module", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "module", EMIT_TEXT, EMIT_PEOPLE | EMIT_ROOMY},
    {"class", NULL, EMIT_TEXT, EMIT_NONE},
    {"instances", NULL, EMIT_COUNT, EMIT_NONE},
    {"depth", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"bytes", "all", EMIT_BYTES, 0},
    {"parameters", NULL, EMIT_BYTES, 0},
    {"gradients", NULL, EMIT_BYTES, 0},
    {"optimizer_state", "state", EMIT_BYTES, 0},
    {"activations", NULL, EMIT_BYTES, 0},
    {"workspace", NULL, EMIT_BYTES, EMIT_SPARE},
    {"other", NULL, EMIT_BYTES, EMIT_SPARE},
    {"own_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
};

/* What stands behind the path of the one around it, two columns in for each that is. */
static void put_name(struct emit *emit, const struct modules *modules,
                     const struct module_node *node)
{
    char text[512];
    const char *name = node->path ? node->path : "(of no module)";
    size_t around = node->parent == MODULE_ROOT ? 0 : strlen(modules->nodes[node->parent].path);
    if (node->parent != MODULE_ROOT)
        name += around + (name[around] == '.');
    if (!*name)
        name = node->class_name;
    snprintf(text, sizeof text, "%*s%s", (int)(2 * node->depth < 100 ? 2 * node->depth : 100), "",
             name);
    emit_text(emit, text);
}

static void put_node(struct emit *emit, const struct report_scope *scope,
                     const struct modules *modules, const struct module_node *node)
{
    emit_int(emit, scope->process.id);
    emit_text(emit, scope->device_text);
    emit_text(emit, node->path && !*node->path ? node->class_name : node->path);
    put_name(emit, modules, node);
    emit_text(emit, node->class_name);
    emit_known(emit, node->path ? (int64_t)node->instances : INT64_MIN);
    emit_int(emit, (int64_t)node->depth);
    emit_int(emit, module_held(node));
    for (int kind = 0; kind < MODULE_KINDS; kind++)
        emit_int(emit, node->held[kind]);
    emit_int(emit, module_own(node));
}

/* What a module holds beside those inside it: a line of its own, for people; programs have the
 * column. */
static void put_itself(struct emit *emit, const struct module_node *node)
{
    char text[128];
    snprintf(text, sizeof text, "%*s(itself)",
             (int)(2 * node->depth < 100 ? 2 * node->depth + 2 : 102), "");
    for (int i = 0; i < 3; i++) /* the columns of programs */
        emit_null(emit);
    emit_text(emit, text);
    emit_null(emit);
    emit_null(emit);
    emit_null(emit);
    emit_int(emit, module_own(node));
    for (int kind = 0; kind < MODULE_KINDS; kind++)
        emit_int(emit, node->own[kind]);
    emit_null(emit);
}

/* A node behind it is inside of it, and is shown. */
static bool is_opened(const struct modules *modules, size_t at, int64_t depth)
{
    const struct module_node *node = &modules->nodes[at], *next = node + 1;
    return node->path && at + 1 < modules->count && next->parent == at &&
           (int64_t)next->depth < depth && module_own(node) && module_own(node) < module_held(node);
}

static void put_people(struct report *report, const struct report_scope *scope,
                       const struct instant *instant)
{
    char time[HUMAN_MAX];
    report_heading(report, "Memory by module", scope);
    emit_line(&report->emit, "%s (seq %" PRId64 ", %s)", instant->label, instant->seq,
              human_ns(time, instant->at_ns));
    EMIT_SECTION(&report->emit, "modules", NULL, EMIT_ROWS, columns);
}

static int put_scope(struct report *report, const struct report_scope *scope,
                     const struct instant *instant, const void *how)
{
    const struct modules_options *options = how;
    struct modules modules;
    int err = modules_read(report->db, scope->process.id, scope->device, instant->seq, &modules);
    if (err == 0 && !modules.known) {
        emit_note(&report->emit,
                  "process %" PRId64 " on %s: no module is known: PyTorch's are, with "
                  "the call stacks of its blocks",
                  scope->process.id, scope->device_text);
    } else if (err == 0) {
        if (report->emit.format == EMIT_TABLE)
            put_people(report, scope, instant);
        for (size_t i = 1; i <= modules.count; i++) { /* what is of none comes last */
            const struct module_node *node = &modules.nodes[i % modules.count];
            if (!module_held(node) || (int64_t)node->depth >= options->depth)
                continue;
            put_node(&report->emit, scope, &modules, node);
            if (report->emit.format == EMIT_TABLE &&
                is_opened(&modules, i % modules.count, options->depth))
                put_itself(&report->emit, node);
        }
    }
    modules_clear(&modules);
    return err;
}

static int put_all(struct report *report, const char *moment, const struct modules_options *options)
{
    if (report->emit.format != EMIT_TABLE)
        EMIT_SECTION(&report->emit, "modules", NULL, EMIT_ROWS, columns);
    return moment_each(report, moment, moment_find, put_scope, options);
}

static int cmd_modules(const struct command_call *call)
{
    struct modules_options options = {.common = REPORT_OPTIONS, .depth = INT64_MAX};
    struct moment_request request;
    struct report report;
    char **arguments;
    int count, code;

    if (!command_parse(call, &options, &arguments, &count, &code))
        return code;
    code = moment_arguments(call, arguments, count, &request);
    if (!code)
        code = report_begin(&report, call->command, &options.common, request.database);
    if (!code) {
        int err = workers_fold(&report);
        code = report_end(&report, err < 0 ? err : put_all(&report, request.moment, &options));
    }
    mem_free(arguments);
    return code;
}

static const struct option option_table[] = {
    {"depth", 'D', OPT_INT, offsetof(struct modules_options, depth), "N",
     "N levels of the tree; deeper modules count to the last", NULL, 1},
    {0},
};

const struct command command_modules = {
    .name = "modules",
    .group = COMMAND_LOOK,
    .run = cmd_modules,
    .summary = "what each module holds: parameters, gradients, state, activations",
    .arguments = "[DATABASE] [MOMENT]",
    .options = option_table,
    .shared = &report_shared,
    .most = 2,
    .description =
        "The modules of a PyTorch program as a tree, with the bytes that each holds at one moment, "
        "those inside it included. Instances that follow each other and are of one class share a "
        "line: 'layers[0-23]' is all of them together.\n"
        "\n"
        "Parameters, gradients and the optimizer's state belong to the module of their parameter; "
        "every other block to the innermost module that ran at its allocation, and in a backward "
        "to the module whose forward is being differentiated. Memory of no module, the loss of a "
        "training loop for instance, stands last.\n"
        "\n"
        "A moment is a step (its highest point), a step and a phase (7/backward: the end of that "
        "phase), a time (@1.5s), 'peak' or 'end'. Default: the peak, of --steps where that option "
        "is passed.",
    .examples =
        {
            {"tidemark modules", "at the peak of the newest recording in this folder"},
            {"tidemark modules run.db --depth 2", "the model, and what stands right inside it"},
            {"tidemark modules run.db 1/forward", "as forward of step 1 ended"},
        },
};
