/*
 * bench_rows - how many allocations a second the recorder stores, beside bare statements: the same
 * rows, the same file settings, one thread, one prepared INSERT (and UPDATE by rowid) in
 * transactions of 65,536. The recorder does all of its work: heap state, curves, keyframes, the
 * queue, the writer.
 *
 *   short-lived  a block dies 100 events after its birth: one INSERT
 *   long-lived   all blocks live until the last is born: INSERT, later UPDATE
 *   mixed        one block of eight outlives a commit, as in a training step
 *
 * Then: bytes of the finished file for each allocation, everything in it counted, and the
 * recorder's CPU time for each stored allocation.
 *
 *     bench_rows [FILE [MIX]]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "db.h"
#include "queue.h"
#include "state.h"
#include "writer.h"

enum { ROUNDS = 7, BLOCKS = 1000000, TRANSACTION = 65536, QUEUE_BYTES = 64 << 20 };

enum mix { SHORT_LIVED, LONG_LIVED, MIXED };
static const char *const mix_names[] = {"short-lived", "long-lived", "mixed"};

/* How many births later a block is freed; 0 = after the last birth. */
static int lifetime(enum mix mix, int block)
{
    switch (mix) {
    case SHORT_LIVED:
        return 50;
    case LONG_LIVED:
        return 0;
    default:
        return block % 8 ? 50 : 200000;
    }
}

static uint64_t size_of(int block)
{
    static const uint64_t sizes[] = {4096, 65536, 512, 1 << 20, 16 << 20, 2048, 327680, 40960};
    return sizes[block % 8] + 512 * (uint64_t)(block % 61);
}

static uint64_t address_of(int block)
{
    return 0x7f3a00000000ull + (uint64_t)block * 0x1000;
}

/* Calls one of the two for each event of the mix, in order. */
struct play {
    void (*born)(void *context, int block);
    void (*died)(void *context, int block);
    void *context;
};

static void play_mix(enum mix mix, const struct play *play)
{
    static int due[BLOCKS + 200001]; /* due[i]: list of blocks freed after birth i, by next[] */
    static int next[BLOCKS];
    memset(due, 0xff, sizeof due);
    for (int block = 0; block < BLOCKS; block++) {
        int life = lifetime(mix, block);
        int at = life && block + life < BLOCKS ? block + life : BLOCKS;
        next[block] = due[at];
        due[at] = block;
    }
    for (int i = 0; i <= BLOCKS; i++) {
        if (i < BLOCKS)
            play->born(play->context, i);
        for (int block = due[i]; block >= 0; block = next[block])
            play->died(play->context, block);
    }
}

/* ---- the recorder ---- */

struct recorder {
    struct state *state;
    struct state_process *process;
    struct queue *queue;
    uint64_t time_ns;
    uint64_t flushed_ns;
    uint64_t ticket;
};

static void feed(struct recorder *to, struct event *event)
{
    event->time_ns = to->time_ns += 750; /* as in a busy program */
    event->word = ++to->ticket;
    event->thread = 1;
    event->heap = 1;
    state_event(to->process, event);
    bool second = to->time_ns - to->flushed_ns >= NS_PER_S;
    if (!second && !state_wants_flush(to->state))
        return;
    to->flushed_ns = second ? to->time_ns : to->flushed_ns;
    struct batch *batch = state_flush(to->state, to->time_ns, second);
    if (!batch || !queue_push(to->queue, batch))
        abort();
}

static void recorder_born(void *context, int block)
{
    struct event event = {.kind = EVENT_BLOCK_ALLOC,
                          .flags = EVENT_F_REQUESTED,
                          .addr = address_of(block),
                          .size = size_of(block),
                          .a = size_of(block) - 12};
    feed(context, &event);
}

static void recorder_died(void *context, int block)
{
    struct event event = {.kind = EVENT_BLOCK_FREE, .addr = address_of(block)};
    feed(context, &event);
}

static void open_state(struct recorder *recorder)
{
    struct state_options options = {.start_ns = 1000};
    struct state_hello hello = {.pid = 1,
                                .parent = BATCH_NULL,
                                .origin = "root",
                                .at_ns = 1000,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL};
    struct arena_heap heap = {.device_kind = DEVICE_CUDA};
    struct arena_record record = {.bytes = sizeof heap, .kind = ARENA_HEAP};
    if (state_new(&recorder->state, &options) != 0)
        abort();
    recorder->process = state_process_begin(recorder->state, &hello);
    if (!recorder->process)
        abort();
    state_define(recorder->process, &record, &heap);
    recorder->time_ns = recorder->flushed_ns = 300ull * NS_PER_S; /* five minutes in: wide times */
}

static void close_state(struct recorder *recorder)
{
    struct state_end end = {recorder->time_ns, "exit", 0, BATCH_NULL};
    state_process_end(recorder->process, &end);
    struct batch *batch = state_flush(recorder->state, recorder->time_ns, true);
    if (!batch || !queue_push(recorder->queue, batch))
        abort();
    queue_close(recorder->queue);
    state_free(recorder->state);
}

/* Seconds of wall time; *cpu gets the process's CPU seconds. */
static double run_recorder(enum mix mix, const char *path, double *cpu)
{
    struct recorder recorder = {0};
    struct db *db = NULL;
    struct writer *writer = NULL;
    bool single_file;
    unlink(path);
    if (db_create(&db, path) != 0 || queue_new(&recorder.queue, QUEUE_BYTES) != 0)
        abort();
    uint64_t start = clock_now_ns(), cpu_start = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (writer_start(&writer, db, recorder.queue, false, NULL) != 0)
        abort();
    open_state(&recorder);
    struct play play = {recorder_born, recorder_died, &recorder};
    play_mix(mix, &play);
    close_state(&recorder);
    if (writer_finish(writer, &single_file, NULL) != 0)
        abort();
    *cpu = (double)(clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start) / 1e9;
    double wall = (double)(clock_now_ns() - start) / 1e9;
    queue_free(recorder.queue);
    return wall;
}

/* ---- the floor ---- */

struct bare {
    struct db *db;
    struct db_stmt *insert, *update;
    int64_t seq;
    int in_transaction;
    enum mix mix;
};

static void next_transaction(struct bare *bare)
{
    if (++bare->in_transaction % TRANSACTION)
        return;
    if (db_commit(bare->db) != 0 || db_begin(bare->db) != 0)
        abort();
}

/* A block that dies soon is inserted whole, at its birth: its end is known here. */
static void bare_born(void *context, int block)
{
    struct bare *bare = context;
    bool soon = lifetime(bare->mix, block) == 50;
    db_bind_int(bare->insert, 0, ++bare->seq);
    db_bind_int(bare->insert, 1, 1);
    db_bind_int(bare->insert, 2, (int64_t)address_of(block));
    db_bind_int(bare->insert, 3, (int64_t)size_of(block));
    db_bind_int(bare->insert, 4, (int64_t)size_of(block) - 12);
    db_bind_int(bare->insert, 5, 300000000000 + bare->seq * 1500);
    db_bind_int(bare->insert, 6, soon ? 75000 : DB_LIVING_NS);
    db_bind_int(bare->insert, 7, soon ? bare->seq + 100 : DB_LIVING_SEQ);
    for (int i = 8; i < 11; i++)
        db_bind_null(bare->insert, i);
    if (db_run(bare->insert) != 0)
        abort();
    next_transaction(bare);
}

static void bare_died(void *context, int block)
{
    struct bare *bare = context;
    if (lifetime(bare->mix, block) == 50)
        return;
    db_bind_int(bare->update, 0, block + 1);
    db_bind_int(bare->update, 1, 300000000);
    db_bind_int(bare->update, 2, bare->seq + block);
    if (db_run(bare->update) != 0)
        abort();
    next_transaction(bare);
}

static double run_bare(enum mix mix, const char *path)
{
    struct bare bare = {.mix = mix};
    unlink(path);
    if (db_create(&bare.db, path) != 0)
        abort();
    uint64_t start = clock_now_ns();
    if (db_prepare_known(bare.db, &bare.insert, SCH_ALLOCATION) != 0 ||
        db_prepare_known(bare.db, &bare.update, SCH_ALLOCATION_END) != 0 || db_begin(bare.db) != 0)
        abort();
    struct play play = {bare_born, bare_died, &bare};
    play_mix(mix, &play);
    if (db_commit(bare.db) != 0)
        abort();
    db_finalize(bare.insert);
    db_finalize(bare.update);
    db_single_file(bare.db);
    double wall = (double)(clock_now_ns() - start) / 1e9;
    db_close(bare.db);
    return wall;
}

static long long file_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (long long)info.st_size : -1;
}

/* Fewer where somebody only wants to see that it works. */
static int rounds(void)
{
    const char *asked = getenv("TIDEMARK_BENCH_ROUNDS");
    int count = asked ? atoi(asked) : ROUNDS;
    return count > 0 && count < ROUNDS ? count : ROUNDS;
}

static void measure(enum mix mix, const char *path)
{
    struct bench_series speed = {0};
    double cpu[BENCH_ROUNDS];
    char what[64];
    for (int round = 0; round < rounds(); round++) {
        double bare = run_bare(mix, path);
        double wall = run_recorder(mix, path, &cpu[round]);
        bench_add(&speed, BLOCKS / bare / 1e6, BLOCKS / wall / 1e6);
    }
    snprintf(what, sizeof what, "allocations stored a second, %s", mix_names[mix]);
    bench_row(what, &speed, "M/s", mix == LONG_LIVED ? ">= 0.4" : ">= 0.6");
    printf("| recorder CPU for each stored allocation, %s | %.2f us | - | - | <= 1.5 us |\n",
           mix_names[mix], bench_median(cpu, speed.count) / BLOCKS * 1e6);
    printf("| bytes of the file for each allocation, %s | %.1f | - | - | <= 48 |\n", mix_names[mix],
           (double)file_bytes(path) / BLOCKS);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "bench_rows.db";
    for (enum mix mix = SHORT_LIVED; mix <= MIXED; mix++)
        if (argc <= 2 || strcmp(argv[2], mix_names[mix]) == 0)
            measure(mix, path);
    unlink(path);
    return 0;
}
