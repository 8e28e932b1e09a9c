#include "lexicon.h"

#include "error.h"
#include "mem.h"
#include "pack.h"

static void fail(struct lexicon *lexicon, int err)
{
    if (lexicon->err == 0)
        lexicon->err = err;
}

int lexicon_begin(struct lexicon *lexicon, struct db *db)
{
    *lexicon = (struct lexicon){.db = db, .text_count = 1, .site_count = 1, .open = true};
    pack_text(&lexicon->texts, "");
    pack_number(&lexicon->sites, 0);
    pack_number(&lexicon->sites, 0);
    lexicon->places[0] = Q_INT(lexicon->row.frame);
    lexicon->places[1] = (struct query_place){.type = QUERY_END};
    lexicon->stack = query_ask(db, "SELECT frame FROM site WHERE site = ?1 ORDER BY depth LIMIT ?2",
                               Q_IN((int64_t)0, (int64_t)0), lexicon->places);
    return 0;
}

uint32_t lexicon_text(struct lexicon *lexicon, const char *text)
{
    if (!text || !*text || lexicon->err)
        return 0;
    pack_text(&lexicon->texts, text);
    return lexicon->text_count++;
}

/* Files are few, and each has many frames. */
static uint32_t file_of(struct lexicon *lexicon, int64_t id, const char *text)
{
    uint64_t at = id == QUERY_NONE ? 0 : map_get(&lexicon->text_index, (uint64_t)id);
    if (at != MAP_NONE)
        return (uint32_t)at;
    uint32_t place = lexicon_text(lexicon, text);
    if (!map_put(&lexicon->text_index, (uint64_t)id, place, NULL))
        fail(lexicon, ERR_NOMEM);
    return place;
}

static const char frame_sql[] =
    "SELECT s.text AS shown, s.library, f.file, t.text AS path FROM frame f"
    "  JOIN frame_short s ON s.id = f.id LEFT JOIN string t ON t.id = f.file WHERE f.id = ?1";

static int read_frame(struct lexicon *lexicon, int64_t id, struct lexicon_frame *out)
{
    int64_t library = 0, file = QUERY_NONE;
    char *shown = NULL, *path = NULL;
    int err = query_read(lexicon->db, frame_sql, Q_IN(id),
                         Q_OUT(Q_COPY(shown), Q_INT(library), Q_OPT(file), Q_COPY(path)));
    if (err >= 0)
        *out = (struct lexicon_frame){lexicon_text(lexicon, shown), file_of(lexicon, file, path),
                                      library != 0};
    mem_free(shown);
    mem_free(path);
    return err;
}

static uint32_t frame_of(struct lexicon *lexicon, int64_t id)
{
    struct lexicon_frame frame = {0};
    uint64_t at = map_get(&lexicon->frame_index, (uint64_t)id);
    if (at != MAP_NONE)
        return (uint32_t)at;
    int err = read_frame(lexicon, id, &frame);
    if (err >= 0 && !MEM_GROW(lexicon->frames, lexicon->frame_cap, lexicon->frame_count + 1))
        err = ERR_NOMEM;
    if (err < 0) {
        fail(lexicon, err);
        return 0;
    }
    lexicon->frames[lexicon->frame_count] = frame;
    if (!map_put(&lexicon->frame_index, (uint64_t)id, lexicon->frame_count, NULL))
        fail(lexicon, ERR_NOMEM);
    return (uint32_t)lexicon->frame_count++;
}

uint32_t lexicon_site(struct lexicon *lexicon, int64_t site)
{
    int64_t frames[LEXICON_DEPTH];
    size_t count = 0, most = lexicon->stacked < LEXICON_FRAMES ? LEXICON_DEPTH : 2;
    if (site == QUERY_NONE || lexicon->err)
        return 0;
    uint64_t at = map_get(&lexicon->site_index, (uint64_t)site);
    if (at != MAP_NONE)
        return (uint32_t)at;
    query_again(&lexicon->stack, Q_IN(site, (int64_t)most));
    while (count < most && query_next(&lexicon->stack))
        frames[count++] = lexicon->row.frame;
    if (lexicon->stack.err < 0)
        fail(lexicon, lexicon->stack.err);
    pack_number(&lexicon->sites, (uint64_t)site);
    pack_number(&lexicon->sites, count);
    for (size_t i = 0; i < count; i++)
        pack_number(&lexicon->sites, frame_of(lexicon, frames[i]));
    lexicon->stacked += count;
    if (!map_put(&lexicon->site_index, (uint64_t)site, lexicon->site_count, NULL))
        fail(lexicon, ERR_NOMEM);
    return lexicon->site_count++;
}

void lexicon_pack(const struct lexicon *lexicon, struct buf *out)
{
    pack_number(out, lexicon->text_count);
    buf_add(out, buf_string(&lexicon->texts), lexicon->texts.count);
    pack_number(out, lexicon->frame_count);
    for (size_t i = 0; i < lexicon->frame_count; i++) {
        pack_number(out, lexicon->frames[i].shown);
        pack_number(out, lexicon->frames[i].file);
        pack_number(out, lexicon->frames[i].library);
    }
    pack_number(out, lexicon->site_count);
    buf_add(out, buf_string(&lexicon->sites), lexicon->sites.count);
}

int lexicon_end(struct lexicon *lexicon)
{
    int err = lexicon->err;
    if (lexicon->open) {
        int last = query_end(&lexicon->stack);
        err = err ? err : last;
    }
    if (err == 0 && (lexicon->texts.broken || lexicon->sites.broken))
        err = ERR_NOMEM;
    buf_clear(&lexicon->texts);
    buf_clear(&lexicon->sites);
    mem_free(lexicon->frames);
    map_clear(&lexicon->text_index);
    map_clear(&lexicon->frame_index);
    map_clear(&lexicon->site_index);
    *lexicon = (struct lexicon){0};
    return err;
}
