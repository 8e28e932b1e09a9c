/* cupti_callback.c - see cupti_callback.h. */
#include "cupti_callback.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "cupti_life.h"
#include "cupti_api.h"
#include "cupti_caller.h"
#include "cupti_calls.h"
#include "cupti_decode.h"
#include "cupti_device.h"
#include "cupti_live.h"
#include "cupti_sample.h"
#include "guest.h"
#include "here.h"
#include "intern.h"

#define DEPTH 4

/* A call of the driver that is under way in this thread. */
struct under_way {
    uint32_t correlation;
    uint32_t number; /* live_number() */
    uint16_t cbid;
    bool known;  /* what it takes back */
    bool nested; /* inside of another that is told */
};

static __thread struct {
    uint32_t epoch; /* of what follows; another one: nothing is under way */
    uint32_t depth;
    struct under_way calls[DEPTH];
    const char *outer; /* the runtime's call around them, NULL = none */
    uint32_t outer_cbid, outer_correlation;
    bool inside; /* in one of our callbacks */
} mine;

static _Atomic uint32_t epoch = 1; /* counts subscriptions */
static _Atomic uint64_t lost;      /* calls without an exit */

uint64_t callback_lost(void)
{
    return atomic_load(&lost);
}

/* The calls under way from this place on have ended unseen. */
static void throw_away(uint32_t from)
{
    atomic_fetch_add(&lost, mine.depth - from);
    mine.depth = from;
}

static void renew(void)
{
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    if (mine.epoch == now)
        return;
    mine.epoch = now;
    mine.depth = 0;
    mine.outer = NULL;
}

/* ---- the runtime's calls: their names ---- */

static void enter_runtime(uint32_t cbid, const struct abi_callback *data)
{
    bool stale = mine.outer && (mine.depth || mine.outer_cbid == cbid);
    if (stale)
        atomic_fetch_add(&lost, 1);
    throw_away(0);
    if (mine.outer && !stale)
        return; /* inside of it */
    mine.outer = runtime_call_name(cbid);
    mine.outer_cbid = cbid;
    mine.outer_correlation = data->correlation;
}

static void take_runtime(uint32_t cbid, const struct abi_callback *data)
{
    if (data->place == ABI_ENTER)
        enter_runtime(cbid, data);
    else if (data->place == ABI_EXIT && mine.outer_correlation == data->correlation)
        mine.outer = NULL;
}

/* ---- the driver's calls ---- */

static bool has_effect(const struct call *call)
{
    return call->action > CALL_CLOSE;
}

static bool begins_or_ends_capture(const struct call *call)
{
    return call->action >= CALL_CAPTURE_BEGIN && call->action <= CALL_CAPTURE_END;
}

/* See cupti_callback.h. */
static void throw_stale(const struct call *call)
{
    if (mine.depth == DEPTH)
        throw_away(0);
    for (uint32_t i = 0; has_effect(call) && i < mine.depth; i++)
        if (mine.calls[i].cbid == call->cbid)
            throw_away(i);
}

/* Never NULL. */
static struct under_way *push(const struct call *call, const struct abi_callback *data)
{
    throw_stale(call);
    const struct under_way *outer = mine.depth ? &mine.calls[mine.depth - 1] : NULL;
    const struct call *outer_call = outer ? call_find(outer->cbid) : NULL;
    mine.calls[mine.depth] = (struct under_way){
        .correlation = data->correlation,
        .cbid = call->cbid,
        .nested = outer && (outer->nested || has_effect(outer_call)),
    };
    return &mine.calls[mine.depth++];
}

/* The call that ends, and with it those inside of it whose ends were not seen. */
static bool pop(const struct call *call, const struct abi_callback *data, struct under_way *ended)
{
    for (uint32_t i = mine.depth; i-- > 0;) {
        if (mine.calls[i].correlation != data->correlation || mine.calls[i].cbid != call->cbid)
            continue;
        *ended = mine.calls[i];
        mine.depth = i;
        return true;
    }
    return false;
}

static int32_t device_now(const void *context)
{
    return context ? device_of_context(context) : device_only();
}

/* A context may be going just now, in this thread: what it still does is no sign of life. Nor is a
 * call that has only begun, or that failed: it may fail because its context is gone. */
static bool closes(void)
{
    for (uint32_t i = 0; i < mine.depth; i++)
        if (call_find(mine.calls[i].cbid)->action == CALL_CLOSE)
            return true;
    return false;
}

static struct live_call who_of(const struct call *call, const struct abi_callback *data,
                               uint32_t number)
{
    return (struct live_call){
        .number = number,
        .name = intern_string(mine.outer ? mine.outer : call->name),
        .heap = device_heap(device_now(data->context)),
        .context = (uint64_t)(uintptr_t)data->context,
    };
}

static void take_enter(const struct call *call, const struct abi_callback *data)
{
    struct under_way *begun = push(call, data);
    if (call->action == CALL_CLOSE) {
        cupti_context_goes();
        sample_context_goes(NULL);
    } else if (call->action == CALL_GRAPH_END && data->params) {
        decode_graph_end(call, data->params, intern_string(mine.outer ? mine.outer : call->name));
    }
    if (begun->nested || !decode_takes(call) || !data->params)
        return;
    begun->number = live_number();
    struct live_call who = who_of(call, data, begun->number);
    begun->known = decode_enter(call, data->params, &who);
}

static void take_exit(const struct call *call, const struct abi_callback *data)
{
    struct under_way ended;
    bool failed = !data->result || *data->result != 0;
    bool takes = decode_takes(call);
    if (!pop(call, data, &ended) || ended.nested || !data->params)
        return;
    if (has_effect(call) && !failed && !closes())
        sample_context_seen(data->context, device_of_context(data->context));
    if (!has_effect(call) && call->action >= CALL_LOOK && !failed)
        sample_soon();
    if (begins_or_ends_capture(call) && data->result)
        decode_capture(call, data->params, data->context, *data->result);
    if (call->action == CALL_GRAPH_READY && !failed)
        decode_graph_ready(data->params);
    if (!has_effect(call) || (failed && !takes))
        return;
    struct live_call who = who_of(call, data, ended.number);
    if (!takes) {
        who.library = here_stacks ? caller_library() : 0;
        who.site = here_site();
    }
    decode_exit(call, data->params, &who, ended.known, failed);
}

static void take_driver(uint32_t cbid, const struct abi_callback *data)
{
    const struct call *call = call_find(cbid);
    if (call && data->place == ABI_ENTER)
        take_enter(call, data);
    else if (call && data->place == ABI_EXIT)
        take_exit(call, data);
}

/* ---- contexts, errors ---- */

static void take_resource(uint32_t cbid, const struct abi_resource_data *data)
{
    if (cbid == ABI_CONTEXT_CREATED) {
        cupti_contexts(device_context_created(data->context));
        sample_soon();
    } else if (cbid == ABI_CONTEXT_DESTROY_STARTING) {
        uint32_t name = intern_string(mine.outer ? mine.outer : "cuCtxDestroy");
        sample_context_goes(data->context);
        live_context_gone((uint64_t)(uintptr_t)data->context, name);
        cupti_contexts(device_context_gone(data->context));
    }
}

static void dispatch(int domain, uint32_t cbid, const void *data)
{
    switch (domain) {
    case ABI_DRIVER:
        take_driver(cbid, data);
        break;
    case ABI_RUNTIME:
        take_runtime(cbid, data);
        break;
    case ABI_RESOURCE:
        take_resource(cbid, data);
        break;
    case ABI_STATE:
        if (cbid == ABI_FATAL_ERROR)
            cupti_fatal();
        break;
    default:
        break;
    }
}

void callback_take(void *own, int domain, uint32_t cbid, const void *data)
{
    (void)own;
    if (!data || mine.inside || !cupti_is_here() || !guest_live())
        return;
    int saved = errno;
    mine.inside = true;
    renew();
    dispatch(domain, cbid, data);
    mine.inside = false;
    errno = saved;
}

/* ---- what is asked for ---- */

uint32_t callback_enable(abi_subscriber subscriber)
{
    uint32_t heard = 0;
    atomic_fetch_add(&epoch, 1);
    for (size_t i = 0; i < calls_count; i++)
        if (calls[i].action != CALL_UNUSED &&
            cupti_api.enable_callback(1, subscriber, ABI_DRIVER, calls[i].cbid) == ABI_OK)
            heard++;
    for (size_t i = 0; i < runtime_calls_count; i++)
        cupti_api.enable_callback(1, subscriber, ABI_RUNTIME, runtime_calls[i].cbid);
    cupti_api.enable_callback(1, subscriber, ABI_RESOURCE, ABI_CONTEXT_CREATED);
    cupti_api.enable_callback(1, subscriber, ABI_RESOURCE, ABI_CONTEXT_DESTROY_STARTING);
    cupti_api.enable_callback(1, subscriber, ABI_STATE, ABI_FATAL_ERROR);
    sample_contexts_heard(true);
    return heard;
}
