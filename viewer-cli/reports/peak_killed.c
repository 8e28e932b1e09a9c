/*
 * A process that the kernel killed for its memory, as part of its peak's report.
 */
#include <stdio.h>

#include "human.h"
#include "peak_parts.h"

static const struct emit_column people_columns[] = {
    {NULL, "killed", EMIT_TEXT, EMIT_PEOPLE},
    {NULL, "RSS", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "cgroup", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "machine", EMIT_TEXT, EMIT_PEOPLE | EMIT_IF_KNOWN},
    {NULL, "cause", EMIT_TEXT, EMIT_PEOPLE},
};

static void put_time(struct emit *emit, const struct host_kill *kill)
{
    char text[120], time[HUMAN_MAX];
    snprintf(text, sizeof text, "SIGKILL by the kernel's OOM killer, %s after the start",
             human_ns(time, kill->at_ns));
    emit_text(emit, text);
}

static void put_rss(struct emit *emit, const struct host_kill *kill)
{
    char text[120], rss[HUMAN_MAX], age[HUMAN_MAX];
    bool known = kill->host.rss != HOST_NONE && kill->host.at_ns <= kill->at_ns;
    if (known)
        snprintf(text, sizeof text, "%s, read %s before", human_bytes(rss, kill->host.rss),
                 human_ns(age, kill->at_ns - kill->host.at_ns));
    emit_text(emit, known ? text : NULL);
}

/* "218 MiB of 220 MiB", one of them, or nothing. */
static void put_used(struct emit *emit, int64_t used, int64_t limit, const char *words)
{
    char text[120], one[HUMAN_MAX], all[HUMAN_MAX];
    bool known = used != HOST_NONE && limit != HOST_NONE;
    if (known)
        snprintf(text, sizeof text, "%s%s%s", human_bytes(one, used), words,
                 human_bytes(all, limit));
    emit_text(emit, known ? text : NULL);
}

static const char *why(const struct host *host)
{
    if (host->group_limit != HOST_NONE)
        return "the cgroup reached its limit";
    return "the machine ran out of memory: the cgroup has no limit";
}

void peak_put_killed(const struct peak_part *part)
{
    const struct host_kill *kill = &part->kill;
    const struct host *host = &kill->host;
    if (!kill->killed)
        return;
    EMIT_SECTION(part->emit, "killed", NULL, EMIT_RECORD, people_columns);
    put_time(part->emit, kill);
    put_rss(part->emit, kill);
    put_used(part->emit, host->group_used, host->group_limit, " of the limit of ");
    put_used(part->emit, host->available, host->machine, " available of ");
    emit_text(part->emit, why(host));
}

static const struct emit_column columns[] = {
    {"process", NULL, EMIT_PLAIN, 0},
    {"device", NULL, EMIT_TEXT, 0},
    {"at_ns", NULL, EMIT_NS, 0},
    {"read_ns", NULL, EMIT_NS, 0},
    {"rss", NULL, EMIT_BYTES, 0},
    {"most_rss", NULL, EMIT_BYTES, 0},
    {"cgroup_used", NULL, EMIT_BYTES, 0},
    {"cgroup_limit", NULL, EMIT_BYTES, 0},
    {"machine_available", NULL, EMIT_BYTES, 0},
    {"machine_memory", NULL, EMIT_BYTES, 0},
};

void peak_put_killed_programs(struct report *report, const struct peak_part *all)
{
    struct emit *emit = &report->emit;
    EMIT_SECTION(emit, "killed", NULL, EMIT_ROWS, columns);
    for (size_t i = 0; i < report->scope_count; i++) {
        const struct host_kill *kill = &all[i].kill;
        if (!kill->killed)
            continue;
        emit_int(emit, all[i].scope->process.id);
        emit_text(emit, all[i].scope->device_text);
        emit_int(emit, kill->at_ns);
        emit_known(emit, kill->host.at_ns);
        emit_known(emit, kill->host.rss);
        emit_known(emit, kill->host.most_rss);
        emit_known(emit, kill->host.group_used);
        emit_known(emit, kill->host.group_limit);
        emit_known(emit, kill->host.available);
        emit_known(emit, kill->host.machine);
    }
}
