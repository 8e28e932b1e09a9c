/* module_label.c - see module_label.h: who has most bytes is found by letting others outweigh it.
 */
#include "module_label.h"

#include "buf.h"
#include "mem.h"

void module_label_add(struct module_label *label, const struct module_entry *entry, int64_t bytes)
{
    if (!entry)
        return;
    if (label->best && module_entries_fold(label->best, entry)) {
        label->bytes += bytes;
        return;
    }
    label->several |= label->best != NULL;
    label->bytes -= bytes;
    if (label->best && label->bytes >= 0)
        return;
    label->best = entry;
    label->bytes = -label->bytes;
}

char *module_label_text(const struct module_label *label, bool *full)
{
    struct buf text = {0};
    *full = true;
    if (!label->best)
        return NULL;
    buf_text(&text, module_entry_text(label->best));
    if (label->several)
        buf_text(&text, " and others");
    char *made = text.broken ? NULL : mem_copy(buf_string(&text), text.count);
    buf_clear(&text);
    *full = made != NULL;
    return made;
}
