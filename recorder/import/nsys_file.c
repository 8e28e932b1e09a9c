/* An export of Nsight Systems: its enumerations, strings, processes and memory; and the whole. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "db.h"
#include "error.h"
#include "event.h"
#include "format.h"
#include "mem.h"
#include "nsys.h"

static const char memory_table[] = "CUDA_GPU_MEMORY_USAGE_EVENTS";

/* ---- helpers ---- */

int nsys_odd(struct nsys *nsys)
{
    nsys->result->odd_values++;
    return BASE_OK;
}

bool nsys_is_time(const struct rows_value *value)
{
    return value->is_number && value->number > -NSYS_MOST_NS && value->number < NSYS_MOST_NS;
}

int nsys_walk(struct nsys *nsys, const char *name, const char *const *columns, rows_see *see,
              bool *found)
{
    struct rows_table table;
    int err = rows_find(&nsys->rows, name, columns, &table);
    if (found)
        *found = table.root != 0;
    if (err == BASE_OK)
        err = rows_walk(&nsys->rows, &table, see, nsys);
    if (err && !*nsys->result->message && *nsys->rows.message)
        import_say(nsys->result, err, nsys->rows.message);
    return err;
}

struct nsys_process *nsys_process_of(struct nsys *nsys, int64_t pid)
{
    for (size_t i = 0; i < nsys->process_count; i++)
        if (nsys->processes[i].pid == pid)
            return &nsys->processes[i];
    return NULL;
}

uint32_t nsys_string(const struct nsys *nsys, const struct rows_value *id)
{
    uint64_t found = id->is_number ? map_get(&nsys->strings, (uint64_t)id->number) : MAP_NONE;
    return found == MAP_NONE ? 0 : (uint32_t)found;
}

int nsys_name(struct nsys *nsys, struct block_log *log, const struct rows_value *text,
              const struct rows_value *id, uint32_t *name)
{
    uint32_t string = text->is_text ? 0 : nsys_string(nsys, id);
    *name = 0;
    if (text->is_text)
        return block_log_name(log, text->text, strnlen(text->text, text->bytes), name);
    if (!string)
        return BASE_OK;
    const char *found = intern_at(&nsys->texts, string);
    return block_log_name(log, found, strlen(found), name);
}

/* ---- enumerations ---- */

static bool label_is(const struct rows_value *label, const char *text)
{
    return label->is_text && label->bytes == strlen(text) &&
           strncasecmp(label->text, text, label->bytes) == 0;
}

static bool is_kind(const struct rows_value *id)
{
    return id->is_number && id->number >= 0 && id->number < (int64_t)NSYS_KINDS;
}

static enum driver_memory memory_kind_of(const struct rows_value *label)
{
    static const struct {
        const char *label;
        enum driver_memory kind;
    } kinds[] = {{"Pinned", DRIVER_HOST},          {"Device", DRIVER_DEVICE},
                 {"Array", DRIVER_ARRAY},          {"Managed", DRIVER_MANAGED},
                 {"Device Static", DRIVER_DEVICE}, {"Managed Static", DRIVER_MANAGED}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (label_is(label, kinds[i].label))
            return kinds[i].kind;
    return 0;
}

static int see_memory_kind(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    if (is_kind(&values[0]))
        nsys->memory_kind[values[0].number] = (uint8_t)memory_kind_of(&values[1]);
    return BASE_OK;
}

static int see_operation(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    if (is_kind(&values[0]))
        nsys->operation[values[0].number] = label_is(&values[1], "Allocation")     ? 1
                                            : label_is(&values[1], "Deallocation") ? -1
                                                                                   : 0;
    return BASE_OK;
}

/* "Pool Destroyed", or whatever it is called. */
static int see_pool_operation(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    bool destroys = false;
    for (size_t i = 0; values[1].is_text && i + 7 <= values[1].bytes; i++)
        destroys = destroys || strncasecmp(values[1].text + i, "destroy", 7) == 0;
    if (is_kind(&values[0]))
        nsys->destroys[values[0].number] = destroys;
    return BASE_OK;
}

/* As nsys numbers them where it writes no table of them. */
static int read_kinds(struct nsys *nsys)
{
    static const char *const columns[] = {"id", "label", NULL};
    static const uint8_t usual[] = {
        0, DRIVER_HOST, DRIVER_DEVICE, DRIVER_ARRAY, DRIVER_MANAGED, DRIVER_DEVICE, DRIVER_MANAGED};
    bool kinds, operations;
    int err = nsys_walk(nsys, "ENUM_CUDA_MEM_KIND", columns, see_memory_kind, &kinds);
    if (err == BASE_OK && !kinds)
        memcpy(nsys->memory_kind, usual, sizeof usual);
    if (err == BASE_OK)
        err = nsys_walk(nsys, "ENUM_CUDA_DEV_MEM_EVENT_OPER", columns, see_operation, &operations);
    if (err == BASE_OK && !operations) {
        nsys->operation[0] = 1;
        nsys->operation[1] = -1;
    }
    return err ? err : nsys_walk(nsys, "ENUM_CUDA_MEMPOOL_OPER", columns, see_pool_operation, NULL);
}

/* ---- what is around ---- */

static int see_string(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    char copy[BLOCK_LOG_NAME_BYTES];
    if (!values[0].is_number || !values[1].is_text)
        return BASE_OK;
    size_t bytes = strnlen(values[1].text, values[1].bytes);
    bytes = bytes < sizeof copy ? bytes : sizeof copy - 1;
    memcpy(copy, values[1].text, bytes);
    copy[bytes] = '\0';
    uint32_t number = budget_intern(&nsys->budget, &nsys->texts, copy, bytes + 1);
    if (!number)
        return nsys->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    return map_put(&nsys->strings, (uint64_t)values[0].number, number, NULL) ? BASE_OK : ERR_NOMEM;
}

static int see_process(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    int64_t pid = values[0].is_number ? nsys_pid(values[0].number) : -1;
    struct nsys_process *process = nsys_process_of(nsys, pid);
    if (!process || process->name || !values[1].is_text)
        return BASE_OK;
    size_t bytes = strnlen(values[1].text, values[1].bytes);
    process->name = mem_copy(values[1].text, bytes < BLOCK_LOG_NAME_BYTES ? bytes : 0);
    return process->name ? BASE_OK : ERR_NOMEM;
}

/* Which row is which device of a process is not in every export: if all are as large, it does not
 * matter. */
static int see_gpu(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    int64_t bytes = values[0].is_number ? values[0].number : 0;
    if (bytes <= 0 || bytes > NSYS_MOST_BYTES)
        return BASE_OK;
    nsys->total_bytes = nsys->total_bytes == 0 || nsys->total_bytes == bytes ? bytes : -1;
    return BASE_OK;
}

static int see_start(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    if (nsys_is_time(&values[0]) && values[0].number > 0)
        nsys->started_ns = values[0].number;
    return BASE_OK;
}

static int read_around(struct nsys *nsys)
{
    static const char *const processes[] = {"globalPid", "name", NULL};
    static const char *const gpus[] = {"totalMemory", NULL};
    static const char *const starts[] = {"utcEpochNs", NULL};
    int err = nsys_walk(nsys, "PROCESSES", processes, see_process, NULL);
    if (err == BASE_OK)
        err = nsys_walk(nsys, "TARGET_INFO_GPU", gpus, see_gpu, NULL);
    if (err == BASE_OK)
        err = nsys_walk(nsys, "TARGET_INFO_SESSION_START_TIME", starts, see_start, NULL);
    return err;
}

/* ---- memory ---- */

static int process_made(struct nsys *nsys, int64_t pid, struct nsys_process **out)
{
    *out = nsys_process_of(nsys, pid);
    if (*out)
        return BASE_OK;
    if (nsys->process_count == NSYS_PROCESSES)
        return import_say(nsys->result, ERR_LIMIT, "it has more than 64 processes with memory");
    *out = &nsys->processes[nsys->process_count++];
    (*out)->pid = pid;
    block_log_allow(&(*out)->log, (uint64_t)nsys->rows.pages.file_bytes);
    return BASE_OK;
}

static int place_of(struct block_log *log, const struct rows_value *device, uint32_t *place)
{
    return block_log_place(log, DEVICE_CUDA, (int32_t)device->number, 0, place);
}

static bool is_device(const struct rows_value *device)
{
    return device->is_number && device->number >= 0 && device->number < (int64_t)IMPORT_MAX_DEVICES;
}

static bool is_size(const struct rows_value *bytes)
{
    return bytes->is_number && bytes->number >= 0 && bytes->number <= NSYS_MOST_BYTES;
}

static int add_pool(struct block_log *log, int64_t ns, uint32_t place, int64_t address,
                    int64_t bytes)
{
    struct block_log_entry entry = {.kind = LOG_POOL,
                                    .time_ns = ns,
                                    .addr = (uint64_t)address,
                                    .size = (uint64_t)bytes,
                                    .place = place};
    return block_log_add(log, &entry);
}

enum {
    M_START,
    M_PID,
    M_DEVICE,
    M_ADDRESS,
    M_BYTES,
    M_KIND,
    M_OPERATION,
    M_CORRELATION,
    M_STREAM,
    M_POOL,
    M_POOL_SIZE,
    M_IMPORTED
};
static const char *const memory_columns[] = {"start",
                                             "globalPid",
                                             "deviceId",
                                             "address",
                                             "bytes",
                                             "memKind",
                                             "memoryOperationType",
                                             "correlationId",
                                             "streamId",
                                             "localMemoryPoolAddress",
                                             "localMemoryPoolSize",
                                             "importedMemoryPoolAddress",
                                             NULL};

static bool is_set(const struct rows_value *value)
{
    return value->is_number && value->number != 0;
}

/* Device memory that came out of a pool is a part of it. */
static enum driver_memory kind_of(const struct nsys *nsys, const struct rows_value *values)
{
    enum driver_memory kind =
        is_kind(&values[M_KIND]) ? nsys->memory_kind[values[M_KIND].number] : 0;
    if (kind == DRIVER_DEVICE && is_set(&values[M_POOL]))
        return DRIVER_ASYNC;
    if (kind == DRIVER_DEVICE && is_set(&values[M_IMPORTED]))
        return DRIVER_IMPORTED;
    return kind;
}

/* The call is found later, by the number that both have. */
static int want_call(struct nsys *nsys, const struct nsys_process *process,
                     const struct rows_value *correlation)
{
    uint64_t index = (uint64_t)(process - nsys->processes);
    if (!correlation->is_number || correlation->number <= 0 || correlation->number > UINT32_MAX)
        return BASE_OK;
    uint64_t key = (uint64_t)process->pid << 32 | (uint64_t)correlation->number;
    return map_put(&nsys->wanted, key, index << 32 | (process->log.count - 1), NULL) ? BASE_OK
                                                                                     : ERR_NOMEM;
}

static int add_memory(struct nsys *nsys, struct nsys_process *process,
                      const struct rows_value *values, enum driver_memory kind, bool comes)
{
    struct block_log_entry entry = {
        .kind = (comes ? LOG_DRIVER_ALLOC : LOG_DRIVER_FREE) & 0xf,
        .time_ns = values[M_START].number,
        .addr = (uint64_t)values[M_ADDRESS].number,
        .size = (uint64_t)values[M_BYTES].number,
        .allocated = kind,
        .reserved = is_set(&values[M_STREAM]) ? (uint64_t)values[M_STREAM].number : 0};
    uint32_t place = 0;
    int err = kind == DRIVER_HOST ? BASE_OK : place_of(&process->log, &values[M_DEVICE], &place);
    entry.place = place;
    if (err == BASE_OK)
        err = block_log_add(&process->log, &entry);
    if (err == BASE_OK && comes)
        err = want_call(nsys, process, &values[M_CORRELATION]);
    if (err || kind != DRIVER_ASYNC || !is_size(&values[M_POOL_SIZE]))
        return err;
    return add_pool(&process->log, entry.time_ns, place, values[M_POOL].number,
                    values[M_POOL_SIZE].number);
}

static int see_memory(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    struct nsys_process *process;
    if (!nsys_is_time(&values[M_START]) || !is_device(&values[M_DEVICE]) ||
        !values[M_ADDRESS].is_number || !is_size(&values[M_BYTES]) || !values[M_PID].is_number)
        return nsys_odd(nsys);
    int operation = is_kind(&values[M_OPERATION]) ? nsys->operation[values[M_OPERATION].number] : 0;
    enum driver_memory kind = kind_of(nsys, values);
    if (!operation || !kind) {
        nsys->result->unknown_actions++;
        return BASE_OK;
    }
    int err = process_made(nsys, nsys_pid(values[M_PID].number), &process);
    return err ? err : add_memory(nsys, process, values, kind, operation > 0);
}

/* What became of a pool itself. */
static int see_pool(void *self, const struct rows_value *values)
{
    struct nsys *nsys = self;
    struct nsys_process *process =
        values[1].is_number ? nsys_process_of(nsys, nsys_pid(values[1].number)) : NULL;
    bool gone = is_kind(&values[4]) && nsys->destroys[values[4].number];
    uint32_t place;
    if (!process || (!gone && !is_size(&values[5])))
        return BASE_OK;
    if (!nsys_is_time(&values[0]) || !is_device(&values[2]) || !values[3].is_number)
        return nsys_odd(nsys);
    int err = place_of(&process->log, &values[2], &place);
    return err ? err
               : add_pool(&process->log, values[0].number, place, values[3].number,
                          gone ? 0 : values[5].number);
}

static int read_memory(struct nsys *nsys)
{
    static const char *const pools[] = {
        "start", "globalPid", "deviceId", "address", "operationType", "localMemoryPoolSize", NULL};
    bool found;
    int err = nsys_walk(nsys, memory_table, memory_columns, see_memory, &found);
    if (err)
        return err;
    if (!found)
        return import_say(nsys->result, ERR_NOTOURS,
                          "it is an export of Nsight Systems without memory of the GPU: nsys "
                          "records that with --cuda-memory-usage=true");
    return nsys_walk(nsys, "CUDA_GPU_MEMORY_POOL_EVENTS", pools, see_pool, NULL);
}

/* Beside its first entry: the size of each device. */
static int add_totals(struct nsys *nsys, struct block_log *log)
{
    int64_t first = block_log_first_ns(log);
    int err = BASE_OK;
    for (uint32_t i = 1; err == BASE_OK && nsys->total_bytes > 0 && i <= log->places.item_count;
         i++) {
        struct block_log_entry entry = {
            .kind = LOG_TOTAL, .time_ns = first, .size = (uint64_t)nsys->total_bytes, .place = i};
        err = block_log_add(log, &entry);
    }
    return err;
}

/* ---- the whole ---- */

static int see_nothing(void *self, const struct rows_value *values)
{
    (void)self;
    (void)values;
    return BASE_OK;
}

/* Of any export some of these are there. */
static int check_export(struct nsys *nsys)
{
    static const char *const tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA",
                                         "TARGET_INFO_SYSTEM_ENV", "ANALYSIS_DETAILS",
                                         memory_table};
    static const char *const none[] = {NULL};
    bool found = false;
    int err = BASE_OK;
    if (nsys->rows.application == DB_APPLICATION_ID)
        return import_say(nsys->result, ERR_NOTOURS,
                          "it is a recording of Tidemark: tidemark peak reads it as it is");
    for (size_t i = 0; err == BASE_OK && !found && i < sizeof tables / sizeof *tables; i++)
        err = nsys_walk(nsys, tables[i], none, see_nothing, &found);
    if (err || found)
        return err;
    return import_say(nsys->result, ERR_NOTOURS,
                      "it is an SQLite database, but no export of Nsight Systems");
}

static int read_all(struct nsys *nsys)
{
    static const char *const strings[] = {"id", "value", NULL};
    int err = check_export(nsys);
    if (err == BASE_OK)
        err = read_kinds(nsys);
    if (err == BASE_OK)
        err = read_memory(nsys);
    if (err == BASE_OK)
        err = nsys_walk(nsys, "StringIds", strings, see_string, NULL);
    if (err == BASE_OK)
        err = read_around(nsys);
    if (err == BASE_OK)
        err = nsys_read_calls(nsys);
    if (err == BASE_OK)
        err = nsys_read_ranges(nsys);
    for (size_t i = 0; err == BASE_OK && i < nsys->process_count; i++)
        err = add_totals(nsys, &nsys->processes[i].log);
    return err;
}

int nsys_read(const char *path, struct nsys *nsys, struct import_result *result)
{
    *nsys = (struct nsys){.result = result};
    nsys->processes = mem_alloc(NSYS_PROCESSES, sizeof *nsys->processes);
    int err = rows_open(&nsys->rows, path);
    if (err)
        return import_say(result, err, nsys->rows.message);
    uint64_t bytes = (uint64_t)nsys->rows.pages.file_bytes;
    nsys->budget.limit = IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * (size_t)bytes;
    err = nsys->processes ? read_all(nsys) : ERR_NOMEM;
    result->bytes_read = bytes;
    result->records_bytes = nsys->budget.most;
    result->odd_values += nsys->rows.passed_over;
    for (size_t i = 0; i < nsys->process_count; i++)
        result->records_bytes += nsys->processes[i].log.budget.most;
    if (err && !*result->message)
        import_say(result, err,
                   err == ERR_LIMIT ? "it has too many devices, or takes too much memory"
                                    : base_err_text(err));
    return err;
}

void nsys_clear(struct nsys *nsys)
{
    for (size_t i = 0; nsys->processes && i < nsys->process_count; i++) {
        block_log_clear(&nsys->processes[i].log);
        map_clear(&nsys->processes[i].domains);
        mem_free(nsys->processes[i].name);
    }
    mem_free(nsys->processes);
    rows_close(&nsys->rows);
    intern_clear(&nsys->texts);
    map_clear(&nsys->strings);
    map_clear(&nsys->wanted);
    map_clear(&nsys->chains);
    mem_free(nsys->calls);
    *nsys = (struct nsys){.rows.pages = {.file = -1, .log_file = -1}};
}

static int64_t base_us_of(const struct nsys *nsys)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < nsys->process_count; i++) {
        int64_t ns = block_log_first_ns(&nsys->processes[i].log);
        first = nsys->processes[i].log.count && ns < first ? ns : first;
    }
    return nsys->started_ns && first != INT64_MAX ? (nsys->started_ns + first) / 1000 : 0;
}

static int write_all(struct nsys *nsys, const struct import_options *options)
{
    struct block_log none = {0};
    size_t count = nsys->process_count ? nsys->process_count : 1;
    struct block_log_feed *feeds = mem_alloc(count, sizeof *feeds);
    if (!feeds)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct nsys_process *process = i < nsys->process_count ? &nsys->processes[i] : NULL;
        feeds[i] = (struct block_log_feed){.log = process ? &process->log : &none,
                                           .live = "Nsight Systems",
                                           .source = options->source,
                                           .argv = process ? process->name : NULL,
                                           .pid = process ? process->pid : 0,
                                           .result = nsys->result};
    }
    int err = block_log_write(feeds, count, options->output, base_us_of(nsys), "the export ends");
    mem_free(feeds);
    return err;
}

static int read_nsys(struct pickle_input *input, const struct import_options *options,
                     struct import_result *result)
{
    struct nsys nsys;
    if (!input->path)
        return import_say(result, ERR_NOTOURS,
                          "it is an SQLite database, which is read from a file that is not packed");
    int err = nsys_read(input->path, &nsys, result);
    if (err == BASE_OK)
        err = write_all(&nsys, options);
    nsys_clear(&nsys);
    if (err && !*result->message)
        import_say(result, err, base_err_text(err));
    return err;
}

static bool is_sqlite(const unsigned char *first, size_t count)
{
    return count >= 16 && memcmp(first, "SQLite format 3", 16) == 0;
}

const struct import_format format_nsys = {
    "an export of Nsight Systems",
    "blocks or segments of an allocator: what it has is memory of the driver",
    is_sqlite,
    read_nsys,
    NULL,
    NULL};
