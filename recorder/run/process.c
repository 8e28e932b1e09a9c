#include "process.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"

void process_table_clear(struct process_table *table)
{
    while (table->count > 0)
        process_remove(table, table->list[table->count - 1]);
    mem_free(table->list);
    map_clear(&table->by_pid);
    *table = (struct process_table){0};
}

bool process_table_is_valid(const struct process_table *table)
{
    if (table->by_pid.count != table->count || !map_is_valid(&table->by_pid))
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct process *process = table->list[i];
        if (map_get(&table->by_pid, (uint64_t)process->pid) != i)
            return false;
        if (process->key == 0 || process->key > table->last_key)
            return false;
        if (process->parent >= process->key)
            return false;
        for (size_t j = 0; j < i; j++)
            if (table->list[j]->key == process->key)
                return false;
    }
    return true;
}

struct process *process_find(const struct process_table *table, pid_t pid)
{
    uint64_t at = map_get(&table->by_pid, (uint64_t)pid);
    return at == MAP_NONE ? NULL : table->list[at];
}

struct process *process_add(struct process_table *table, pid_t pid, int pidfd)
{
    assert(!process_find(table, pid));
    struct process *process = mem_alloc(1, sizeof *process);
    if (!process || !MEM_GROW(table->list, table->cap, table->count + 1) ||
        !map_put(&table->by_pid, (uint64_t)pid, table->count, NULL)) {
        mem_free(process);
        if (pidfd >= 0)
            close(pidfd);
        return NULL;
    }
    process->key = ++table->last_key;
    process->pid = pid;
    process->pidfd = pidfd;
    struct proc_stat stat;
    if (proc_stat_read(&stat, pid))
        process->start_time = stat.start_time;
    table->list[table->count++] = process;
    return process;
}

void process_new_image(struct process_table *table, struct process *process)
{
    assert(process->key && process->key <= table->last_key);
    process->key = ++table->last_key;
    process->fetched = process->refused = process->other = false;
}

/* The file's name at the end of an argument; a login shell has a dash before it. */
static void name_of(char name[PROC_NAME], const char *argument, size_t bytes)
{
    for (size_t i = bytes; i-- > 0;)
        if (argument[i] == '/') {
            argument += i + 1;
            bytes -= i + 1;
            break;
        }
    if (bytes > 1 && argument[0] == '-') {
        argument++;
        bytes--;
    }
    snprintf(name, PROC_NAME, "%.*s", (int)(bytes < PROC_NAME ? bytes : PROC_NAME - 1), argument);
}

void process_said(struct process *process, const char *arguments, size_t bytes)
{
    memset(process->said, 0, sizeof process->said);
    for (size_t i = 0, at = 0; i < 2 && at < bytes; i++) {
        size_t length = strnlen(arguments + at, bytes - at);
        name_of(process->said[i], arguments + at, length);
        at += length + 1;
    }
    process->image = proc_image_read(process->pid, NULL, 0);
}

static bool is_said(const struct process *process, const char *name)
{
    return strcmp(name, process->said[0]) == 0 || strcmp(name, process->said[1]) == 0;
}

/* A script has its own name, and its interpreter's arguments: so the second is looked at, too. By
 * the time we hear a hello its image may have gone, and `image` be the next one: so the arguments
 * are compared as well. */
bool process_is_other(const struct process *process, struct buf *what)
{
    char name[PROC_NAME], file[PROC_NAME], path[512] = "";
    uint64_t image = proc_image_read(process->pid, path, sizeof path);
    proc_name_read(name, process->pid);
    name_of(file, path, strlen(path));
    bool replaced = image && process->image && image != process->image;
    bool named = is_said(process, name) || (*path && is_said(process, file));
    if (!process->said[0][0] || !name[0] || (!replaced && named))
        return false;
    buf_text(what, *path ? "became " : "seems to have become ");
    argv_quote(what, *path ? path : name, strlen(*path ? path : name));
    return true;
}

/* The last of the list takes the place of the one removed. */
void process_remove(struct process_table *table, struct process *process)
{
    uint64_t at = map_remove(&table->by_pid, (uint64_t)process->pid);
    assert(at != MAP_NONE && table->list[at] == process);
    struct process *last = table->list[--table->count];
    if (last != process) {
        table->list[at] = last;
        map_put(&table->by_pid, (uint64_t)last->pid, at, NULL); /* replaces: needs no memory */
    }
    if (process->pidfd >= 0)
        close(process->pidfd);
    mem_free(process);
}

bool process_is_dead(const struct process *process)
{
    if (process->root)
        return false;
    if (process->pidfd >= 0) {
        struct pollfd poll_fd = {.fd = process->pidfd, .events = POLLIN};
        return poll(&poll_fd, 1, 0) == 1;
    }
    struct proc_stat stat;
    if (!proc_stat_read(&stat, process->pid))
        return true;
    if (stat.state == 'Z' || stat.state == 'X')
        return true;
    return process->start_time != 0 && stat.start_time != process->start_time;
}
