/*
 * torch_node.c - see torch_node.h.
 *
 * Where a node keeps its number is found in the node itself. It begins with the pointer of its
 * class and what counts its owners: two pointers (up to 2.12), or one word; then come the number,
 * three words with its height in the graph and its flags, and the thread. Of the two places only
 * one has a thread behind it that has made nodes, and a number that it has given out; a node that
 * adds up gradients has all bits set instead, and belongs to nobody.
 */
#include "torch_node.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "dynlink.h"
#include "guest.h"
#include "here.h"
#include "pyframes.h"
#include "symbols.h"
#include "torch_late.h"
#include "torch_made.h"

#define EXPORT __attribute__((visibility("default")))
#define MANGLED(name) __asm__(name) EXPORT
#define NUMBERING "_ZN2at15sequence_number17get_and_incrementEv"
#define EVALUATING                                                                                 \
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4Node"      \
    "ERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE"
#define THREAD "_ZN2at14RecordFunction15currentThreadIdEv"

uint64_t number_node(void) MANGLED(NUMBERING);
void evaluate_node(void *engine, void *task, const char *node, void *inputs, void *queue)
    MANGLED(EVALUATING);

typedef uint64_t (*number_fn)(void);
typedef void (*evaluate_fn)(void *engine, void *task, const char *node, void *inputs, void *queue);

enum original { ORIGINAL_NUMBER, ORIGINAL_EVALUATE, ORIGINAL_THREAD, ORIGINALS };
static const char *const names[ORIGINALS] = {NUMBERING, EVALUATING, THREAD};
static _Atomic uintptr_t originals[ORIGINALS]; /* 0: not sought yet; NOWHERE */
#define NOWHERE 1

/* A node; thread 0: none that is known. */
struct node {
    uint64_t thread, number;
};

/* Those that are being evaluated, the outermost first. The engine nests 60 in a thread; what is
 * deeper is only counted. */
enum { MOST_NESTED = 48 };
/* A library that is opened late has less than 2 KiB for all of its threads' variables. */
static __thread struct {
    uint32_t depth;
    uint32_t looked; /* depth, once `module` is what torch_made_by says of the innermost; or 0 */
    uint32_t module;
    struct node nodes[MOST_NESTED];
} mine;

/* The libraries that call us are loaded, so what they would call else is. */
static __attribute__((noinline)) void bind(void)
{
    struct symbol found[ORIGINALS] = {{.name = NUMBERING}, {.name = EVALUATING}, {.name = THREAD}};
    symbols_find_behind(found, ORIGINALS);
    for (int i = 0; i < ORIGINALS; i++) {
        void *handle = found[i].address ? NULL : dynlink_loaded("libtorch_cpu.so");
        if (handle)
            found[i].address = dynlink_dlsym(handle, names[i]);
        atomic_store(&originals[i], found[i].address ? (uintptr_t)found[i].address : NOWHERE);
    }
}

/* 0: there is none. */
static uintptr_t original(enum original which)
{
    uintptr_t address = atomic_load_explicit(&originals[which], memory_order_acquire);
    if (__builtin_expect(!address, 0)) {
        bind();
        address = atomic_load(&originals[which]);
    }
    return address == NOWHERE ? 0 : address;
}

/* An engine is called by its own library alone. Two of them in a process each have theirs: what was
 * found for a place that calls is remembered. */
static evaluate_fn evaluate_of(const void *caller)
{
    enum { PLACES = 8 };
    static __thread struct {
        const void *caller;
        uintptr_t address;
    } places[PLACES];
    size_t at = ((uintptr_t)caller >> 4) % PLACES;
    if (__builtin_expect(places[at].caller != caller, 0)) {
        struct symbol found = {.name = EVALUATING};
        symbols_find_around(caller, &found, 1);
        places[at].address = found.address ? (uintptr_t)found.address : original(ORIGINAL_EVALUATE);
        places[at].caller = caller;
    }
    return (evaluate_fn)places[at].address;
}

/* ---- a node is made ---- */

/* Counts as libtorch_cpu does, should there be none. */
static uint64_t number_here(void)
{
    static __thread uint64_t next;
    return next++;
}

static void remember(uint64_t number)
{
    uintptr_t thread = original(ORIGINAL_THREAD);
    if (thread && here_stacks && guest.page && guest_live())
        torch_made(((number_fn)thread)(), number, pyframes_module().module);
}

uint64_t number_node(void)
{
    uintptr_t next = original(ORIGINAL_NUMBER);
    uint64_t number = next ? ((number_fn)next)() : number_here();
    if (pymodules_count())
        remember(number);
    return number;
}

/* ---- a node is evaluated ---- */

enum { NUMBER_AT = 16, NUMBER_AT_OLD = 24, THREAD_BEHIND = 24 };

static uint64_t word_at(const char *node, size_t offset)
{
    uint64_t word;
    memcpy(&word, node + offset, sizeof word);
    return word;
}

static bool is_node_at(const char *node, size_t offset, struct node *found)
{
    *found = (struct node){word_at(node, offset + THREAD_BEHIND), word_at(node, offset)};
    return torch_has_made(found->thread, found->number);
}

static struct node read_node(const char *node)
{
    struct node found;
    if (is_node_at(node, NUMBER_AT, &found) || is_node_at(node, NUMBER_AT_OLD, &found))
        return found;
    return (struct node){0, 0};
}

static void enter(struct node node)
{
    if (mine.depth < MOST_NESTED)
        mine.nodes[mine.depth] = node;
    mine.depth++;
    mine.looked = 0;
}

static void leave(void)
{
    if (mine.depth)
        mine.depth--;
    mine.looked = 0;
}

/* An exception of the program's may pass through evaluate_node. The unwinder asks the personality
 * of each frame on its way, first where the exception is caught, then again as it takes the frame
 * away: that is where the node is left. The frame has no landing pad, so we need nothing of the
 * unwinder's own library, which a program in C may not have. */
enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };

__attribute__((used)) static int pass_through(int version, int actions, uint64_t kind,
                                              void *exception,
                                              void *context) __asm__("tidemark_pass_through");

static int pass_through(int version, int actions, uint64_t kind, void *exception, void *context)
{
    (void)version, (void)kind, (void)exception, (void)context;
    if (actions & CLEANUP_PHASE)
        leave();
    return CONTINUE_UNWIND;
}

void evaluate_node(void *engine, void *task, const char *node, void *inputs, void *queue)
{
    __asm__ volatile(".cfi_personality 0x1b, tidemark_pass_through"); /* relative, of 4 bytes */
    evaluate_fn next = evaluate_of(__builtin_return_address(0));
    enter(node && pymodules_count() ? read_node(node) : (struct node){0, 0});
    next(engine, task, node, inputs, queue);
    leave();
}

/* The blocks of a node ask once. */
uint32_t torch_node_module(void)
{
    if (!mine.depth || mine.depth > MOST_NESTED)
        return 0;
    if (mine.looked != mine.depth) {
        const struct node *node = &mine.nodes[mine.depth - 1];
        mine.module = node->thread ? torch_made_by(node->thread, node->number) : 0;
        mine.looked = mine.depth;
    }
    return mine.module;
}

void torch_node_forget(void)
{
    mine.depth = mine.looked = 0;
}

static uint64_t own_number(void) __attribute__((alias(NUMBERING), used));
static void own_evaluate(void *, void *, const char *, void *, void *)
    __attribute__((alias(EVALUATING), used));

const struct torch_late torch_node_late[TORCH_NODE_LATE] = {
    {NUMBERING, (torch_late_function)own_number},
    {EVALUATING, (torch_late_function)own_evaluate},
};
