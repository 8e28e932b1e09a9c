/* cupti_start.c - see cupti_start.h. */
#include "cupti_start.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_buffers.h"
#include "cupti_api.h"
#include "cupti_callback.h"
#include "cupti_late.h"
#include "cupti_live.h"
#include "cupti_sample.h"

#define TEXT_BYTES 160
#define OURSELVES "Tidemark"

static char text[TEXT_BYTES];
static uint32_t version; /* of the library that is open; 0 = none */
static abi_subscriber subscriber;
static bool subscribed;

/* ---- sentences ---- */

static void say(const char *part)
{
    size_t used = strlen(text), bytes = strlen(part);
    if (bytes > TEXT_BYTES - 1 - used)
        bytes = TEXT_BYTES - 1 - used;
    memcpy(text + used, part, bytes);
    text[used + bytes] = '\0';
}

static void say_number(uint32_t number)
{
    char digits[12] = "";
    size_t at = sizeof digits - 1;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0 && at);
    say(digits + at);
}

static void begin_text(uint32_t of_version)
{
    text[0] = '\0';
    say("cupti");
    if (of_version) {
        say(" ");
        say_number(of_version);
    }
    say(": ");
}

static void say_result(int result)
{
    const char *name = NULL;
    if (cupti_api.get_result_string && cupti_api.get_result_string(result, &name) == ABI_OK && name)
        say(name);
    else {
        say("error ");
        say_number((uint32_t)result);
    }
}

const char *start_text(void)
{
    return text;
}

/* ---- one library ---- */

/* The other tool's name, where the library can tell it. */
static void say_holder(const char *name)
{
    begin_text(version);
    if (name && *name) {
        say("held by another tool, ");
        say(name);
    } else {
        say("held by another tool");
    }
}

static int subscribe(void)
{
    char holder[ABI_OLD_NAME_BYTES + 1] = "";
    struct abi_subscriber_params params = {
        .bytes = sizeof params,
        .name = OURSELVES,
        .old_name = holder,
        .old_bytes = ABI_OLD_NAME_BYTES,
    };
    int result = cupti_api.subscribe_v2
                     ? cupti_api.subscribe_v2(&subscriber, callback_take, NULL, &params)
                     : cupti_api.subscribe(&subscriber, callback_take, NULL);
    holder[ABI_OLD_NAME_BYTES] = '\0';
    if (result == ABI_HELD)
        say_holder(holder);
    return result;
}

static bool wants_work(void)
{
    const char *wanted = getenv("TIDEMARK_KERNELS");
    return wanted && strcmp(wanted, "1") == 0;
}

static void say_live(const char *what)
{
    begin_text(version);
    say(what);
    if (activity_on() & ACTIVITY_WORK)
        say(", kernels and copies");
    else if (wants_work())
        say(", but no kernels and copies");
}

static enum start_result with_callbacks(void)
{
    subscribed = true;
    if (callback_enable(subscriber) == 0) {
        start_end();
        begin_text(version);
        say("it knows none of the driver's calls");
        return START_REFUSED;
    }
    if (wants_work())
        activity_begin(ACTIVITY_WORK);
    say_live("driver callbacks");
    return START_CALLBACKS;
}

/* Subscribing was refused, but not for another tool's sake. */
static enum start_result with_records(int refused)
{
    if (late_start() && activity_begin(ACTIVITY_MEMORY)) {
        begin_text(version);
        say("memory records, reported late and without stacks; callbacks were refused: ");
        say_result(refused);
        return START_RECORDS;
    }
    begin_text(version);
    say("refused: ");
    say_result(refused);
    return START_REFUSED;
}

static enum start_result attempt(int *refused)
{
    *refused = subscribe();
    if (*refused == ABI_OK)
        return with_callbacks();
    return *refused == ABI_HELD ? START_HELD : START_REFUSED;
}

/* The first library that serves us. One that is newer than the driver says that it could not be
 * initialized; then an older one may. If none does, the last that was there is asked for records.
 */
enum start_result start_begin(void)
{
    uint32_t found = 0, too_old = 0;
    int refused = ABI_OK, there;
    for (int i = 0; (there = cupti_api_try(i, &found)) >= 0; i++) {
        if (there == 0)
            continue;
        if (found < CUPTI_OLDEST) {
            too_old = found;
            continue;
        }
        version = found;
        enum start_result result = attempt(&refused);
        if (result != START_REFUSED || refused == ABI_OK)
            return result;
        if (refused != ABI_NOT_INITIALIZED)
            break;
    }
    if (version)
        return with_records(refused);
    begin_text(too_old);
    say(too_old ? "too old: CUDA 12.0 or later is needed"
                : "CUDA has started, but no libcupti.so.13 or .12 was found; TIDEMARK_CUPTI may "
                  "name one");
    return START_NO_LIBRARY;
}

enum start_result start_again(void)
{
    int refused;
    if (!version)
        return start_begin();
    enum start_result result = attempt(&refused);
    if (result == START_REFUSED && refused != ABI_OK) {
        begin_text(version);
        say("refused: ");
        say_result(refused);
    }
    return result;
}

bool start_beside(void)
{
    if (!late_start() || !((wants_work() && activity_begin(ACTIVITY_MEMORY | ACTIVITY_WORK)) ||
                           activity_begin(ACTIVITY_MEMORY)))
        return false;
    say_live("memory records since torch.profiler");
    return true;
}

/* Subscribing alone brings no callback. So the records of before are told first, then callbacks
 * begin, then records end; those of the moment between are told unless a callback has told of the
 * same memory. */
enum start_result start_over(void)
{
    int result = subscribe();
    if (result != ABI_OK)
        return result == ABI_HELD ? START_HELD : START_REFUSED;
    subscribed = true;
    activity_flush(true, true);
    live_watch(true);
    if (callback_enable(subscriber) == 0) {
        cupti_api.unsubscribe(subscriber);
        subscribed = false;
        live_watch(false);
        return START_REFUSED;
    }
    activity_end(ACTIVITY_MEMORY);
    live_watch(false);
    say_live("driver callbacks");
    return START_CALLBACKS;
}

void start_end(void)
{
    activity_end(ACTIVITY_MEMORY | ACTIVITY_WORK);
    sample_contexts_heard(false);
    if (subscribed)
        cupti_api.unsubscribe(subscriber);
    subscribed = false;
}
