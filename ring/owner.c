/* owner.c - see owner.h. */
#include "owner.h"

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"

/* The kernel follows no more links than this. Rings beyond it are not marked: their producers find
 * out by the patience of a full ring. */
#define OWNED_MAX 2048u

/* What this thread owns. Invariant: the kernel's list is head -> words[0] -> words[1] -> ... ->
 * head. */
struct owned {
    struct robust_list_head head;
    struct owner_word *words[OWNED_MAX];
    size_t count;
    bool registered;
};

static __thread struct owned owned;

static void link_all(void)
{
    struct robust_list *next = &owned.head.list;
    for (size_t i = owned.count; i-- > 0;) {
        owned.words[i]->link.next = next;
        next = &owned.words[i]->link;
    }
    owned.head.list.next = next;
}

static bool enlist(void)
{
    if (owned.registered)
        return true;
    owned.head.list.next = &owned.head.list;
    owned.head.futex_offset =
        (long)offsetof(struct owner_word, thread) - (long)offsetof(struct owner_word, link);
    owned.registered = syscall(SYS_set_robust_list, &owned.head, sizeof owned.head) == 0;
    return owned.registered;
}

int owner_take(struct owner_word *word)
{
    if (!enlist())
        return ERR_INTERNAL;
    atomic_store(&word->thread, (uint32_t)syscall(SYS_gettid));
    if (owned.count < OWNED_MAX) {
        owned.words[owned.count++] = word;
        link_all();
    }
    return BASE_OK;
}

void owner_give_up(struct owner_word *word)
{
    for (size_t i = 0; i < owned.count; i++) {
        if (owned.words[i] != word)
            continue;
        owned.words[i] = owned.words[--owned.count];
        link_all();
        return;
    }
}
