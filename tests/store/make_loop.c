/*
 * make_loop FILE STEPS LEAK_EVERY [MAX_BYTES [KEEP_STEPS]] - the loop of loop.h through the
 * writer's own thread. Prints the most that the file and its log ever were, in bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"
#include "loop.h"
#include "queue.h"
#include "retention.h"
#include "writer.h"

struct maker {
    struct queue *queue;
    const char *path;
    uint64_t most;
};

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat file;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &file) == 0 ? (uint64_t)file.st_size : 0;
}

static void look(struct maker *maker)
{
    uint64_t bytes = size_of(maker->path, "") + size_of(maker->path, "-wal");
    if (bytes > maker->most)
        maker->most = bytes;
}

static bool push(void *self, struct batch *batch)
{
    struct maker *maker = self;
    look(maker);
    return queue_push(maker->queue, batch);
}

static uint64_t number(int argc, char **argv, int at)
{
    return argc > at ? strtoull(argv[at], NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    struct loop_options loop = {.steps = number(argc, argv, 2),
                                .processes = 1,
                                .small = true,
                                .leak_every = number(argc, argv, 3),
                                .grow_until = 5000,
                                .step_ns = 1000000};
    struct retention_options retention = {.max_bytes = (int64_t)number(argc, argv, 4),
                                          .keep_steps = (int64_t)number(argc, argv, 5)};
    struct maker maker = {.path = argv[1]};
    struct db *db;
    struct writer *writer;
    bool single;
    unlink(argv[1]);
    if (db_create(&db, argv[1]) < 0 || queue_new(&maker.queue, (size_t)64 << 20) < 0 ||
        retention_start_writer(&writer, db, maker.queue, false, &retention) < 0)
        return 1;
    loop_run(&loop, push, &maker);
    queue_close(maker.queue);
    struct writer_stats stats;
    int err = writer_finish(writer, &single, &stats);
    queue_free(maker.queue);
    look(&maker);
    if (err < 0)
        fprintf(stderr, "make_loop: %s\n", stats.message);
    printf("%llu\n", (unsigned long long)maker.most);
    return err < 0;
}
