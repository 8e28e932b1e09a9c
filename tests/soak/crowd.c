#include "crowd.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { PARAMETERS = 3, ACTIVATIONS = 6, OWN_SITES = 12, TAGS = 8, BATCH_TURNS = 64 };
enum { FORWARD, LOSS, BACKWARD, OPTIMIZER, USED, NAMES };

struct member { /* one process */
    struct state_process *process;
    uint32_t number; /* definitions so far */
    uint32_t heap, names[NAMES], sites[OWN_SITES], tags[TAGS];
    uint64_t next_address;
    uint64_t gradients[PARAMETERS], activations[ACTIVATIONS];
    unsigned step;
};

struct crowd {
    const struct crowd_options *options;
    struct state *state;
    uint64_t now, ticket, begun, seed;
    struct member members[1 + CROWD_BESIDE]; /* the first one stays */
};

static uint32_t define(struct member *member, uint32_t kind, const void *payload, size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = kind};
    state_define(member->process, &record, payload);
    return ++member->number;
}

static uint32_t define_text(struct member *member, const char *text)
{
    return define(member, ARENA_STRING, text, strlen(text));
}

static uint32_t define_site(struct member *member, unsigned number)
{
    char function[32];
    snprintf(function, sizeof function, "make_%u", number);
    uint32_t name = define_text(member, function), file = define_text(member, "crowd.py");
    struct arena_frame inner = {name, file, number + 1, 0}, outer = {name, file, 1, 0};
    uint32_t frames[2] = {define(member, ARENA_FRAME, &inner, sizeof inner),
                          define(member, ARENA_FRAME, &outer, sizeof outer)};
    return define(member, ARENA_SITE, frames, sizeof frames);
}

static void feed(struct crowd *crowd, struct member *member, struct event event)
{
    event.time_ns = crowd->now += 1000;
    event.word = ++crowd->ticket;
    event.thread = 1;
    state_event(member->process, &event);
}

static uint64_t take(struct crowd *crowd, struct member *member, unsigned site, uint64_t size)
{
    uint64_t address = member->next_address;
    member->next_address += size;
    feed(crowd, member,
         (struct event){.kind = EVENT_BLOCK_ALLOC,
                        .flags = EVENT_F_REQUESTED,
                        .addr = address,
                        .size = size,
                        .a = size - 8,
                        .site = member->sites[site % OWN_SITES],
                        .heap = member->heap & EVENT_MAX_HEAP});
    return address;
}

static void give(struct crowd *crowd, struct member *member, uint64_t address)
{
    feed(crowd, member,
         (struct event){
             .kind = EVENT_BLOCK_FREE, .addr = address, .heap = member->heap & EVENT_MAX_HEAP});
}

static void phase(struct crowd *crowd, struct member *member, unsigned name, bool begin)
{
    feed(crowd, member,
         (struct event){.kind = begin ? EVENT_PHASE_BEGIN : EVENT_PHASE_END,
                        .name = member->names[name]});
}

/* ---- a process ---- */

static void define_all(struct crowd *crowd, struct member *member)
{
    static const char *const names[NAMES] = {"forward", "loss", "backward", "optimizer",
                                             "device used"};
    struct arena_heap heap = {.device_kind = crowd->begun % 4 ? DEVICE_CUDA : DEVICE_CPU};
    char tag[32];
    member->heap = define(member, ARENA_HEAP, &heap, sizeof heap);
    for (unsigned i = 0; i < NAMES; i++)
        member->names[i] = define_text(member, names[i]);
    for (unsigned i = 0; i < OWN_SITES; i++)
        member->sites[i] = define_site(
            member, (unsigned)(test_random(&crowd->seed) % (crowd->options->sites + 1)));
    for (unsigned i = 0; i < TAGS; i++) {
        snprintf(tag, sizeof tag, "tensor.%u", (unsigned)(test_random(&crowd->seed) % 100));
        member->tags[i] = define_text(member, tag);
    }
}

static void begin(struct crowd *crowd, struct member *member)
{
    struct state_hello hello = {.pid = 1000 + (int64_t)crowd->begun,
                                .parent = crowd->begun ? 1 : BATCH_NULL,
                                .origin = crowd->begun ? "spawn" : "root",
                                .at_ns = crowd->now,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL,
                                .argv = "worker --of-a-crowd"};
    *member = (struct member){.next_address = 1 << 24};
    REQUIRE((member->process = state_process_begin(crowd->state, &hello)));
    define_all(crowd, member);
    crowd->begun++;
    feed(crowd, member,
         (struct event){.kind = EVENT_SEGMENT_ALLOC,
                        .addr = 1 << 24,
                        .size = 64 << 20,
                        .heap = member->heap & EVENT_MAX_HEAP});
    for (unsigned i = 0; i < PARAMETERS; i++) {
        uint64_t at = take(crowd, member, i, 8192 * (i + 1));
        feed(crowd, member,
             (struct event){.kind = EVENT_TAG,
                            .addr = at,
                            .size = 1,
                            .a = 1,
                            .name = member->tags[i % TAGS],
                            .heap = member->heap & EVENT_MAX_HEAP});
    }
    feed(crowd, member,
         (struct event){.kind = EVENT_SAMPLE,
                        .name = member->names[USED],
                        .a = 1 << 30,
                        .heap = member->heap & EVENT_MAX_HEAP});
}

static void train(struct crowd *crowd, struct member *member)
{
    feed(crowd, member, (struct event){.kind = EVENT_STEP_BEGIN, .a = member->step});
    phase(crowd, member, FORWARD, true);
    for (unsigned i = 0; i < ACTIVATIONS; i++) {
        unsigned more = (unsigned)(test_random(&crowd->seed) % 64);
        member->activations[i] = take(crowd, member, 3 + i, 512 * (1 + i + more));
    }
    phase(crowd, member, FORWARD, false);
    phase(crowd, member, LOSS, true);
    give(crowd, member, take(crowd, member, 9, 1024));
    phase(crowd, member, LOSS, false);
    phase(crowd, member, BACKWARD, true);
    for (unsigned i = 0; i < PARAMETERS; i++) {
        if (member->step)
            give(crowd, member, member->gradients[i]);
        member->gradients[i] = take(crowd, member, 10, 8192 * (i + 1));
    }
    for (unsigned i = ACTIVATIONS; i-- > 0;)
        give(crowd, member, member->activations[i]);
    phase(crowd, member, BACKWARD, false);
    phase(crowd, member, OPTIMIZER, true);
    if (member->step == 0)
        take(crowd, member, 11, 4096);
    phase(crowd, member, OPTIMIZER, false);
    feed(crowd, member, (struct event){.kind = EVENT_STEP_END});
    member->step++;
}

static void end(struct crowd *crowd, struct member *member)
{
    struct state_end how = {crowd->now, "exit", 0, BATCH_NULL};
    state_process_end(member->process, &how);
    member->process = NULL;
}

/* ---- all of them ---- */

static bool flush(struct crowd *crowd, bool (*sink)(void *self, struct batch *batch), void *self)
{
    struct batch *batch = state_flush(crowd->state, crowd->now, true);
    REQUIRE(batch);
    return sink(self, batch);
}

/* One of those beside the first takes a step; the last one makes room for another process. False:
 * there is nobody left to come. */
static bool turn(struct crowd *crowd)
{
    struct member *member = &crowd->members[1 + test_random(&crowd->seed) % CROWD_BESIDE];
    if (!member->process && crowd->begun > crowd->options->processes)
        return false;
    if (!member->process)
        begin(crowd, member);
    train(crowd, member);
    if (member->step >= crowd->options->steps) {
        end(crowd, member);
        train(crowd, &crowd->members[0]);
    }
    return true;
}

void crowd_run(const struct crowd_options *options, bool (*sink)(void *self, struct batch *batch),
               void *self)
{
    static struct crowd crowd;
    const struct state_options state = {.start_ns = 1000};
    bool goes_on = true;
    crowd = (struct crowd){.options = options, .now = 1000, .seed = 42};
    REQUIRE(state_new(&crowd.state, &state) == 0);
    begin(&crowd, &crowd.members[0]);
    for (uint64_t turns = 1; goes_on && turn(&crowd); turns++) {
        crowd.now += 100000;
        if (turns % BATCH_TURNS == 0 || state_wants_flush(crowd.state))
            goes_on = flush(&crowd, sink, self);
    }
    batch_put_meta(state_batch(crowd.state),
                   &(struct row_meta){.key = "finished", .value.number = row_opt(1)});
    for (unsigned i = 0; i <= CROWD_BESIDE; i++)
        if (crowd.members[i].process)
            end(&crowd, &crowd.members[i]);
    if (goes_on)
        flush(&crowd, sink, self);
    state_free(crowd.state);
}
