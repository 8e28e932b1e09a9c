/*
 * dump_recorder.c - records a program for tests and writes what came, one JSON object a line:
 *
 *     {"process": 0, "pid": 71, "how": 1, "argv": "python3"}
 *     {"p": 0, "kind": "block_alloc", "flags": 0, "time": 1, "thread": 71, "device": "cpu",
 *      "index": 0, "stream": 0, "site": 0, "name": "", "addr": 16, "size": 64, "a": 0, "b": 0}
 *     {"lost": 0}
 *
 * dump_recorder GUEST OUT COMMAND...: GUEST is preloaded into COMMAND and what it starts. Ends with
 * COMMAND's exit status, or 128 + its signal, when COMMAND is gone; what other processes do after
 * that is not waited for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "fake_recorder.h"

#define BATCH 512
#define MAX_DEFINITIONS 65536

/* What is known of the ring of one process. */
struct process {
    struct arena_reader arena;
    struct ring_reader *ring;
    bool begun;
    uint32_t kinds[MAX_DEFINITIONS];
    void *payloads[MAX_DEFINITIONS]; /* strings end with NUL */
};

static struct fake_recorder fake;
static struct process *processes[FAKE_MAX];
static FILE *out;
static uint64_t lost;

static void read_definitions(struct process *process)
{
    struct arena_record record;
    const void *payload;
    while (arena_next(&process->arena, &record, &payload) == 1) {
        if (process->arena.number >= MAX_DEFINITIONS)
            continue;
        char *copy = calloc(1, record.bytes + 1);
        if (!copy)
            exit(99);
        memcpy(copy, payload, record.bytes);
        process->kinds[process->arena.number] = record.kind;
        process->payloads[process->arena.number] = copy;
    }
}

static const void *definition(const struct process *process, uint32_t number, uint32_t kind)
{
    bool there = number < MAX_DEFINITIONS && process->kinds[number] == kind;
    return there ? process->payloads[number] : NULL;
}

static void put_text(const char *text)
{
    fputc('"', out);
    for (; text && *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void put_event(int index, const struct process *process, const struct event *event)
{
    static const char *const devices[8] = {"cpu", "cuda", "virtual", "other", "xpu"};
    const struct arena_heap *heap = definition(process, event->heap, ARENA_HEAP);
    fprintf(out, "{\"p\": %d, \"kind\": \"%s\", \"flags\": %u, \"time\": %" PRIu64, index,
            event_kind_name((unsigned)event->kind), (unsigned)event->flags, event->time_ns);
    fprintf(out, ", \"thread\": %u, \"device\": \"%s\", \"index\": %d, \"stream\": %" PRIu64,
            (unsigned)event->thread, heap ? devices[heap->device_kind & 7] : "",
            heap ? heap->device_index : -1, heap ? heap->stream : 0);
    fprintf(out, ", \"site\": %u, \"name\": ", event->site);
    put_text(definition(process, event->name, ARENA_STRING));
    fprintf(out, ", \"addr\": %" PRIu64 ", \"size\": %" PRIu64 ", \"a\": %" PRIu64, event->addr,
            event->size, event->a);
    if (event->kind == EVENT_DRIVER_ALLOC) {
        fprintf(out, ", \"library\": ");
        put_text(definition(process, (uint32_t)(event->a >> 32), ARENA_STRING));
    }
    fprintf(out, ", \"b\": %" PRIu64 "}\n", event->b);
}

/* Everything that one process has published; the number of events. */
static size_t drain(int index, struct process *process)
{
    static struct event events[BATCH];
    struct ring_torn torn[1];
    uint64_t by_kind[EVENT_KIND_SLOTS];
    size_t torn_n, n, sum = 0;
    do {
        n = ring_reader_take(process->ring, events, BATCH, clock_now_ns(), false, torn, 1, &torn_n);
        read_definitions(process);
        for (size_t i = 0; i < n; i++)
            put_event(index, process, &events[i]);
        ring_reader_release(process->ring);
        sum += n;
    } while (n == BATCH);
    lost += ring_reader_losses(process->ring, by_kind);
    return sum;
}

static void begin(int index, struct fake_said *said)
{
    processes[index] = calloc(1, sizeof *processes[index]);
    if (!processes[index])
        exit(99);
    fprintf(out, "{\"process\": %d, \"pid\": %d, \"how\": %d, \"argv\": ", index, said->peer,
            (int)said->hello.how);
    put_text(said->hello.argv_bytes ? said->hello.text : "");
    fprintf(out, "}\n");
    processes[index]->ring = &said->reader;
    arena_reader_init(&processes[index]->arena, said->ring);
}

static void drain_all(void)
{
    int count = atomic_load(&fake.count);
    for (int i = 0; i < count; i++) {
        if (!fake.said[i].ring)
            continue;
        if (!processes[i])
            begin(i, &fake.said[i]);
        drain(i, processes[i]);
    }
}

static pid_t launch(const char *guest, char **command)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", guest, 1);
        execvp(command[0], command);
        perror(command[0]);
        _exit(127);
    }
    return child;
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc < 4 || !(out = fopen(argv[2], "w"))) {
        fprintf(stderr, "usage: dump_recorder GUEST OUT COMMAND...\n");
        return 99;
    }
    fake.slot_bits = 16;
    fake.arena_bytes = RING_DEFAULT_ARENA;
    fake_start(&fake, "dump");
    pid_t child = launch(argv[1], argv + 3);
    while (waitpid(child, &status, WNOHANG) == 0) {
        drain_all();
        usleep(3000);
    }
    drain_all();
    fprintf(out, "{\"lost\": %" PRIu64 "}\n", lost);
    fclose(out);
    fake_stop(&fake);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
