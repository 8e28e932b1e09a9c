/* retention_keeper.c - retention as the writer sees it. */
#include "ensure.h"
#include "error.h"
#include "retention.h"

static void see(void *self, const struct batch *batch)
{
    retention_see(self, batch);
    ENSURE_WHOLE(retention_is_valid(self));
}

static int work(void *self, int64_t rows)
{
    int err = retention_work(self, rows);
    ENSURE_WHOLE(retention_is_valid(self));
    return err;
}

static bool can_wait(const void *self, uint64_t bytes)
{
    return retention_can_wait(self, bytes);
}

static bool is_behind(const void *self)
{
    return retention_is_behind(self);
}

static bool is_hollow(void *self)
{
    return retention_is_hollow(self);
}

static void rolled_back(void *self)
{
    retention_rolled_back(self);
}

static uint64_t log_bytes(const void *self, uint64_t usual)
{
    return retention_log_bytes(self, usual);
}

static uint64_t most_bytes(const void *self)
{
    return retention_most_bytes(self);
}

static void forget(void *self)
{
    retention_free(self);
}

int retention_start_writer(struct writer **out, struct db *db, struct queue *queue, bool private,
                           const struct retention_options *options)
{
    struct keeper keeper = {
        .see = see,
        .work = work,
        .can_wait = can_wait,
        .is_behind = is_behind,
        .is_hollow = is_hollow,
        .rolled_back = rolled_back,
        .log_bytes = log_bytes,
        .most_bytes = most_bytes,
        .forget = forget,
    };
    struct retention *retention = NULL;
    *out = NULL;
    int err = retention_new(&retention, db, options);
    if (err < 0)
        return err;
    retention_tick(retention, queue);
    keeper.self = retention;
    return writer_start(out, db, queue, private, &keeper);
}
