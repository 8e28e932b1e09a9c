#include "loop.h"

#include <string.h>

#include "clock.h"
#include "test.h"

enum { PARAMETERS = 12, ACTIVATIONS = 6, HELD = 256, SITES = 20 };
enum { ZERO_GRAD, FORWARD, LAYER, LOSS, BACKWARD, OPTIMIZER, NAMES };

struct held {
    uint64_t address, until; /* step; 0: empty */
};

struct player {
    struct state_process *process;
    uint64_t next_address, step, number;
    uint64_t gradients[PARAMETERS], activations[ACTIVATIONS];
    struct held held[HELD];
    uint32_t names[NAMES], sites[SITES];
};

struct loop {
    const struct loop_options *options;
    struct state *state;
    uint64_t now, ticket;
    struct player players[2];
    bool (*sink)(void *self, struct batch *batch);
    void *self;
    bool stopped;
};

static uint32_t define(struct player *player, uint32_t kind, const void *payload, size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = kind};
    state_define(player->process, &record, payload);
    return (uint32_t)++player->number;
}

static void feed(struct loop *loop, struct player *player, struct event event)
{
    event.time_ns = loop->now += 100;
    event.word = ++loop->ticket;
    event.thread = event.thread ? event.thread : 1;
    state_event(player->process, &event);
}

static uint64_t take(struct loop *loop, struct player *player, unsigned site, uint64_t size)
{
    uint64_t address = player->next_address;
    player->next_address += size;
    feed(loop, player,
         (struct event){.kind = EVENT_BLOCK_ALLOC,
                        .addr = address,
                        .size = size,
                        .site = player->sites[site],
                        .heap = 1});
    return address;
}

static void give(struct loop *loop, struct player *player, uint64_t address)
{
    feed(loop, player, (struct event){.kind = EVENT_BLOCK_FREE, .addr = address, .heap = 1});
}

static void phase(struct loop *loop, struct player *player, unsigned name, bool begin)
{
    feed(loop, player,
         (struct event){.kind = begin ? EVENT_PHASE_BEGIN : EVENT_PHASE_END,
                        .name = player->names[name]});
}

static void step_mark(struct loop *loop, struct player *player, bool begin)
{
    feed(loop, player,
         (struct event){.kind = begin ? EVENT_STEP_BEGIN : EVENT_STEP_END,
                        .a = begin ? player->step : 0});
}

static void aside(struct loop *loop, struct player *player)
{
    struct event event = {.kind = EVENT_PHASE_END, .name = player->names[LAYER], .thread = 2};
    if (player->step)
        feed(loop, player, event);
    event.kind = EVENT_PHASE_BEGIN;
    feed(loop, player, event);
    event = (struct event){.kind = EVENT_BLOCK_ALLOC, .addr = 4096, .size = 256, .thread = 2};
    event.site = player->sites[5];
    event.heap = 1;
    feed(loop, player, event);
    feed(loop, player,
         (struct event){.kind = EVENT_BLOCK_FREE, .addr = 4096, .heap = 1, .thread = 2});
}

static void hold(struct player *player, uint64_t address, uint64_t steps)
{
    struct held *held = &player->held[address / 512 % HELD];
    if (held->until == 0)
        *held = (struct held){address, player->step + steps};
}

static bool is_held(const struct player *player, uint64_t address)
{
    return player->held[address / 512 % HELD].address == address;
}

static void let_go(struct loop *loop, struct player *player)
{
    for (size_t i = 0; i < HELD; i++) {
        if (player->held[i].until && player->held[i].until <= player->step) {
            give(loop, player, player->held[i].address);
            player->held[i] = (struct held){0, 0};
        }
    }
}

static void driver(struct loop *loop, struct player *player)
{
    const uint64_t at = 1ull << 40;
    struct event event = {.kind = EVENT_DRIVER_ALLOC, .addr = at, .size = 4096, .heap = 1};
    event.a = DRIVER_ASYNC;
    feed(loop, player, event);
    feed(loop, player,
         (struct event){
             .kind = EVENT_SAMPLE, .name = player->names[0], .heap = 1, .a = player->step});
    for (uint64_t i = 0; i < 2; i++)
        feed(loop, player,
             (struct event){.kind = EVENT_ACTIVITY,
                            .addr = loop->now - 50,
                            .size = 40,
                            .heap = 1,
                            .a = i << 8 | ACTIVITY_KERNEL});
    feed(loop, player,
         (struct event){.kind = EVENT_DRIVER_FREE, .addr = at, .heap = 1, .a = DRIVER_ASYNC});
}

static void forward(struct loop *loop, struct player *player)
{
    uint64_t step = player->step;
    phase(loop, player, FORWARD, true);
    if (loop->options->driver)
        driver(loop, player);
    unsigned activations = loop->options->small ? 4 : ACTIVATIONS;
    for (unsigned i = 0; i < activations; i++) {
        if (i == 2)
            phase(loop, player, LAYER, true);
        uint64_t more = i == 3 && step % 100 == 37 && step < loop->options->grow_until ? step : 0;
        player->activations[i] = take(loop, player, i, 4096 * (i + 1) + 512 * more);
        give(loop, player, take(loop, player, 10, 1024));
        if (i == 3)
            phase(loop, player, LAYER, false);
    }
    if (loop->options->aside)
        aside(loop, player);
    phase(loop, player, FORWARD, false);
}

static void loss(struct loop *loop, struct player *player)
{
    uint64_t step = player->step, every = loop->options->leak_every;
    phase(loop, player, LOSS, true);
    uint64_t kept = take(loop, player, 11, 512);
    hold(player, kept, 1 + step % 5 + (step % 41 == 0 ? 300 : 0));
    if (!is_held(player, kept))
        give(loop, player, kept);
    if (every && step % every == 0)
        take(loop, player, 12, 2048); /* never freed */
    phase(loop, player, LOSS, false);
    if (loop->options->oom_at && step == loop->options->oom_at)
        feed(loop, player,
             (struct event){
                 .kind = EVENT_OOM, .size = 1 << 30, .site = player->sites[3], .heap = 1});
}

static void one_step(struct loop *loop, struct player *player)
{
    bool phases = !loop->options->no_steps;
    if (!phases) {
        for (unsigned i = 0; i < 20; i++)
            give(loop, player, take(loop, player, i % SITES, 4096 * (1 + i)));
        if (player->step < 3)
            take(loop, player, 12, 2048);
        player->step++;
        return;
    }
    step_mark(loop, player, true);
    phase(loop, player, ZERO_GRAD, true);
    unsigned parameters = loop->options->small ? 2 : PARAMETERS;
    unsigned activations = loop->options->small ? 4 : ACTIVATIONS;
    for (unsigned i = 0; player->step && i < parameters; i++)
        give(loop, player, player->gradients[i]);
    let_go(loop, player);
    phase(loop, player, ZERO_GRAD, false);
    forward(loop, player);
    loss(loop, player);
    phase(loop, player, BACKWARD, true);
    for (unsigned i = 0; i < parameters; i++)
        player->gradients[i] = take(loop, player, 13, 8192);
    for (unsigned i = activations; i-- > 0;)
        give(loop, player, player->activations[i]);
    phase(loop, player, BACKWARD, false);
    phase(loop, player, OPTIMIZER, true);
    for (unsigned i = 0; player->step == 0 && i < 2 * PARAMETERS; i++)
        take(loop, player, 14, 8192);
    phase(loop, player, OPTIMIZER, false);
    step_mark(loop, player, false);
    player->step++;
}

static void flush(struct loop *loop, bool commit)
{
    struct batch *batch = state_flush(loop->state, loop->now, commit);
    REQUIRE(batch);
    if (!loop->stopped)
        loop->stopped = !loop->sink(loop->self, batch);
    else
        batch_free(batch);
}

static void begin(struct loop *loop, struct player *player, unsigned number)
{
    static const char *const names[NAMES] = {"zero_grad", "forward",  "layer",
                                             "loss",      "backward", "optimizer"};
    struct state_hello hello = {.pid = 100 + number,
                                .parent = BATCH_NULL,
                                .origin = number ? "spawn" : "root",
                                .at_ns = loop->now,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL};
    struct arena_heap heap = {.device_kind = DEVICE_CUDA, .device_index = (int32_t)number};
    *player = (struct player){.next_address = 1 << 20};
    REQUIRE((player->process = state_process_begin(loop->state, &hello)));
    REQUIRE(define(player, ARENA_HEAP, &heap, sizeof heap) == 1);
    for (unsigned i = 0; i < NAMES; i++)
        player->names[i] = define(player, ARENA_STRING, names[i], strlen(names[i]));
    for (unsigned i = 0; i < SITES; i++) {
        struct arena_frame frame = {player->names[i % NAMES], 0, i + 1, 0};
        uint32_t number_of_frame = define(player, ARENA_FRAME, &frame, sizeof frame);
        player->sites[i] = define(player, ARENA_SITE, &number_of_frame, sizeof number_of_frame);
    }
    for (unsigned i = 0; i < PARAMETERS; i++)
        take(loop, player, 15, 8192);
}

static void end(struct loop *loop, struct player *player)
{
    struct state_end how = {loop->now, "exit", 0, BATCH_NULL};
    state_process_end(player->process, &how);
}

static void replace(struct loop *loop, struct player *player, unsigned number)
{
    end(loop, player);
    begin(loop, player, number);
}

void loop_run(const struct loop_options *options, bool (*sink)(void *self, struct batch *batch),
              void *self)
{
    static struct loop loop;
    struct state_options state = {.start_ns = 1000};
    loop = (struct loop){.options = options, .now = 1000, .sink = sink, .self = self};
    REQUIRE(state_new(&loop.state, &state) == 0);
    for (unsigned i = 0; i < options->processes; i++)
        begin(&loop, &loop.players[i], i);
    uint64_t every = options->batch_every ? options->batch_every : 512;
    for (uint64_t step = 0; step < options->steps && !loop.stopped; step++) {
        one_step(&loop, &loop.players[0]);
        for (unsigned i = 1; i < options->processes && step % 3; i++)
            one_step(&loop, &loop.players[i]);
        if (options->life && options->processes > 1 && step % options->life == options->life - 1)
            replace(&loop, &loop.players[1], 1);
        loop.now += options->step_ns;
        if (state_wants_flush(loop.state) || step % every == every - 1)
            flush(&loop, step % (2 * every) == 2 * every - 1);
    }
    batch_put_meta(state_batch(loop.state),
                   &(struct row_meta){.key = "finished", .value.number = row_opt(1)});
    for (unsigned i = 0; i < options->processes; i++)
        end(&loop, &loop.players[i]);
    flush(&loop, true);
    state_free(loop.state);
}
