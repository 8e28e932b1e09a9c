#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frag.h"
#include "db.h"
#include "error.h"
#include "frag_model.h"
#include "frag_picture.h"
#include "mem.h"
#include "recording.h"
#include "screen.h"

#define MIB(n) ((int64_t)(n)*1048576)

static struct instant at(int64_t seq)
{
    return (struct instant){
        .seq = seq, .allocated = INSTANT_NONE, .reserved = INSTANT_NONE, .step = INSTANT_NONE};
}

static void look(struct db *db, const char *moment, struct frag *frag)
{
    struct instant instant;
    REQUIRE(instant_find(db, 1, 1, moment, &instant) == 0);
    CHECK_INT(frag_read(db, 1, 1, &instant, SIZE_MAX, frag), 0);
    CHECK(frag_is_valid(frag));
}

static int64_t sum_of_causes(const struct frag *frag)
{
    int64_t sum = 0;
    for (int cause = 0; cause < FRAG_CAUSES; cause++)
        sum += frag->causes[cause];
    return sum;
}

/* ---- a small recording ---- */

TEST(causes_of_what_is_reserved)
{
    struct db *db = recording("frag");
    struct frag frag;
    look(db, "1/backward", &frag); /* seq 40: a block of stream 7 waits */
    CHECK_INT(frag.reserved, MIB(176));
    CHECK_INT(frag.causes[FRAG_REQUESTED] + frag.causes[FRAG_ROUNDING], MIB(29) + 512 + 256 * 1024);
    CHECK_INT(frag.causes[FRAG_ROUNDING], 512 + 508 + 100 + 300 + 100);
    CHECK_INT(frag.causes[FRAG_LIVE], 0);
    CHECK_INT(frag.causes[FRAG_WAITING], MIB(4));
    CHECK_INT(frag.causes[FRAG_CACHED], MIB(20)); /* the one whose block died; the other went */
    CHECK_INT(frag.causes[FRAG_PAGES], MIB(30 - 8));
    CHECK_INT(frag.causes[FRAG_REST], 0);
    CHECK_INT(sum_of_causes(&frag), MIB(176));
    CHECK_INT(frag.largest, MIB(32)); /* before the block of the cache */
    CHECK_INT(frag.strays, 0);
    CHECK_INT(frag.step, 1);
    frag_clear(&frag);
    look(db, "1", &frag);
    CHECK_INT(frag.seq, 25);
    CHECK_INT(frag.causes[FRAG_WAITING], 0);
    CHECK_INT(frag.causes[FRAG_PAGES], MIB(40 - 8)); /* nothing was taken out yet */
    frag_clear(&frag);
    db_close(db);
}

TEST(a_request_that_is_not_known)
{
    struct db *db = recording("frag");
    struct frag frag;
    const struct instant instant = at(37);
    CHECK_INT(frag_read(db, 1, 1, &instant, SIZE_MAX, &frag), 0);
    CHECK(frag_is_valid(&frag));
    CHECK_INT(frag.causes[FRAG_LIVE], MIB(20));
    CHECK_INT(sum_of_causes(&frag), frag.reserved);
    frag_clear(&frag);
    db_close(db);
}

TEST(what_the_source_says_of_reserved)
{
    struct db *db = recording("frag");
    struct instant instant = at(40);
    struct frag frag;
    instant.reserved = MIB(200);
    CHECK_INT(frag_read(db, 1, 1, &instant, 0, &frag), 0);
    CHECK(frag_is_valid(&frag));
    CHECK_INT(frag.reserved, MIB(200));
    CHECK_INT(frag.causes[FRAG_REST], MIB(24));
    frag_clear(&frag);
    instant.reserved = MIB(150);
    CHECK_INT(frag_read(db, 1, 1, &instant, 0, &frag), 0);
    CHECK(frag_is_valid(&frag));
    CHECK_INT(frag.causes[FRAG_REST], -MIB(26));
    CHECK_INT(sum_of_causes(&frag), MIB(150));
    frag_clear(&frag);
    db_close(db);
}

TEST(sizes_and_heaps)
{
    struct db *db = recording("frag");
    struct frag frag;
    look(db, "1/backward", &frag);
    CHECK_INT(frag.size_count, 4);
    const struct frag_size *twenty = &frag.sizes[0]; /* most free bytes first */
    CHECK_INT(twenty->size, MIB(20));
    CHECK_INT(twenty->segments, 4);
    CHECK_INT(twenty->empty, 1);
    CHECK_INT(twenty->sole, 1); /* the one with a waiting block does not count */
    CHECK_INT(twenty->waiting, MIB(4));
    CHECK_INT(frag.sizes[1].size, MIB(64));
    CHECK_INT(frag.sizes[1].segments, 1);
    CHECK_INT(frag.sizes[1].holes, 2);
    CHECK_INT(frag.sizes[1].largest, MIB(32));
    CHECK_INT(frag.sizes[2].size, FRAG_NONE);
    CHECK_INT(frag.sizes[2].reserved, MIB(30));
    CHECK_INT(frag.heap_count, 2);
    CHECK_INT(frag.heaps[0].stream, 0);
    CHECK_INT(frag.heaps[1].stream, 7);
    CHECK_INT(frag.heaps[1].reserved, MIB(20));
    CHECK_INT(frag.heaps[1].largest, MIB(16));
    frag_clear(&frag);
    db_close(db);
}

static const struct frag_pin *pin_of(const struct frag *frag, int64_t seq)
{
    for (size_t i = 0; i < frag->pin_count; i++)
        if (frag->pins[i].block->seq == seq)
            return &frag->pins[i];
    return NULL;
}

TEST(who_pins)
{
    struct db *db = recording("frag");
    struct frag frag;
    look(db, "1/backward", &frag);
    CHECK_INT(frag.pins[0].block->seq, 17); /* between holes of 32 and 24 MiB */
    CHECK_INT(frag.pins[0].block->gives, MIB(64));
    CHECK(frag.pins[0].block->sole);
    CHECK_STR(frag.pins[0].shown, "cache (train.py:61)");
    CHECK_STR(frag.pins[0].phase, "backward");
    CHECK_INT(frag.pins[0].step, 0);
    const struct frag_pin *pin = pin_of(&frag, 4);
    REQUIRE(pin != NULL);
    CHECK(pin->block->sole && pin->between);
    CHECK_INT(pin->block->gives, MIB(20));
    CHECK_INT(pin->step, FRAG_NONE);
    pin = pin_of(&frag, 25);
    REQUIRE(pin != NULL);
    CHECK(!pin->block->sole);
    CHECK_INT(pin->block->gives, MIB(2 + 4 + 6));
    CHECK(pin_of(&frag, 9) == NULL); /* it waits: it goes by itself */
    frag_clear(&frag);
    db_close(db);
}

TEST(only_the_first_have_names)
{
    struct db *db = recording("frag");
    const struct instant instant = at(40);
    struct frag frag;
    CHECK_INT(frag_read(db, 1, 1, &instant, 1, &frag), 0);
    CHECK(frag.pins[0].name != NULL && frag.sites[0].name != NULL);
    CHECK(frag.pins[1].name == NULL && frag.sites[1].name == NULL);
    frag_clear(&frag);
    db_close(db);
}

TEST(segments_that_are_not_known)
{
    struct db *db = recording("frag");
    const struct instant instant = at(40);
    struct frag frag;
    CHECK_INT(frag_read(db, 1, 2, &instant, 9, &frag), 0);
    CHECK(!frag.known && frag_is_valid(&frag));
    frag_clear(&frag);
    REQUIRE(db_exec(db, "DELETE FROM segment; DELETE FROM mapping") == 0);
    CHECK_INT(frag_read(db, 1, 1, &instant, 9, &frag), 0);
    CHECK(!frag.known && frag_is_valid(&frag));
    frag_clear(&frag);
    db_close(db);
}

TEST(before_the_first_segment)
{
    struct db *db = recording("frag");
    const struct instant instant = at(0);
    struct frag frag;
    CHECK_INT(frag_read(db, 1, 1, &instant, 9, &frag), 0);
    CHECK(frag.known && frag_is_valid(&frag));
    CHECK_INT(frag.reserved, 0);
    CHECK(frag_split_share(&frag) <= 0 && frag_scattered(&frag) <= 0);
    frag_clear(&frag);
    db_close(db);
}

/* Blocks over a segment's end, outside of all, and on top of each other. */
TEST(blocks_that_do_not_fit)
{
    struct db *db = recording("frag");
    const struct instant instant = at(60);
    struct frag frag;
    REQUIRE(db_exec(db, "INSERT INTO "
                        "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                        "tag,segment) SELECT seq, 1, address, size, size, 0,"
                        " -70368744177664, -2147483648, NULL, NULL, NULL FROM ("
                        "SELECT 51 AS seq, 0x7f0000000000 + 46 * 1048576 AS address,"
                        "  10 * 1048576 AS size UNION ALL " /* 6 of them in its segment */
                        "SELECT 52, 4096, 1000 UNION ALL "
                        "SELECT 53, 0x7f0000000000 + 47 * 1048576, 2 * 1048576 UNION ALL "
                        "SELECT 54, 0x7f0000000000 + 4096 * 1048576, 5000)") == 0);
    CHECK_INT(frag_read(db, 1, 1, &instant, 9, &frag), 0);
    CHECK(frag_is_valid(&frag));
    CHECK_INT(frag.strays, 4);
    CHECK_INT(frag.stray_bytes, MIB(4) + 1000 + MIB(2) + 5000);
    CHECK_INT(sum_of_causes(&frag), frag.reserved);
    frag_clear(&frag);
    db_close(db);
}

/* The history tells only when a block was idle at the latest. */
TEST(an_address_handed_out_before_its_block_was_idle)
{
    struct db *db = recording("frag");
    const struct instant instant = at(40);
    struct frag frag;
    REQUIRE(db_exec(db, "INSERT INTO "
                        "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,"
                        "tag,segment) VALUES(34,2,0x7f0000000000 + 160 * 1048576,"
                        "1048576,1048576,0,-70368744177664,-2147483648,NULL,NULL,NULL)") == 0);
    CHECK_INT(frag_read(db, 1, 1, &instant, 9, &frag), 0);
    CHECK(frag_is_valid(&frag));
    CHECK_INT(frag.causes[FRAG_WAITING], 0);
    CHECK_INT(frag.strays, 0);
    frag_clear(&frag);
    REQUIRE(db_exec(db, "UPDATE allocation SET address = address + 3 * 1048576 WHERE seq = 34") ==
            0);
    CHECK_INT(frag_read(db, 1, 1, &instant, 9, &frag), 0);
    CHECK_INT(frag.causes[FRAG_WAITING], 0); /* its end is taken */
    CHECK_INT(frag.strays, 0);
    frag_clear(&frag);
    db_close(db);
}

TEST(the_order_of_segments)
{
    struct db *db = recording("frag");
    struct frag frag;
    look(db, "1/backward", &frag);
    size_t *by_free = frag_order(&frag, false), *by_size = frag_order(&frag, true);
    REQUIRE(by_free && by_size);
    for (size_t i = 1; i < frag.segment_count; i++) {
        const struct frag_segment *a = &frag.segments[by_free[i - 1]];
        const struct frag_segment *b = &frag.segments[by_free[i]];
        CHECK((a->count ? a->free : 0) >= (b->count ? b->free : 0));
        CHECK(frag.segments[by_size[i - 1]].area.size >= frag.segments[by_size[i]].area.size);
    }
    CHECK_INT(frag.segments[by_free[frag.segment_count - 1]].count, 0);
    mem_free(by_free);
    mem_free(by_size);
    frag_clear(&frag);
    db_close(db);
}

TEST(no_memory)
{
    struct db *db = recording("frag");
    const struct instant instant = at(40);
    long n = 1;
    for (;; n++) {
        struct frag frag;
        mem_fail_after(n);
        int err = frag_read(db, 1, 1, &instant, SIZE_MAX, &frag);
        mem_fail_after(0);
        frag_clear(&frag);
        if (err == 0)
            break;
        CHECK_INT(err, ERR_NOMEM);
        REQUIRE(n < 1000);
    }
    CHECK(n > 20);
    db_close(db);
}

/* ---- the picture ---- */

static const struct frag_segment *segment_at(const struct frag *frag, int64_t mib)
{
    for (size_t i = 0; i < frag->segment_count; i++)
        if (frag->segments[i].area.address == 0x7f0000000000 + (uint64_t)MIB(mib))
            return &frag->segments[i];
    return NULL;
}

TEST(a_segment_as_letters)
{
    struct db *db = recording("frag");
    struct frag frag;
    char text[FRAG_PICTURE_TEXT];
    look(db, "1/backward", &frag);
    const struct frag_segment *segment = segment_at(&frag, 0); /* 8 live, 2 free, 4 live, 6 free */
    REQUIRE(segment != NULL);
    frag_picture(&frag, segment, 20, false, text);
    CHECK_STR(text, "########..####......");
    frag_picture(&frag, segment, 10, false, text);
    CHECK_STR(text, "####.##...");
    frag_picture(&frag, segment, 4, false, text);
    CHECK_STR(text, "###.");
    frag_picture(&frag, segment, 10, true, text);
    CHECK_STR(text, "\u2588\u2588\u2588\u2588\u00b7\u2588\u2588\u00b7\u00b7\u00b7");
    segment = segment_at(&frag, 160); /* 4 of 20 wait */
    REQUIRE(segment != NULL);
    frag_picture(&frag, segment, 10, false, text);
    CHECK_STR(text, "ww........");
    segment = segment_at(&frag, 200); /* 512 B of 2 MiB, and 256 KiB in its middle */
    REQUIRE(segment != NULL);
    frag_picture(&frag, segment, 16, false, text);
    CHECK_STR(text, "+.......##......");
    frag_picture(&frag, segment, 1, false, text);
    CHECK_STR(text, "+");
    frag_clear(&frag);
    db_close(db);
}

TEST(how_wide_the_picture_is)
{
    CHECK_INT(frag_picture_cells(20), 16);
    CHECK(frag_picture_cells(80) > 16 && frag_picture_cells(80) < 80);
    CHECK_INT(frag_picture_cells(4000), FRAG_PICTURE_CELLS);
}

TEST(what_the_terminal_can_show)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    CHECK(screen_says_utf8());
    setenv("LC_ALL", "C", 1);
    CHECK(!screen_says_utf8());
    unsetenv("LC_ALL");
    setenv("LC_CTYPE", "de_DE.utf8", 1);
    setenv("LANG", "C", 1);
    CHECK(screen_says_utf8());
    unsetenv("LC_CTYPE");
    CHECK(!screen_says_utf8());
    unsetenv("LANG");
    CHECK(!screen_says_utf8());
}

/* ---- random recordings beside the bitmap ---- */

static void compare_sums(const struct frag *frag, const struct model_sums *sums)
{
    int64_t holes = 0;
    size_t blocks = 0;
    for (int cause = 0; cause < FRAG_CAUSES; cause++)
        CHECK_INT(frag->causes[cause], sums->causes[cause]);
    for (size_t i = 0; i < frag->segment_count; i++) {
        holes += frag->segments[i].holes;
        blocks += (size_t)frag->segments[i].blocks;
    }
    CHECK_INT(frag->reserved, sums->reserved);
    CHECK_INT(sum_of_causes(frag), sums->reserved);
    CHECK_INT(frag->free_bytes, sums->free_bytes);
    CHECK_INT(frag->largest, sums->largest);
    CHECK_INT(holes, sums->holes);
    CHECK_INT(frag->segment_count, sums->areas);
    CHECK_INT(blocks, sums->blocks);
    CHECK_INT(frag->strays, 0);
}

static void compare_pins(const struct frag *frag, const struct model *model,
                         const struct model_cell *cells)
{
    size_t pins = 0;
    for (int i = 0; i < model->blocks; i++) {
        const struct model_block *block = &model->block[i];
        bool sole;
        if (cells[block->first].block != i || cells[block->first].waiting)
            continue;
        int64_t gift = model_gift(cells, i, &sole);
        const struct frag_pin *pin = pin_of(frag, block->seq);
        bool pins_something = gift > (int64_t)block->cells * MODEL_CELL;
        CHECK_INT(pin != NULL, pins_something);
        if (!pin)
            continue;
        pins++;
        CHECK_INT(pin->block->gives, gift);
        CHECK_INT(pin->block->sole, sole);
        CHECK_INT(pin->step, (block->seq - 1) / 50);
    }
    CHECK_INT(frag->pin_count, pins);
}

static void compare_sites(const struct frag *frag, const struct model *model,
                          const struct model_cell *cells)
{
    size_t sites = 0;
    for (int64_t site = 0; site <= 5; site++) {
        int64_t id = site ? site : FRAG_NONE, returns, beside, got[2] = {0, 0};
        model_site(model, cells, id, &returns, &beside);
        for (size_t i = 0; i < frag->site_count; i++) {
            if (frag->sites[i].site != id)
                continue;
            got[0] = frag->sites[i].returns;
            got[1] = frag->sites[i].beside;
        }
        CHECK_INT(got[0], returns);
        CHECK_INT(got[1], beside);
        sites += returns + beside > 0;
    }
    CHECK_INT(frag->site_count, sites);
}

static void compare_picture(const struct frag *frag, const struct model_cell *cells)
{
    for (int c = 0; c < MODEL_CELLS; c++) {
        if (cells[c].area < 0)
            continue;
        const struct frag_segment *segment = &frag->segments[cells[c].area];
        int first = (int)((segment->area.address - 0x7f0000000000) / MODEL_CELL);
        unsigned count = (unsigned)(segment->area.size / MODEL_CELL);
        enum frag_cell want = cells[c].block < 0 ? CELL_FREE
                              : cells[c].waiting ? CELL_WAITING
                                                 : CELL_LIVE;
        CHECK_INT(frag_cell(frag, segment, (unsigned)(c - first), count), want);
    }
}

static void compare(struct db *db, const struct model *model, int64_t seq)
{
    static struct model_cell cells[MODEL_CELLS];
    const struct instant instant = at(seq);
    struct model_sums sums;
    struct frag frag;
    model_fill(model, seq, cells);
    model_sum(model, cells, &sums);
    CHECK_INT(frag_read(db, 1, 1, &instant, SIZE_MAX, &frag), 0);
    if (frag.known) {
        CHECK(frag_is_valid(&frag));
        compare_sums(&frag, &sums);
        compare_pins(&frag, model, cells);
        compare_sites(&frag, model, cells);
        compare_picture(&frag, cells);
    } else {
        CHECK_INT(sums.reserved, 0);
    }
    frag_clear(&frag);
}

TEST(as_a_bitmap_says)
{
    static struct model model;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        model_run(&model, seed * 7919, 700);
        struct db *db = model_store(&model, "model");
        for (int64_t seq = 20; seq <= model.seq; seq += 68)
            compare(db, &model, seq);
        compare(db, &model, model.seq);
        db_close(db);
    }
}

/* The recordings must have what they are for. */
TEST(the_model_has_everything)
{
    static struct model model;
    static struct model_cell cells[MODEL_CELLS];
    int64_t seen[FRAG_CAUSES] = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct model_sums sums;
        model_run(&model, seed * 7919, 700);
        for (int64_t seq = 20; seq <= model.seq; seq += 68) {
            model_fill(&model, seq, cells);
            model_sum(&model, cells, &sums);
            for (int cause = 0; cause < FRAG_CAUSES; cause++)
                seen[cause] += sums.causes[cause];
        }
    }
    for (int cause = 0; cause < FRAG_REST; cause++)
        CHECK(seen[cause] > 0);
}

TEST_MAIN(TEST_CASE(causes_of_what_is_reserved), TEST_CASE(a_request_that_is_not_known),
          TEST_CASE(what_the_source_says_of_reserved), TEST_CASE(sizes_and_heaps),
          TEST_CASE(who_pins), TEST_CASE(only_the_first_have_names),
          TEST_CASE(segments_that_are_not_known), TEST_CASE(before_the_first_segment),
          TEST_CASE(blocks_that_do_not_fit),
          TEST_CASE(an_address_handed_out_before_its_block_was_idle),
          TEST_CASE(the_order_of_segments), TEST_CASE(no_memory), TEST_CASE(a_segment_as_letters),
          TEST_CASE(how_wide_the_picture_is), TEST_CASE(what_the_terminal_can_show),
          TEST_CASE(as_a_bitmap_says), TEST_CASE(the_model_has_everything))
