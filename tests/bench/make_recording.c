/*
 * make_recording FILE [ALLOCATIONS [SITES [LIVING]]] - a training run that never was, written by
 * the recorder's own state and writer: for benchmarks of the reports, which need a recording larger
 * than one would wait for.
 *
 * A model of LAYERS layers is trained. LIVING blocks, about, live at the peak: a tenth are
 * parameters (one in five of them tagged), as many gradients, twice as many Adam's states, the rest
 * activations. Each forward keeps the activations, each with a temporary beside it; backward frees
 * them in the opposite order, with temporaries of its own, and leaves gradients, which zero_grad
 * frees; the optimizer takes and frees a temporary for each state. Each step keeps one block more
 * than the last (somebody collects the losses). Steps are taken until ALLOCATIONS blocks were born.
 *
 * Addresses and segments come from the caching allocator itself, on a virtual device. The calls
 * come from SITES stacks of 8 to 15 frames, which share their outer frames as the stacks of a
 * program do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "db.h"
#include "queue.h"
#include "state.h"
#include "virtual.h"
#include "writer.h"

enum { LAYERS = 100, FRAMES = 20000, FILES = 200, QUEUE_BYTES = 64 << 20, THREAD = 4711 };

enum name {
    STEP_NAMES,
    ZERO_GRAD,
    FORWARD,
    LOSS,
    BACKWARD,
    OPTIMIZER,
    LAYER,
    NAMES = LAYER + LAYERS
};

struct run {
    struct state *state;
    struct state_process *process;
    struct queue *queue;
    struct virtual_device *device;
    struct alloc *alloc;
    uint64_t now_ns, flushed_ns, ticket;
    uint64_t born;
    bool over;     /* what follows is not recorded */
    uint32_t site; /* of the call that is made just now */
    uint32_t definitions, first_site, sites;
    uint32_t names[NAMES];
    size_t parameters, activations; /* blocks; activations a layer */
    uint64_t *parameter, *gradient, *state_block, *activation;
};

static void need(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "make_recording: %s\n", what);
    exit(1);
}

/* ---- events ---- */

static void flush(struct run *run, bool commit)
{
    struct batch *batch = state_flush(run->state, run->now_ns, commit);
    need(batch && queue_push(run->queue, batch), "the writer stopped");
}

static void feed(struct run *run, struct event event)
{
    event.time_ns = run->now_ns += 750; /* as in a busy program */
    event.word = ++run->ticket;
    event.thread = THREAD;
    event.heap = 1;
    state_event(run->process, &event);
    bool second = run->now_ns - run->flushed_ns >= NS_PER_S;
    if (second)
        run->flushed_ns = run->now_ns;
    if (second || state_wants_flush(run->state))
        flush(run, second);
}

static void see(void *self, const struct alloc_event *event)
{
    struct run *run = self;
    struct event out = {.addr = event->address, .size = event->size, .site = run->site};
    if (run->over)
        return;
    switch (event->kind) {
    case ALLOC_EVENT_ALLOC:
        out.kind = EVENT_BLOCK_ALLOC;
        out.flags = EVENT_F_REQUESTED;
        out.a = event->requested;
        run->born++;
        break;
    case ALLOC_EVENT_FREE:
        out.kind = EVENT_BLOCK_FREE;
        break;
    case ALLOC_EVENT_SEGMENT_ALLOC:
        out.kind = EVENT_SEGMENT_ALLOC;
        break;
    case ALLOC_EVENT_SEGMENT_FREE:
        out.kind = EVENT_SEGMENT_FREE;
        break;
    default:
        return;
    }
    feed(run, out);
}

static void begin_phase(struct run *run, uint32_t name)
{
    feed(run, (struct event){.kind = EVENT_PHASE_BEGIN, .name = run->names[name]});
}

static void end_phase(struct run *run, uint32_t name)
{
    feed(run, (struct event){.kind = EVENT_PHASE_END, .name = run->names[name]});
}

/* ---- definitions ---- */

static uint32_t define(struct run *run, uint32_t kind, const void *payload, size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = kind};
    state_define(run->process, &record, payload);
    if (run->definitions % 4096 == 4095)
        flush(run, false);
    return ++run->definitions;
}

static uint32_t define_text(struct run *run, const char *before, unsigned number, const char *after)
{
    char text[64];
    snprintf(text, sizeof text, "%s%u%s", before, number, after);
    return define(run, ARENA_STRING, text, strlen(text));
}

/* Frame f calls frames of higher numbers: the stack of a site is a walk to its own innermost. */
static void define_sites(struct run *run)
{
    uint32_t files = run->definitions + 1, functions, frames;
    for (unsigned i = 0; i < FILES; i++)
        define_text(run, i % 4 ? "/usr/lib/python3/dist-packages/torch/part" : "model/part", i,
                    ".py");
    functions = run->definitions + 1;
    for (unsigned i = 0; i < FRAMES / 4; i++)
        define_text(run, "function_", i, "");
    frames = run->definitions + 1;
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct arena_frame frame = {functions + i % (FRAMES / 4), files + i % FILES, 10 + i / 4, 0};
        define(run, ARENA_FRAME, &frame, sizeof frame);
    }
    run->first_site = run->definitions + 1;
    for (uint32_t site = 0; site < run->sites; site++) {
        uint32_t stack[16], depth = 8 + site % 8;
        for (uint32_t i = 0; i < depth; i++) /* innermost first; the outer ones are shared */
            stack[i] = frames + site / (UINT32_C(1) << i) * 31 % FRAMES;
        define(run, ARENA_SITE, stack, depth * sizeof *stack);
    }
}

static void define_all(struct run *run)
{
    static const char *const known[] = {
        [ZERO_GRAD] = "zero_grad", [FORWARD] = "forward",     [LOSS] = "loss",
        [BACKWARD] = "backward",   [OPTIMIZER] = "optimizer",
    };
    struct arena_heap heap = {.device_kind = DEVICE_CUDA};
    need(define(run, ARENA_HEAP, &heap, sizeof heap) == 1, "the heap's number");
    for (unsigned i = ZERO_GRAD; i < LAYER; i++)
        run->names[i] = define(run, ARENA_STRING, known[i], strlen(known[i]));
    for (unsigned i = 0; i < LAYERS; i++)
        run->names[LAYER + i] = define_text(run, "layers.", i, "");
    define_sites(run);
}

/* ---- the program ---- */

/* What a program asks for: the same in each step for the same call. */
static uint64_t size_of(uint64_t call)
{
    static const uint64_t sizes[] = {4096,   65536, 512,    1 << 20, 4 << 20,
                                     200000, 2048,  327680, 40000,   1000};
    return sizes[call % 10] + call % 97 * 64;
}

static uint64_t take(struct run *run, uint64_t call)
{
    uint64_t address;
    run->site = run->first_site + (uint32_t)(call * 7919 % run->sites);
    need(alloc_malloc(run->alloc, size_of(call), 0, &address, NULL) == 0, "no memory");
    return address;
}

static void give(struct run *run, uint64_t address)
{
    need(alloc_give(run->alloc, address) == 0, "no such block");
}

static void take_parameters(struct run *run)
{
    for (size_t i = 0; i < run->parameters; i++) {
        run->parameter[i] = take(run, i);
        if (i % 5 == 0)
            feed(run, (struct event){.kind = EVENT_TAG,
                                     .addr = run->parameter[i],
                                     .size = alloc_block_size(run->alloc, run->parameter[i]),
                                     .a = CATEGORY_PARAMETER,
                                     .name = define_text(run, "weight.", (unsigned)i, "")});
    }
}

static void forward(struct run *run)
{
    uint64_t call = run->parameters;
    begin_phase(run, FORWARD);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        begin_phase(run, LAYER + layer);
        for (size_t i = 0; i < run->activations; i++) {
            run->activation[layer * run->activations + i] = take(run, call++);
            give(run, take(run, call++));
        }
        end_phase(run, LAYER + layer);
    }
    end_phase(run, FORWARD);
}

static void backward(struct run *run)
{
    uint64_t call = run->parameters + 2 * LAYERS * run->activations;
    size_t gradient = 0;
    begin_phase(run, BACKWARD);
    for (size_t i = LAYERS * run->activations; i-- > 0;) {
        uint64_t temporary = take(run, call++);
        give(run, run->activation[i]);
        give(run, temporary);
        size_t due = run->parameters - i * run->parameters / (LAYERS * run->activations);
        for (; gradient < due; gradient++)
            run->gradient[gradient] = take(run, gradient);
    }
    end_phase(run, BACKWARD);
}

static void optimize(struct run *run, uint64_t step)
{
    uint64_t call = run->parameters + 3 * LAYERS * run->activations;
    begin_phase(run, OPTIMIZER);
    for (size_t i = 0; i < 2 * run->parameters; i++) {
        if (step == 0)
            run->state_block[i] = take(run, i / 2);
        give(run, take(run, call++));
    }
    end_phase(run, OPTIMIZER);
}

static void train(struct run *run, uint64_t allocations)
{
    take_parameters(run);
    for (uint64_t step = 0; run->born < allocations; step++) {
        feed(run, (struct event){.kind = EVENT_STEP_BEGIN, .a = step});
        begin_phase(run, ZERO_GRAD);
        for (size_t i = 0; step && i < run->parameters; i++)
            give(run, run->gradient[i]);
        end_phase(run, ZERO_GRAD);
        forward(run);
        begin_phase(run, LOSS);
        take(run, 13); /* kept for good */
        end_phase(run, LOSS);
        backward(run);
        optimize(run, step);
        feed(run, (struct event){.kind = EVENT_STEP_END});
    }
}

/* ---- */

static void open_run(struct run *run, size_t living)
{
    struct state_options options = {.start_ns = 1000};
    struct state_hello hello = {.pid = THREAD,
                                .parent = BATCH_NULL,
                                .origin = "root",
                                .at_ns = 1000,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL,
                                .argv = "train"};
    struct virtual_options device = {.capacity = UINT64_C(1) << 46};
    struct alloc_observer observer = {run, see};
    need(state_new(&run->state, &options) == 0, "no memory");
    run->process = state_process_begin(run->state, &hello);
    need(run->process && virtual_new(&run->device, &device) == 0, "no memory");
    state_process_source(run->process, "phases"); /* as whoever has steps */
    struct alloc_options alloc = {
        .device = virtual_seam(run->device), .observer = &observer, .flags = ALLOC_ONE_THREAD};
    need(alloc_new(&run->alloc, &alloc) == 0, "no memory");
    run->parameters = living / 10;
    run->activations = living * 6 / 10 / LAYERS;
    run->parameter = calloc(4 * run->parameters, sizeof *run->parameter);
    run->activation = calloc(LAYERS * run->activations, sizeof *run->activation);
    need(run->parameters && run->activations && run->parameter && run->activation, "LIVING");
    run->gradient = run->parameter + run->parameters;
    run->state_block = run->gradient + run->parameters;
    run->now_ns = run->flushed_ns = NS_PER_S;
}

static void close_run(struct run *run)
{
    struct state_end end = {run->now_ns, "exit", 0, BATCH_NULL};
    batch_put_meta(state_batch(run->state),
                   &(struct row_meta){.key = "finished", .value.number = row_opt(1)});
    state_process_end(run->process, &end);
    flush(run, true);
    queue_close(run->queue);
    state_free(run->state);
    run->over = true;
    alloc_delete(run->alloc);
    virtual_delete(run->device);
    free(run->parameter);
    free(run->activation);
}

static uint64_t number(int argc, char **argv, int at, uint64_t otherwise)
{
    return argc > at ? strtoull(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct run run = {0};
    struct db *db = NULL;
    struct writer *writer = NULL;
    bool single_file;
    need(argc > 1, "usage: make_recording FILE [ALLOCATIONS [SITES [LIVING]]]");
    unlink(argv[1]);
    need(db_create(&db, argv[1]) == 0, db_open_message());
    need(queue_new(&run.queue, QUEUE_BYTES) == 0 &&
             writer_start(&writer, db, run.queue, false, NULL) == 0,
         "no writer");
    run.sites = (uint32_t)number(argc, argv, 3, 200000);
    open_run(&run, number(argc, argv, 4, 100000));
    define_all(&run);
    train(&run, number(argc, argv, 2, 10000000));
    close_run(&run);
    need(writer_finish(writer, &single_file, NULL) == 0, "the recording is not whole");
    queue_free(run.queue);
    return 0;
}
