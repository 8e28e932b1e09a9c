/* record.c - see record.h. */
#include "record.h"

#include "mem.h"
#include "values.h"

static _Thread_local struct record *recording;

void record_to(struct record *record)
{
    recording = record;
}

struct record *record_of_thread(void)
{
    return recording;
}

/* Kernels of a graph write to the same places over and over: the last few are looked at. */
#define LOOKS_BACK 64u

static bool has(const struct record *record, uint64_t at, uint64_t count)
{
    size_t from = record->count > LOOKS_BACK ? record->count - LOOKS_BACK : 0;
    for (size_t i = from; i < record->count; i++)
        if (record->list[i].at == at && record->list[i].count == count)
            return true;
    return false;
}

void record_add(struct record *record, uint64_t at, uint64_t count)
{
    pthread_mutex_lock(&record->lock);
    if (!record->everything && !has(record, at, count)) {
        if (MEM_GROW(record->list, record->cap, record->count + 1))
            record->list[record->count++] = (struct record_range){at, count};
        else
            record->everything = true;
    }
    pthread_mutex_unlock(&record->lock);
}

void record_everything(struct record *record)
{
    pthread_mutex_lock(&record->lock);
    record->everything = true;
    pthread_mutex_unlock(&record->lock);
}

void record_copy(struct record *to, struct record *from)
{
    pthread_mutex_lock(&from->lock);
    to->everything = from->everything;
    for (size_t i = 0; i < from->count; i++)
        record_add(to, from->list[i].at, from->list[i].count);
    pthread_mutex_unlock(&from->lock);
}

void record_replay(struct record *record)
{
    if (!values_any())
        return;
    pthread_mutex_lock(&record->lock);
    if (record->everything)
        values_forget_all();
    for (size_t i = 0; !record->everything && i < record->count; i++) {
        if (record->list[i].count)
            values_forget(record->list[i].at, record->list[i].count);
        else
            values_forget_run(record->list[i].at);
    }
    pthread_mutex_unlock(&record->lock);
}

void record_drop(struct record *record)
{
    mem_free(record->list);
    *record = RECORD_NEW;
}
