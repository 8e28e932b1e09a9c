/*
 * make_crowd FILE PROCESSES [MAX_BYTES [STEPS]] - the crowd of crowd.h through the writer's own
 * thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crowd.h"
#include "db.h"
#include "queue.h"
#include "retention.h"
#include "writer.h"

static bool push(void *self, struct batch *batch)
{
    return queue_push(self, batch);
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise)
{
    return argc > at ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const struct crowd_options crowd = {.processes = number(argc, argv, 2, 0),
                                        .steps = (unsigned)number(argc, argv, 4, 2),
                                        .sites = 600};
    const struct retention_options retention = {.max_bytes = (int64_t)number(argc, argv, 3, 0)};
    struct writer_stats stats;
    struct queue *queue;
    struct writer *writer;
    struct db *db;
    bool single;
    unlink(argv[1]);
    if (db_create(&db, argv[1]) < 0 || queue_new(&queue, (size_t)64 << 20) < 0 ||
        retention_start_writer(&writer, db, queue, false, &retention) < 0)
        return 1;
    crowd_run(&crowd, push, queue);
    queue_close(queue);
    int err = writer_finish(writer, &single, &stats);
    queue_free(queue);
    if (err < 0)
        fprintf(stderr, "make_crowd: %s\n", stats.message);
    return err < 0;
}
