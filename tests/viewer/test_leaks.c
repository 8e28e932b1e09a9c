#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "leaks.h"
#include "db.h"
#include "growth.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)
#define HELD(at, number, long_, sort, name, where)                                                 \
    ((struct leak_holder){                                                                         \
        .address = at, .seq = number, .nodes = long_, .kind = sort, .path = name, .born = where})

static const struct leak_options usual = {INT64_MIN, INT64_MAX, 2, 1, SIZE_MAX};

static const struct leak_site *site_of(const struct leaks *leaks, int64_t site)
{
    for (size_t i = 0; i < leaks->count; i++)
        if (leaks->sites[i].site == site)
            return &leaks->sites[i];
    return NULL;
}

TEST(what_every_step_leaves)
{
    struct db *db = recording("leaks");
    struct leaks leaks;
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK(leaks_is_valid(&leaks));
    CHECK_INT(leaks.first_step, 1);
    CHECK_INT(leaks.last_step, 9);
    CHECK_INT(leaks.window, 9);
    CHECK_INT(leaks.count, 3); /* neither what lives into the next step nor what step 0 made */
    const struct leak_site *site = site_of(&leaks, 1);
    REQUIRE(site != NULL);
    CHECK_INT(site->bytes, MIB(9));
    CHECK_INT((int64_t)site->slope, MIB(1));
    CHECK_INT(site->steps, 9);
    CHECK_INT(site->sure, LEAK_SURE);
    CHECK_STR(site->shown, "remember (leak.py:10)");
    site = site_of(&leaks, 2);
    REQUIRE(site != NULL);
    CHECK_INT(site->bytes, MIB(12));
    CHECK_INT(site->steps, 3);
    CHECK_INT(site->sure, LEAK_PERHAPS);
    CHECK_INT(site->first_step, 3);
    CHECK_INT(site->last_step, 9);
    site = site_of(&leaks, GROUP_NONE);
    REQUIRE(site != NULL);
    CHECK_INT(site->steps, 5);
    CHECK_INT(site->sure, LEAK_LIKELY);
    CHECK(site->name == NULL);
    CHECK(site == &leaks.sites[1]);
    CHECK_INT(leaks.sites[0].site, 1); /* the sure one, though another left more bytes */
    CHECK_INT(leaks.bytes, MIB(21) + 5 * 1024);
    leaks_clear(&leaks);
    db_close(db);
}

/* Behind each second step an evaluation, which keeps a MiB and holds another until the next. */
static const char evaluations[] =
    "UPDATE phase SET end_seq = end_seq - 20 WHERE id % 4 = 2;"
    "INSERT INTO phase(id, process, thread, ordinal, kind, name, step, begin_seq, end_seq,"
    "  begin_ns, end_ns, scope, ended) SELECT 100 + id, 1, 4711, 0, 'eval', 'eval', NULL,"
    "  end_seq + 1, end_seq + 20, end_ns, end_ns, 'process', 'end' FROM phase WHERE id % 4 = 2;"
    "INSERT INTO stretch SELECT 1, begin_seq, id FROM phase WHERE id > 100;"
    "INSERT INTO site VALUES(5, 0, 1), (6, 0, 2);"
    "INSERT INTO allocation SELECT begin_seq + site, 1, begin_seq * 9000 + site, 1048576, NULL,"
    "  begin_ns, -70368744177664, CASE WHEN site = 5 OR id > 118 THEN -2147483648"
    "  ELSE begin_seq + 205 END, site, NULL, NULL, NULL FROM phase, site"
    " WHERE id > 100 AND site > 4";

TEST(what_an_evaluation_between_steps_leaves)
{
    struct db *db = recording("leaks");
    struct leaks leaks;
    REQUIRE(db_exec(db, evaluations) == 0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK(leaks_is_valid(&leaks));
    CHECK_INT(leaks.window, 9);
    CHECK_INT(leaks.evaluated.count, 4); /* behind 2, 4, 6 and 8 */
    CHECK_INT(leaks.evaluated.last, 10);
    const struct leak_site *site = site_of(&leaks, 5);
    REQUIRE(site != NULL);
    CHECK(site->between);
    CHECK_INT(site->bytes, MIB(4));
    CHECK_INT((int64_t)site->slope, MIB(1) / 2);
    CHECK_INT(site->steps, 4);
    CHECK_INT(site->chances, 4);
    CHECK_INT(site->first_step, 2);
    CHECK_INT(site->last_step, 8);
    CHECK_INT(site->sure, LEAK_LIKELY);
    CHECK(site_of(&leaks, 6) == NULL);
    CHECK(!site_of(&leaks, 1)->between);
    CHECK_INT(site_of(&leaks, 1)->chances, 9);
    leaks_clear(&leaks);
    const struct leak_options last = {INT64_MIN, INT64_MAX, 1, 1, SIZE_MAX};
    CHECK_INT(leaks_read(db, 1, 1, &last, &leaks), 0);
    CHECK_INT(site_of(&leaks, 5)->sure, LEAK_SURE);
    CHECK(site_of(&leaks, 6) == NULL); /* of the last evaluation, until the next */
    leaks_clear(&leaks);
    db_close(db);
}

/* One evaluation before the look, and one behind it. Site 5 keeps a MiB of each; what 6 keeps is
 * replaced by the second; 7 made something once; 8 is as 5, and freed as the program ends. */
static const char two_evaluations[] =
    "UPDATE phase SET end_seq = end_seq - 20 WHERE id = 10;"
    "INSERT INTO phase(id, process, thread, ordinal, kind, name, step, begin_seq, end_seq,"
    "  begin_ns, end_ns, scope, ended) VALUES"
    " (101, 1, 4711, 0, 'eval', 'eval', NULL, 481, 500, 0, 0, 'process', 'end'),"
    " (102, 1, 4711, 0, 'eval', 'eval', NULL, 1201, 1250, 0, 0, 'process', 'end');"
    "INSERT INTO stretch VALUES(1, 481, 101), (1, 1201, 102);"
    "INSERT INTO site VALUES(5, 0, 1), (6, 0, 2), (7, 0, 3), (8, 0, 3);"
    "INSERT INTO allocation SELECT 480 + id, 1, id, 1048576, NULL, 0, -70368744177664, free_seq,"
    "  site, NULL, NULL, NULL FROM (SELECT 5 AS id, 5 AS site, -2147483648 AS free_seq"
    "  UNION ALL SELECT 6, 6, 1220 UNION ALL SELECT 7, 7, -2147483648 UNION ALL SELECT 8, 8, 1280"
    "  UNION ALL SELECT 725, 5, -2147483648 UNION ALL SELECT 726, 6, -2147483648"
    "  UNION ALL SELECT 728, 8, 1290);";

TEST(what_the_last_evaluation_does_not_replace)
{
    struct db *db = recording("leaks");
    struct leaks leaks;
    REQUIRE(db_exec(db, two_evaluations) == 0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK(leaks_is_valid(&leaks));
    for (int64_t site = 5; site <= 8; site += 3) {
        const struct leak_site *left = site_of(&leaks, site);
        REQUIRE(left != NULL);
        CHECK(left->between);
        CHECK_INT(left->bytes, MIB(1));
        CHECK_INT(left->sure, LEAK_PERHAPS);
    }
    CHECK(site_of(&leaks, 6) == NULL);
    CHECK(site_of(&leaks, 7) == NULL);
    leaks_clear(&leaks);
    REQUIRE(
        db_exec(db,
                "INSERT INTO mark VALUES(1297, 1, 1, 0, 'held by|list|losses|40', 1 << 40, NULL),"
                " (1298, 1, 1, 0, 'held by|list|losses|40', 1 << 41, NULL),"
                " (1299, 1, 1, 0, 'held by|', 1, NULL)") == 0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK_INT(site_of(&leaks, 5)->holder.kind, HOLDER_GRAPH);
    CHECK_STR(site_of(&leaks, 5)->holder.path, "losses");
    leaks_clear(&leaks);
    REQUIRE(
        db_exec(db, "DELETE FROM stretch WHERE phase = 102; DELETE FROM phase WHERE id = 102") ==
        0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK(site_of(&leaks, 5) == NULL && site_of(&leaks, 8) == NULL);
    leaks_clear(&leaks);
    db_close(db);
}

/* A test behind the last step begins one, which ends with the program: main() has let go by then.
 */
TEST(a_forward_behind_the_training_is_no_step_of_it)
{
    static const char sql[] =
        "UPDATE phase SET kind = 'backward' WHERE kind = 'optimizer';"
        "UPDATE allocation SET free_seq = 1260 WHERE free_seq < 0;"
        "INSERT INTO phase(id, process, thread, ordinal, kind, name, step, begin_seq, end_seq,"
        "  begin_ns, end_ns, scope, ended) VALUES"
        " (101, 1, 4711, 0, 'forward', 'forward', 12, 1201, 1220, 0, 0, 'process', 'end'),"
        " (102, 1, 4711, 0, 'other', 'other', 12, 1221, 1290, 0, 0, 'process', 'end');"
        "INSERT INTO stretch VALUES(1, 1201, 101), (1, 1221, 102);"
        "INSERT INTO phase_device SELECT id, 1, 1000, 1000, NULL, NULL, NULL, NULL, 1000, NULL,"
        "  NULL, 1000, NULL, NULL, NULL, 0, 0, 0 FROM phase WHERE id > 100;";
    struct db *db = recording("leaks");
    struct leaks leaks;
    struct growth growth;
    REQUIRE(db_exec(db, sql) == 0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK_INT(leaks.last_step, 9);
    CHECK_INT(leaks.bytes, MIB(21) + 5 * 1024);
    leaks_clear(&leaks);
    REQUIRE(growth_read(db, 1, 1, &growth) == 0);
    CHECK_INT(growth.kind, GROWTH_GROWING);
    CHECK_INT(growth.last, 11);
    static const char *const others[] = {
        /* an exception, which holds what there was; a step that evaluates before; no backward at
           all */
        "UPDATE process SET exit_code = 1",
        "UPDATE process SET exit_code = 0; UPDATE phase SET kind = 'forward' WHERE step = 11",
        "UPDATE phase SET kind = 'optimizer' WHERE kind = 'backward'",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        REQUIRE(db_exec(db, others[i]) == 0);
        CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
        CHECK_INT(leaks.last_step, 10);
        leaks_clear(&leaks);
    }
    db_close(db);
}

/* Losses of the steps are kept with their graphs, too. */
TEST(a_graph_is_of_where_its_blocks_were_made)
{
    struct leak_holder graph, holders[] = {
                                  HELD(1, 10, 102, HOLDER_LIST, "history", HOLDER_BORN_IN),
                                  HELD(2, 20, 102, HOLDER_LIST, "history", HOLDER_BORN_IN),
                                  HELD(3, 30, 102, HOLDER_LIST, "outputs", HOLDER_BORN_BETWEEN),
                                  HELD(4, 40, 102, HOLDER_LIST, "outputs", HOLDER_BORN_BETWEEN),
                              };
    struct leak_holders all = {.looked = HOLDER_LOOK_ALL, .holders = holders, .count = 4};
    REQUIRE(leak_holders_graph(&all, 4, false, &graph));
    CHECK_STR(graph.path, "history");
    REQUIRE(leak_holders_graph(&all, 4, true, &graph));
    CHECK_STR(graph.path, "outputs");
    all.count = 2;
    CHECK(!leak_holders_graph(&all, 4, true, &graph));
    all.holders += 2;
    REQUIRE(leak_holders_graph(&all, 4, false, &graph)); /* a sum made behind its step */
    CHECK_STR(graph.path, "outputs");
}

/* What a backward freed may hold a leaf for all that, where nothing else does. */
TEST(a_graph_that_was_freed_comes_last)
{
    struct leak_holder graph, holders[] = {
                                  HELD(1, 10, 50, HOLDER_DICT, "outs", HOLDER_BORN_IN),
                                  HELD(2, 20, 50, HOLDER_DICT, "outs", HOLDER_BORN_IN),
                                  HELD(3, 30, 40, HOLDER_LIST, "means", HOLDER_BORN_IN),
                                  HELD(4, 40, 40, HOLDER_LIST, "means", HOLDER_BORN_IN),
                              };
    struct leak_holders all = {.looked = HOLDER_LOOK_ALL, .holders = holders, .count = 4};
    REQUIRE(leak_holders_graph(&all, 4, false, &graph));
    CHECK_STR(graph.path, "outs");
    holders[0].freed = holders[1].freed = true;
    REQUIRE(leak_holders_graph(&all, 4, false, &graph));
    CHECK_STR(graph.path, "means");
    all.count = 2;
    REQUIRE(leak_holders_graph(&all, 4, false, &graph));
    CHECK_STR(graph.path, "outs");
}

/* Address of each block of site 1 is in a list; site 2 has none, and a variable a long graph. */
TEST(who_holds_what_is_left)
{
    struct db *db = recording("leaks");
    struct leaks leaks;
    char text[HOLDER_TEXT], advice[HOLDER_ADVICE];
    REQUIRE(leaks_read(db, 1, 1, &usual, &leaks) == 0);
    CHECK_INT(leaks.sites[0].holder.kind, HOLDER_UNKNOWN);
    CHECK_STR(holder_text(text, &leaks.sites[0].holder, PURPOSE_OTHER, leaks.holders.looked),
              "holder not known: not looked for at the end of the program");
    leaks_clear(&leaks);
    REQUIRE(db_exec(db,
                    "INSERT INTO mark SELECT 5000 + seq, 1, 1, 0, 'held by|list@run.py:41|a.b|c|3',"
                    " address + 16, NULL FROM allocation WHERE site = 1;"
                    "INSERT INTO mark VALUES(9000, 1, 1, 0, 'held by|variable|total|99', 1, NULL),"
                    "(9001, 1, 1, 0, 'held by|junk|x|1', 2, NULL),"
                    "(9002, 1, 1, 0, 'held by|list', 3, NULL),"
                    "(9003, 1, 1, 0, 'held by|', 1, NULL)") == 0);
    REQUIRE(leaks_read(db, 1, 1, &usual, &leaks) == 0);
    CHECK(leaks_is_valid(&leaks));
    CHECK_INT(leaks.holders.looked, HOLDER_LOOK_ALL);
    CHECK_INT(leaks.sites[0].holder.kind, HOLDER_LIST);
    CHECK_STR(leaks.sites[0].holder.path, "a.b|c");
    CHECK_STR(holder_text(text, &leaks.sites[0].holder, PURPOSE_OTHER, HOLDER_LOOK_ALL),
              "a list a.b|c (run.py:41)");
    CHECK(!leaks.on_host);
    CHECK_INT(leaks.sites[0].holder.bytes, MIB(1));
    CHECK_STR(holder_advice(advice, &leaks.sites[0].holder, PURPOSE_OTHER, false),
              "a.b|c.clear() after use, or collections.deque(maxlen=N), or store "
              "value.detach().cpu()");
    struct leak_holder graph;
    CHECK(leak_holders_graph(&leaks.holders, 9, false, &graph));
    CHECK_STR(graph.path, "total");
    CHECK_INT(graph.around, HOLDER_UNKNOWN);
    CHECK_INT(leaks.sites[1].holder.kind,
              HOLDER_UNKNOWN); /* blocks of the kind other have no graph */
    CHECK_STR(holder_text(text, &leaks.sites[1].holder, PURPOSE_OTHER, leaks.holders.looked),
              "Python, holder not known: at the end no name was found that leads there; locals of "
              "functions that returned were not seen");
    leaks_clear(&leaks);
    REQUIRE(db_exec(db, "UPDATE mark SET value = 0 WHERE name = 'held by|'") == 0);
    REQUIRE(leaks_read(db, 1, 1, &usual, &leaks) == 0);
    CHECK_STR(holder_text(text, &leaks.sites[1].holder, PURPOSE_OTHER, leaks.holders.looked),
              "holder not known: at the end of the program there was no time to look at all");
    leaks_clear(&leaks);
    db_close(db);
}

/* Nine steps are too few to know of a list that is cut, and no length of time of a deque. */
TEST(what_has_a_bound_is_no_sure_leak)
{
    static const char *const kinds[] = {"list", "trimmed", "bounded"};
    static const char *const texts[] = {
        "a list kept", "a list kept, which the program also shortens", "a deque with maxlen, kept"};
    for (int i = 0; i < 3; i++) {
        struct db *db = recording("leaks");
        struct leaks leaks;
        char text[HOLDER_ADVICE], sql[256];
        snprintf(sql, sizeof sql,
                 "INSERT INTO mark SELECT 5000 + seq, 1, 1, 0, 'held by|%s|kept|0', address, NULL"
                 " FROM allocation WHERE site = 1",
                 kinds[i]);
        REQUIRE(db_exec(db, sql) == 0);
        REQUIRE(leaks_read(db, 1, 1, &usual, &leaks) == 0);
        CHECK(leaks_is_valid(&leaks));
        const struct leak_site *site = site_of(&leaks, 1);
        CHECK_INT(site->sure, i ? LEAK_PERHAPS : LEAK_SURE);
        CHECK_STR(holder_text(text, &site->holder, site->purpose, HOLDER_LOOK_ALL), texts[i]);
        CHECK_INT(*holder_advice(text, &site->holder, site->purpose, false) != 0, i == 0);
        leaks_clear(&leaks);
        db_close(db);
    }
}

static bool graph_of(struct leak_holder *holders, size_t count, struct leak_holder *out)
{
    const struct leak_holders all = {.looked = HOLDER_LOOK_ALL, .holders = holders, .count = count};
    return leak_holders_graph(&all, 4, false, out);
}

/* The last loss has as long a graph as each one in the list. */
TEST(a_list_holds_the_graphs_of_its_elements)
{
    struct leak_holder graph, holders[] = {
                                  HELD(1, 10, 102, HOLDER_VARIABLE, "loss", HOLDER_BORN_UNKNOWN),
                                  HELD(2, 20, 102, HOLDER_LIST, "history", HOLDER_BORN_UNKNOWN),
                                  HELD(3, 21, 102, HOLDER_LIST, "history", HOLDER_BORN_UNKNOWN),
                              };
    char text[HOLDER_TEXT], advice[HOLDER_ADVICE];
    REQUIRE(graph_of(holders, 3, &graph));
    CHECK_STR(holder_text(text, &graph, PURPOSE_HELD, HOLDER_LOOK_ALL),
              "the autograd graphs of what is in a list history");
    CHECK(strstr(holder_advice(advice, &graph, PURPOSE_HELD, false), "into history") != NULL);
    CHECK(strstr(advice, "history =") == NULL && strstr(advice, "+=") == NULL);
    CHECK_INT(graph.kind, HOLDER_GRAPH);
    holders[0].nodes = 205; /* of all steps */
    REQUIRE(graph_of(holders, 3, &graph));
    CHECK_STR(graph.path, "loss");
    CHECK(strstr(holder_advice(advice, &graph, PURPOSE_HELD, false), "loss = loss.detach()") !=
          NULL);
    CHECK(!graph_of(holders, 0, &graph));
}

static const char *advice_of(char text[HOLDER_ADVICE], enum holder_kind kind, int64_t nodes,
                             int64_t bytes, enum purpose purpose, bool on_host)
{
    struct leak_holder holder = HELD(1, 10, nodes, kind, "kept", HOLDER_BORN_UNKNOWN);
    holder.bytes = bytes;
    return holder_advice(text, &holder, purpose, on_host);
}

/* To copy to the CPU what is there saves nothing; a tensor of many numbers is no item. */
TEST(advice_fits_the_device_and_the_size)
{
    char text[HOLDER_ADVICE];
    CHECK_STR(advice_of(text, HOLDER_LIST, 0, 4096, PURPOSE_HELD, true),
              "kept.clear() after use, or collections.deque(maxlen=N)");
    CHECK_STR(advice_of(text, HOLDER_LIST, 0, 4096, PURPOSE_HELD, false),
              "kept.clear() after use, or collections.deque(maxlen=N), or store value.cpu()");
    CHECK_STR(advice_of(text, HOLDER_LIST, 9, 4096, PURPOSE_HELD, true),
              "kept.clear() after use, or collections.deque(maxlen=N); value.detach() frees "
              "graphs, not the elements");
    CHECK_STR(advice_of(text, HOLDER_LIST, 9, 4, PURPOSE_HELD, true),
              "its elements keep their graphs: store value.item()");
    CHECK_STR(advice_of(text, HOLDER_DICT, 0, 4096, PURPOSE_HELD, true),
              "bound it: `if len(kept) > N: kept.pop(next(iter(kept)))`");
    CHECK_STR(advice_of(text, HOLDER_LIST, 0, 4096, PURPOSE_INPUT, true),
              "keep no batches in kept; if they are needed: their indices");
    CHECK_STR(advice_of(text, HOLDER_GRAPH, 99, 4096, PURPOSE_HELD, true),
              "`kept = kept.detach()` before a step's forward, where gradients then end; "
              "torch.no_grad() where no backward follows");
    CHECK_STR(advice_of(text, HOLDER_OPTIMIZER, 0, 4096, PURPOSE_OPTIMIZER_STATE, false), "");
    CHECK_STR(advice_of(text, HOLDER_OPTIMIZER, 0, 4096, PURPOSE_OTHER, true), "");
    struct leak_holder state = HELD(1, 10, 0, HOLDER_DICT, "opt.state", HOLDER_BORN_UNKNOWN);
    CHECK_STR(holder_advice(text, &state, PURPOSE_OPTIMIZER_STATE, false), "");
    CHECK_STR(holder_text(text, &state, PURPOSE_OPTIMIZER_STATE, HOLDER_LOOK_ALL),
              "the optimizer's own state, opt.state");
    struct leak_holder graph = HELD(1, 10, 9, HOLDER_GRAPH, "kept", HOLDER_BORN_UNKNOWN);
    graph.bytes = 4096;
    graph.several = true;
    CHECK_STR(holder_advice(text, &graph, PURPOSE_HELD, true),
              "`kept = tuple(v.detach() for v in kept)` before a step's forward, where gradients "
              "then end; torch.no_grad() where no backward follows");
    graph.several = false;
    graph.around = HOLDER_LIST;
    CHECK_STR(holder_advice(text, &graph, PURPOSE_HELD, true),
              "put value.detach() into kept; torch.no_grad() where no backward follows");
    graph.bytes = 8;
    CHECK_STR(holder_advice(text, &graph, PURPOSE_HELD, true),
              "put value.item() into kept; torch.no_grad() where no backward follows");
}

/* A loss is made of the state that one step passes to the next, and has its graph. */
TEST(a_state_holds_the_graph_that_the_loss_has)
{
    struct leak_holder graph, holders[] = {
                                  HELD(1, 12, 120, HOLDER_VARIABLE, "loss", HOLDER_BORN_UNKNOWN),
                                  HELD(2, 11, 118, HOLDER_VARIABLE, "output", HOLDER_BORN_UNKNOWN),
                                  HELD(3, 10, 110, HOLDER_VARIABLE, "h", HOLDER_BORN_UNKNOWN),
                                  HELD(4, 5, 9, HOLDER_VARIABLE, "mask", HOLDER_BORN_UNKNOWN),
                              };
    REQUIRE(graph_of(holders, 4, &graph));
    CHECK_STR(graph.path, "h");
    holders[2].nodes = 20; /* detached: what is in the loss alone */
    REQUIRE(graph_of(holders, 4, &graph));
    CHECK_STR(graph.path, "output");
    holders[1].nodes = 120; /* as many, or too many to count: the name that was there first */
    REQUIRE(graph_of(holders, 4, &graph));
    CHECK_STR(graph.path, "output");
    holders[0].carried = true; /* the sources say so */
    REQUIRE(graph_of(holders, 4, &graph));
    CHECK_STR(graph.path, "loss");
    CHECK(!graph.several);
    holders[0].carried = false;
    holders[1].address = holders[2].address = 7; /* one tensor of two names */
    holders[1].kind = HOLDER_ATTRIBUTE;
    holders[2].nodes = holders[1].nodes = 100;
    holders[2].seq = 1;
    REQUIRE(graph_of(holders, 4, &graph));
    CHECK_STR(graph.path, "output");
    holders[0].nodes = holders[1].nodes = holders[2].nodes = 3;
    holders[3].nodes = 2;
    CHECK(!graph_of(holders, 4, &graph));
}

TEST(which_steps_count)
{
    struct db *db = recording("leaks");
    struct leak_options options = usual;
    struct leaks leaks;
    options.warm_up = 0; /* then what the first step made is left, too */
    options.keep = 1;
    CHECK_INT(leaks_read(db, 1, 1, &options, &leaks), 0);
    CHECK(leaks_is_valid(&leaks));
    CHECK_INT(leaks.window, 11);
    CHECK_INT(site_of(&leaks, 4)->steps, 1);
    CHECK_INT(site_of(&leaks, 4)->sure, LEAK_PERHAPS);
    CHECK_INT(site_of(&leaks, 1)->blocks, 11);
    CHECK(site_of(&leaks, 3) == NULL);
    leaks_clear(&leaks);
    options.first_step = 4;
    options.last_step = 6;
    CHECK_INT(leaks_read(db, 1, 1, &options, &leaks), 0);
    CHECK_INT(leaks.window, 3);
    CHECK_INT(site_of(&leaks, 1)->bytes, MIB(3));
    CHECK_INT(site_of(&leaks, 1)->sure, LEAK_LIKELY); /* too short to be sure */
    leaks_clear(&leaks);
    options.first_step = 11;
    options.last_step = INT64_MAX;
    CHECK_INT(leaks_read(db, 1, 1, &options, &leaks), 0);
    CHECK(leaks.steps_known && leaks.window == 0 && leaks.count == 0);
    leaks_clear(&leaks);
    db_close(db);
}

/* The last step is not over: the look is taken as the one before it ends. */
TEST(a_step_that_has_not_ended)
{
    struct db *db = recording("leaks");
    struct leaks leaks;
    REQUIRE(db_exec(db, "UPDATE phase SET end_seq = NULL, end_ns = NULL WHERE id = 24") == 0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK_INT(leaks.last_step, 8);
    CHECK_INT(leaks.seq, 1100);
    CHECK_INT(site_of(&leaks, 2)->steps, 2);
    leaks_clear(&leaks);
    REQUIRE(db_exec(db, "DELETE FROM phase WHERE step > 0") == 0);
    CHECK_INT(leaks_read(db, 1, 1, &usual, &leaks), 0);
    CHECK(!leaks.steps_known && leaks.window == 0);
    leaks_clear(&leaks);
    db_close(db);
}

/* Beside a query that looks at every block. */
TEST(as_a_scan_of_all_blocks_says)
{
    static const char sql[] =
        "SELECT count(*), sum(size), count(DISTINCT seq / 100) FROM allocation"
        " WHERE site IS ?1 AND seq / 100 BETWEEN ?2 AND ?3 AND (free_seq < 0 OR free_seq > 1200)";
    struct db *db = recording("leaks");
    struct db_stmt *stmt;
    struct leaks leaks;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    for (int64_t keep = 1; keep <= 6; keep++) {
        struct leak_options options = usual;
        options.keep = keep;
        CHECK_INT(leaks_read(db, 1, 1, &options, &leaks), 0);
        for (size_t i = 0; i < leaks.count; i++) {
            if (leaks.sites[i].site == GROUP_NONE)
                db_bind_null(stmt, 0);
            else
                db_bind_int(stmt, 0, leaks.sites[i].site);
            db_bind_int(stmt, 1, leaks.first_step);
            db_bind_int(stmt, 2, leaks.last_step);
            REQUIRE(db_step(stmt) == DB_ROW);
            CHECK_INT(leaks.sites[i].blocks, db_column_int(stmt, 0));
            CHECK_INT(leaks.sites[i].bytes, db_column_int(stmt, 1));
            CHECK_INT(leaks.sites[i].steps, db_column_int(stmt, 2));
            db_reset(stmt);
        }
        leaks_clear(&leaks);
    }
    db_finalize(stmt);
    db_close(db);
}

TEST_MAIN(TEST_CASE(what_every_step_leaves), TEST_CASE(what_an_evaluation_between_steps_leaves),
          TEST_CASE(what_the_last_evaluation_does_not_replace),
          TEST_CASE(a_graph_that_was_freed_comes_last),
          TEST_CASE(a_forward_behind_the_training_is_no_step_of_it),
          TEST_CASE(a_graph_is_of_where_its_blocks_were_made), TEST_CASE(who_holds_what_is_left),
          TEST_CASE(what_has_a_bound_is_no_sure_leak),
          TEST_CASE(a_list_holds_the_graphs_of_its_elements),
          TEST_CASE(a_state_holds_the_graph_that_the_loss_has),
          TEST_CASE(advice_fits_the_device_and_the_size), TEST_CASE(which_steps_count),
          TEST_CASE(a_step_that_has_not_ended), TEST_CASE(as_a_scan_of_all_blocks_says))
