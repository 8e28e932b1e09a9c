/*
 * Ranges and marks of NVTX, of the processes that took memory. What a domain is called stands in
 * rows of their own; domain 0 is the program's.
 */
#include <string.h>

#include "error.h"
#include "nsys.h"

/* As ENUM_NSYS_EVENT_TYPE has them. */
enum {
    EVENT_NVTX_MARK = 34,
    EVENT_NVTX_PUSH_POP = 59,
    EVENT_NVTX_START_END = 60,
    EVENT_NVTX_DOMAIN = 75
};

enum { R_START, R_END, R_TYPE, R_TEXT, R_TEXT_ID, R_THREAD, R_DOMAIN };
static const char *const columns[] = {"start",  "end",       "eventType", "text",
                                      "textId", "globalTid", "domainId",  NULL};

static struct nsys_process *process_of(struct nsys *nsys, const struct rows_value *values)
{
    return values[R_THREAD].is_number ? nsys_process_of(nsys, nsys_pid(values[R_THREAD].number))
                                      : NULL;
}

static bool type_is(const struct rows_value *values, int64_t type)
{
    return values[R_TYPE].is_number && values[R_TYPE].number == type;
}

static int see_domain(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    struct nsys_process *process = process_of(nsys, values);
    uint32_t name;
    if (!process || !type_is(values, EVENT_NVTX_DOMAIN) || !values[R_DOMAIN].is_number)
        return BASE_OK;
    int err = nsys_name(nsys, &process->log, &values[R_TEXT], &values[R_TEXT_ID], &name);
    if (err || !name)
        return err;
    return map_put(&process->domains, (uint64_t)values[R_DOMAIN].number, name, NULL) ? BASE_OK
                                                                                     : ERR_NOMEM;
}

/* A domain without a name is one all the same. */
static int domain_of(struct nsys_process *process, const struct rows_value *domain, uint32_t *name)
{
    static const char unknown[] = "unnamed domain";
    *name = 0;
    if (!domain->is_number || !domain->number)
        return BASE_OK;
    uint64_t found = map_get(&process->domains, (uint64_t)domain->number);
    if (found == MAP_NONE)
        return block_log_name(&process->log, unknown, strlen(unknown), name);
    *name = (uint32_t)found;
    return BASE_OK;
}

static int add_mark(struct block_log *log, struct block_log_entry entry)
{
    entry.kind = LOG_MARK;
    return block_log_add(log, &entry);
}

/* One that has no end goes on to the end of the process. */
static int add_range(struct block_log *log, struct block_log_entry entry,
                     const struct rows_value *end)
{
    bool ends = nsys_is_time(end) && end->number >= entry.time_ns;
    int64_t begin_ns = entry.time_ns;
    entry.kind = LOG_RANGE_BEGIN;
    entry.addr = (uint64_t)(ends ? end->number + (end->number == begin_ns) : NSYS_MOST_NS);
    int err = block_log_add(log, &entry);
    if (err || !ends)
        return err;
    entry.kind = LOG_RANGE_END;
    entry.time_ns = (int64_t)entry.addr;
    entry.addr = (uint64_t)begin_ns;
    return block_log_add(log, &entry);
}

static int see_range(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    struct nsys_process *process = process_of(nsys, values);
    bool mark = type_is(values, EVENT_NVTX_MARK), loose = type_is(values, EVENT_NVTX_START_END);
    if (!process || (!mark && !loose && !type_is(values, EVENT_NVTX_PUSH_POP)))
        return BASE_OK;
    if (!nsys_is_time(&values[R_START]))
        return nsys_odd(nsys);
    struct block_log_entry entry = {.time_ns = values[R_START].number,
                                    .thread = (uint32_t)values[R_THREAD].number & 0xffffff,
                                    .nvtx = true,
                                    .loose = loose};
    uint32_t name, domain;
    int err = nsys_name(nsys, &process->log, &values[R_TEXT], &values[R_TEXT_ID], &name);
    if (err == BASE_OK)
        err = domain_of(process, &values[R_DOMAIN], &domain);
    if (err)
        return err;
    if (!name)
        return nsys_odd(nsys);
    entry.name = name;
    entry.size = domain;
    entry.reserved = loose ? ++nsys->loose : 0;
    return mark ? add_mark(&process->log, entry) : add_range(&process->log, entry, &values[R_END]);
}

int nsys_read_ranges(struct nsys *nsys)
{
    int err = nsys_walk(nsys, "NVTX_EVENTS", columns, see_domain, NULL);
    return err ? err : nsys_walk(nsys, "NVTX_EVENTS", columns, see_range, NULL);
}
