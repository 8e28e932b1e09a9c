#include "drain_host.h"

#include <stdlib.h>

#include "clock.h"

#define HOST_SOON_NS (250 * NS_PER_MS)
#define HOST_DUE_NS (500 * NS_PER_MS)
#define HOST_IDLE_NS (1000 * NS_PER_MS)
#define HOST_REFUSED_NS (100 * NS_PER_MS)
#define HOST_CHANGE (1ll << 20) /* less is no change */

static void put(const struct drain_host_row *row, uint64_t now_ns, const char *what, int64_t value)
{
    const struct row_sample sample = {.at_ns = (int64_t)(now_ns - row->start_ns),
                                      .process = row_opt(row->process),
                                      .device = row_opt(ROW_UNKNOWN),
                                      .what = what,
                                      .value = value};
    batch_put_sample(row->batch, &sample);
}

static bool is_other(int64_t stored, int64_t value)
{
    return stored == HOST_UNKNOWN || llabs(value - stored) >= HOST_CHANGE;
}

/* A limit that goes away is stored as 0. */
static void put_value(struct drain_host *host, const struct drain_host_row *row, uint64_t now_ns,
                      enum host_value value, int64_t bytes)
{
    bool limit =
        value == HOST_LIMIT_ADDRESS_SPACE || value == HOST_LIMIT_DATA || value == HOST_GROUP_LIMIT;
    if (bytes == HOST_UNKNOWN && limit && host->stored[value] != HOST_UNKNOWN)
        bytes = 0;
    if (bytes == HOST_UNKNOWN || bytes == host->stored[value])
        return;
    host->stored[value] = bytes;
    put(row, now_ns, host_value_text(value), bytes);
}

static void read_now(struct drain_host *host, const struct drain_host_row *row, uint64_t now_ns,
                     bool idle)
{
    struct host_memory memory;
    host->read_ns = now_ns;
    if (!host_memory_read(&memory, row->pid, &host->group))
        return;
    host->kills = memory.kills;
    host->limit = memory.values[HOST_GROUP_LIMIT];
    if (idle && !is_other(host->stored[HOST_RSS], memory.values[HOST_RSS]))
        return;
    host->stored[HOST_RSS] = HOST_UNKNOWN;
    for (int i = 0; i < HOST_VALUES; i++)
        if (i < HOST_GROUP_USED && i >= HOST_LIMIT_ADDRESS_SPACE)
            put_value(host, row, now_ns, (enum host_value)i, memory.values[i]);
        else if (i == HOST_GROUP_LIMIT || is_other(host->stored[i], memory.values[i]))
            put_value(host, row, now_ns, (enum host_value)i, memory.values[i]);
}

static void begin(struct drain_host *host, const struct drain_host_row *row, uint64_t now_ns)
{
    host->begun = true;
    host->limit = host->kills = HOST_UNKNOWN;
    for (int i = 0; i < HOST_VALUES; i++)
        host->stored[i] = HOST_UNKNOWN;
    host_group_of(&host->group, row->pid);
    read_now(host, row, now_ns, false);
}

void drain_host_look(struct drain_host *host, const struct drain_moments *moments,
                     const struct drain_host_row *row, uint64_t now_ns)
{
    if (!host->begun) {
        begin(host, row, now_ns);
        return;
    }
    uint64_t since = now_ns - host->read_ns;
    bool refused =
        moments->refusals != host->refusals && now_ns - host->refused_ns >= HOST_REFUSED_NS;
    bool ended = moments->moments != host->moments;
    bool due = since >= (ended ? HOST_SOON_NS : moments->events ? HOST_DUE_NS : HOST_IDLE_NS);
    if (!refused && !due)
        return;
    host->refused_ns = refused ? now_ns : host->refused_ns;
    host->refusals = moments->refusals;
    host->moments = moments->moments;
    read_now(host, row, now_ns, !refused && !ended && !moments->events);
}

bool drain_host_killed(struct drain_host *host, const struct drain_host_row *row, uint64_t now_ns)
{
    struct host_memory memory;
    if (!host->begun || host->kills == HOST_UNKNOWN)
        return false;
    host_group_read(&host->group, &memory);
    if (memory.kills == HOST_UNKNOWN || memory.kills <= host->kills)
        return false;
    put(row, now_ns, "killed for memory", memory.kills - host->kills);
    return true;
}
