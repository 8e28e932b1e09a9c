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

struct modules_options {
    struct report_options common;
    int64_t depth;
};

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"device", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {"module", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "module", EMIT_TEXT, EMIT_PEOPLE | EMIT_NAME | EMIT_ROOMY},
    {"class", NULL, EMIT_TEXT, EMIT_PROGRAMS},
    {NULL, "class", EMIT_TEXT, EMIT_PEOPLE | EMIT_NONE},
    {"instances", NULL, EMIT_COUNT, EMIT_PROGRAMS},
    {"depth", NULL, EMIT_PLAIN, EMIT_PROGRAMS},
    {"bytes", "all", EMIT_SHORT, 0},
    {"parameters", "params", EMIT_SHORT, 0},
    {"gradients", "grads", EMIT_SHORT, 0},
    {"optimizer_state", "state", EMIT_SHORT, 0},
    {"activations", "activ.", EMIT_SHORT, 0},
    {"workspace", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {"other", NULL, EMIT_BYTES, EMIT_PROGRAMS},
    {NULL, "other", EMIT_SHORT, EMIT_PEOPLE | EMIT_SPARE},
    {"own_bytes", NULL, EMIT_BYTES, EMIT_PROGRAMS},
};

/* How a node is shown: a list that holds nothing but one row of instances has no line of its own,
 * so "layers" and "[0-23]" below it are "layers[0-23]". */
struct line {
    size_t depth;
    size_t above; /* the node of the line that it stands below; MODULE_ROOT */
    bool passed;  /* it has no line */
};

/* Its bytes are those of the one node right behind it, which is a row of its instances. */
static bool is_passed(const struct modules *modules, size_t at)
{
    const struct module_node *node = &modules->nodes[at], *next = node + 1;
    if (!node->path || !*node->path || at + 1 == modules->count || next->parent != at)
        return false;
    size_t bytes = strlen(node->path);
    return strncmp(next->path, node->path, bytes) == 0 && next->path[bytes] == '[' &&
           !strchr(next->path + bytes, '.') && module_held(next) == module_held(node);
}

/* NULL without memory; freed by the caller. */
static struct line *lines_of(const struct modules *modules)
{
    struct line *lines = mem_alloc(modules->count + 1, sizeof *lines);
    for (size_t i = 0; lines && i < modules->count; i++) {
        size_t parent = modules->nodes[i].parent;
        struct line line = {0, parent, is_passed(modules, i)};
        if (parent != MODULE_ROOT && lines[parent].passed)
            line.above = lines[parent].above;
        if (line.above != MODULE_ROOT)
            line.depth = lines[line.above].depth + 1;
        lines[i] = line;
    }
    return lines;
}

/* What a path says beside that of the one around it; of instances that are apart from others of the
 * same kind ("stages.1.skip" or "stages[0-1].skip" below "stages[0-3]") from their number on. */
static const char *name_below(const char *path, const char *around)
{
    size_t same = 0, from = 0;
    while (path[same] && path[same] == around[same])
        same++;
    for (size_t i = 0; i < same; i++)
        from = path[i] == '.' ? i + 1 : path[i] == '[' ? i : from;
    if (!around[same])
        from = same + (path[same] == '.');
    else if (path[same] == '[' || path[same] == '.')
        from = same + (path[same] == '.');
    return path + from;
}

static int indent(size_t depth)
{
    return depth < 50 ? (int)(2 * depth) : 100;
}

static void put_name(struct emit *emit, const struct modules *modules,
                     const struct module_node *node, const struct line *line)
{
    char text[512];
    const char *name = node->path ? node->path : "(of no module)";
    if (node->path && line->above != MODULE_ROOT)
        name = name_below(node->path, modules->nodes[line->above].path);
    if (!*name)
        name = node->class_name;
    snprintf(text, sizeof text, "%*s%s", indent(line->depth), "", name);
    emit_text(emit, text);
}

/* "2 x Layer" of two. */
static void put_class(struct emit *emit, const struct module_node *node)
{
    char text[256];
    emit_text(emit, node->class_name);
    if (node->instances > 1)
        snprintf(text, sizeof text, "%zu x %s", node->instances, node->class_name);
    emit_text(emit, node->instances > 1 ? text : node->class_name);
    emit_known(emit, node->path ? (int64_t)node->instances : INT64_MIN);
}

static void put_kinds(struct emit *emit, const int64_t bytes[PURPOSES])
{
    int64_t workspace = bytes[PURPOSE_WORKSPACE] + bytes[PURPOSE_LIBRARY];
    int64_t other =
        bytes[PURPOSE_COPY] + bytes[PURPOSE_BUCKET] + bytes[PURPOSE_INPUT] + bytes[PURPOSE_OTHER];
    emit_int(emit, bytes[PURPOSE_PARAMETER]);
    emit_int(emit, bytes[PURPOSE_GRADIENT]);
    emit_int(emit, bytes[PURPOSE_OPTIMIZER_STATE]);
    emit_int(emit, bytes[PURPOSE_ACTIVATION] + bytes[PURPOSE_HELD]);
    emit_int(emit, workspace);
    emit_int(emit, other);
    emit_int(emit, workspace + other);
}

static void put_node(struct emit *emit, const struct report_scope *scope,
                     const struct modules *modules, const struct module_node *node,
                     const struct line *line)
{
    emit_int(emit, scope->process.id);
    emit_text(emit, scope->device_text);
    emit_text(emit, node->path && !*node->path ? node->class_name : node->path);
    put_name(emit, modules, node, line);
    put_class(emit, node);
    emit_int(emit, (int64_t)node->depth);
    emit_int(emit, module_held(node));
    put_kinds(emit, node->held);
    emit_int(emit, module_own(node));
}

/* What a module holds beside those inside it: a line of its own, for people; programs have the
 * column. */
static void put_itself(struct emit *emit, const struct module_node *node, const struct line *line)
{
    char text[128];
    snprintf(text, sizeof text, "%*s(itself)", indent(line->depth + 1), "");
    for (int i = 0; i < 3; i++) /* the columns of programs */
        emit_null(emit);
    emit_text(emit, text);
    for (int i = 0; i < 4; i++) /* class, instances, depth */
        emit_null(emit);
    emit_int(emit, module_own(node));
    put_kinds(emit, node->own);
    emit_null(emit);
}

/* A node behind it is inside of it, and is shown. */
static bool is_opened(const struct modules *modules, const struct line *lines, size_t at,
                      int64_t depth)
{
    const struct module_node *node = &modules->nodes[at], *next = node + 1;
    return node->path && at + 1 < modules->count && next->parent == at &&
           (int64_t)lines[at].depth + 1 < depth && module_own(node) &&
           module_own(node) < module_held(node);
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

/* People see lines, programs all nodes. */
static int put_nodes(struct emit *emit, const struct report_scope *scope,
                     const struct modules *modules, int64_t depth)
{
    bool people = emit->format == EMIT_TABLE;
    struct line *lines = lines_of(modules);
    for (size_t i = 1; lines && i <= modules->count; i++) { /* what is of none comes last */
        size_t at = i % modules->count;
        const struct module_node *node = &modules->nodes[at];
        size_t level = people ? lines[at].depth : node->depth;
        if (!module_held(node) || (int64_t)level >= depth || (people && lines[at].passed))
            continue;
        put_node(emit, scope, modules, node, &lines[at]);
        if (people && is_opened(modules, lines, at, depth))
            put_itself(emit, node, &lines[at]);
    }
    mem_free(lines);
    return lines ? 0 : ERR_NOMEM;
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
        err = put_nodes(&report->emit, scope, &modules, options->depth);
    }
    modules_clear(&modules);
    return err;
}

static int put_all(struct report *report, const char *moment, const void *options)
{
    if (report->emit.format != EMIT_TABLE)
        EMIT_SECTION(&report->emit, "modules", NULL, EMIT_ROWS, columns);
    return moment_each(report, moment, moment_find, put_scope, options);
}

static int cmd_modules(const struct command_call *call)
{
    struct modules_options options = {.common = REPORT_OPTIONS, .depth = INT64_MAX};
    return moment_report(call, &options, put_all);
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
        "training loop for instance, stands last. 'activ.' are activations, 'other' has "
        "workspaces, too; 78.0M is "
        "78.0 MiB.\n"
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
