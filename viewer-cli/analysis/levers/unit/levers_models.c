/* levers_models.c - see levers_models.h. */
#include "levers_models.h"

#include <string.h>

#include "error.h"

struct levers_part levers_model_of(const char *path)
{
    const size_t bytes = strcspn(path, ".");
    const bool named = memchr(path, '#', bytes) != NULL;
    return (struct levers_part){path, named ? bytes : 0};
}

bool levers_same_part(struct levers_part one, struct levers_part other)
{
    return one.bytes == other.bytes && memcmp(one.path, other.path, one.bytes) == 0;
}

bool levers_part_has(struct levers_part part, const char *path)
{
    return levers_same_part(levers_model_of(part.path), levers_model_of(path)) &&
           strncmp(path, part.path, part.bytes) == 0 &&
           (!part.bytes || path[part.bytes] == '.' || path[part.bytes] == '\0');
}

struct levers_part levers_part_around(struct levers_part part, const char *path)
{
    while (part.bytes && !levers_part_has(part, path))
        do
            part.bytes--;
        while (part.bytes && part.path[part.bytes] != '.');
    return part;
}

/* A number tells models of one class apart: of one alone it says nothing. */
static bool is_alone(const struct module_index *modules, struct levers_part part)
{
    const size_t class_bytes = strcspn(part.path, "#");
    for (size_t i = 0; i < modules->count; i++) {
        const struct module_entry *entry = &modules->entries[i];
        const struct levers_part model = levers_model_of(entry->path);
        const bool first = !*entry->path && strlen(entry->class_name) == class_bytes &&
                           memcmp(entry->class_name, part.path, class_bytes) == 0;
        if (first ||
            (!levers_same_part(model, levers_model_of(part.path)) && model.bytes > class_bytes &&
             entry->path[class_bytes] == '#' && memcmp(entry->path, part.path, class_bytes) == 0))
            return false;
    }
    return true;
}

int levers_put_part(const struct module_index *modules, struct levers_part part, struct buf *out)
{
    const size_t model = levers_model_of(part.path).bytes;
    const size_t skipped = model && part.bytes >= model && is_alone(modules, part)
                               ? model - strcspn(part.path, "#")
                               : 0;
    buf_add(out, part.path, model - skipped);
    buf_add(out, part.path + model, part.bytes - model);
    return out->broken ? ERR_NOMEM : 0;
}
