/*
 * The rules in C beside the view: every block of recordings, and of random rows that no recorder
 * would write, must come out with the same category, the same rule and the same phases.
 *
 * The recording that TIDEMARK_COMPARE names is compared, too: category_of_sample.sh makes one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "category.h"
#include "buf.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "recording.h"
#include "test.h"

enum { MOST_RULES = 256 };

static char *seen_rules[MOST_RULES];
static size_t seen_count;

static void note_rule(const char *rule)
{
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen_rules[i], rule) == 0)
            return;
    if (seen_count < MOST_RULES)
        seen_rules[seen_count++] = mem_copy(rule, strlen(rule));
}

static bool saw(const char *rule)
{
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen_rules[i], rule) == 0)
            return true;
    return false;
}

static int64_t known(struct db_stmt *row, int at)
{
    return db_column_type(row, at) == DB_NULL ? CATEGORY_UNKNOWN : db_column_int(row, at);
}

static const char all_sql[] =
    "SELECT a.seq, a.free_seq, a.tag, ap.phase, c.category, c.rule, v.phase_id, v.freed_phase_id,"
    "       v.step, a.size"
    "  FROM heap h CROSS JOIN allocation a ON a.heap = h.id"
    "  LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"
    "  JOIN allocation_category c ON c.allocation = a.seq"
    "  JOIN allocations v ON v.allocation = a.seq"
    " WHERE h.process = ?";

/* Returns how many blocks there were. */
static int64_t compare(struct db *db, int64_t process)
{
    struct category_rules *rules;
    struct db_stmt *row;
    int64_t blocks = 0;
    REQUIRE(category_load(db, process, &rules) == 0);
    CHECK(category_is_valid(rules));
    REQUIRE(db_prepare(db, &row, all_sql) == 0);
    db_bind_int(row, 0, process);
    for (; db_step(row) == DB_ROW; blocks++) {
        struct category_block block = {db_column_int(row, 0), db_column_int(row, 1), known(row, 2),
                                       known(row, 3), db_column_int(row, 9)};
        struct category_verdict verdict;
        REQUIRE(category_decide(rules, &block, &verdict) == 0);
        CHECK_STR(purpose_name(verdict.purpose), db_column_text(row, 4));
        CHECK_STR(verdict.rule, db_column_text(row, 5));
        CHECK_INT(verdict.born, known(row, 6));
        CHECK_INT(verdict.freed, known(row, 7));
        CHECK_INT(verdict.step, known(row, 8));
        note_rule(verdict.rule);
    }
    db_finalize(row);
    CHECK(category_is_valid(rules));
    category_free(rules);
    return blocks;
}

static int64_t ask(struct db *db, const char *sql)
{
    struct db_stmt *stmt;
    REQUIRE(db_prepare(db, &stmt, sql) == 0);
    REQUIRE(db_step(stmt) == DB_ROW);
    int64_t value = db_column_int(stmt, 0);
    db_finalize(stmt);
    return value;
}

static void compare_all(struct db *db)
{
    int64_t processes = ask(db, "SELECT coalesce(max(id), 0) FROM process"), blocks = 0;
    for (int64_t process = 1; process <= processes; process++)
        blocks += compare(db, process);
    CHECK_INT(blocks, ask(db, "SELECT count(*) FROM allocation"));
}

TEST(recordings)
{
    static const char *const names[] = {"train", "torch", "ranks", "leaks", "silent", "stopped"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct db *db = recording(names[i]);
        compare_all(db);
        db_close(db);
    }
}

TEST(a_process_without_phases)
{
    struct category_rules *rules;
    struct category_verdict verdict;
    struct db *db = recording("train");
    REQUIRE(category_load(db, 99, &rules) == 0);
    struct category_block block = {7, DB_LIVING_SEQ, CATEGORY_UNKNOWN, CATEGORY_UNKNOWN, 512};
    REQUIRE(category_decide(rules, &block, &verdict) == 0);
    CHECK_STR(purpose_name(verdict.purpose), "other");
    CHECK_STR(verdict.rule, "no step was seen");
    CHECK_INT(verdict.born, CATEGORY_UNKNOWN);
    category_free(rules);
    db_close(db);
}

/* ---- rows as nobody writes them ---- */

static uint64_t seed;

static int below(int bound)
{
    return (int)(test_random(&seed) % (uint64_t)bound);
}

/* The number, or NULL once in `of` times. */
static const char *maybe(char *text, size_t size, int value, int of)
{
    if (of && below(of) == 0)
        return "NULL";
    snprintf(text, size, "%d", value);
    return text;
}

enum { PHASES = 40, BLOCKS = 300, LAST = 1000 };

/* Every eighth phase is of process 2. The number of any phase of the process, or of none at all: no
 * phase of another process, which the view would find but nothing that records would name. */
static int any_phase(int process)
{
    int id = 1 + below(PHASES);
    if (below(12) == 0)
        return PHASES + 1;
    return process == 2 ? 8 * (1 + id % 5) : id % 8 ? id : id - 1;
}

/* Phases nest in each other in any order of their numbers, in circles too; some are of no step,
 * some have not ended, some of the stretches name one that is not there. `open`: one end of so
 * many is not known, 0 = all are; so is one step, 1 = none is. */
static void random_phases(struct buf *sql, int open, int steps)
{
    static const char *const kinds[] = {"zero_grad", "forward", "loss",      "backward",
                                        "optimizer", "user",    "user",      "recompute",
                                        "other",     "eval",    "zero_grad", "no phase"};
    static const char *const ways[] = {"'end'", "'end'",       "'end'",         "NULL",
                                       "'end'", "'exception'", "'process end'", "'unbalanced'"};
    char parent[16], step[16], end[16];
    for (int id = 1; id <= PHASES; id++) {
        int begin = 50 + below(LAST), process = id % 8 ? 1 : 2;
        bool root = below(3) > 0;
        buf_print(sql,
                  "INSERT INTO phase(id, process, parent, ordinal, kind, name, step, begin_seq,"
                  " end_seq, begin_ns, scope, ended) VALUES(%d, %d, %s, 0, '%s', 'n', %s, %d, %s,"
                  " 0, 'process', %s);\n",
                  id, process, maybe(parent, sizeof parent, any_phase(process), root ? 1 : 0),
                  kinds[below(12)], maybe(step, sizeof step, below(4), steps), begin,
                  maybe(end, sizeof end, begin + below(200), open), ways[below(8)]);
    }
    for (int i = 0; i < 60; i++) {
        int process = i % 10 ? 1 : 2;
        buf_print(sql, "INSERT OR IGNORE INTO stretch VALUES(%d, %d, %d);\n", process,
                  20 + below(LAST), any_phase(process));
    }
}

static void random_blocks(struct buf *sql)
{
    static const int sizes[] = {1, 1, 1, 512, 8519680, 8600000, 33554432, 33554432};
    static const char *const sites[] = {"NULL", "NULL", "NULL", "NULL", "1", "1", "2",
                                        "2",    "6",    "6",    "3",    "4", "5"};
    char tag[16];
    for (int id = 1; id <= 12; id++)
        buf_print(sql, "INSERT INTO tag VALUES(%d, %d, NULL);\n", id, below(11) - 1);
    for (int i = 0; i < BLOCKS; i++) {
        int seq = 1 + below(LAST + 100), heap = 1 + seq % 3; /* the same if it comes again */
        bool lives = below(4) == 0;
        buf_print(sql,
                  "INSERT OR IGNORE INTO "
                  "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                  "segment) VALUES(%d, %d, 0, %d, NULL, 0, 0, %d, %s, %s,"
                  " NULL);\n",
                  seq, heap, sizes[below(8)], lives ? (int)DB_LIVING_SEQ : seq + 1 + below(400),
                  sites[below(13)], below(6) ? "NULL" : maybe(tag, sizeof tag, 1 + below(14), 0));
        if (below(6) == 0)
            buf_print(sql, "INSERT OR IGNORE INTO allocation_phase VALUES(%d, %d);\n", seq,
                      any_phase(heap == 3 ? 2 : 1));
    }
}

/* Frames of C++ come from imports, those of torch.distributed from what has a rank or cannot say
 * that it has none. */
static void random_source(struct buf *sql, uint64_t kind)
{
    enum { IMPORT, RANKS, NO_PHASES, ALONE };
    buf_print(sql,
              "INSERT INTO process(id, pid, origin, start_ns, rank, live) VALUES"
              "(1, 1, 'root', 0, %s, %s), (2, 2, 'fork', 0, %s, %s);\n",
              kind == RANKS ? "0" : "NULL", kind == NO_PHASES ? "'stacks'" : "'phases, stacks'",
              kind == RANKS ? "1" : "NULL", kind == NO_PHASES ? "NULL" : "'phases'");
    buf_print(sql, "INSERT INTO string VALUES(2, '%s'), (6, '%s');\n",
              kind == IMPORT ? "at::cuda::getNewWorkspace()" : "work",
              kind == ALONE ? "lib/work.py" : "lib/torch/distributed/fsdp/_fully_shard/_fsdp.py");
    if (kind == IMPORT)
        buf_text(sql, "INSERT INTO setting VALUES(1, NULL, 'imported_from', 'snapshot'),"
                      " (2, NULL, 'imported_from', 'snapshot');\n");
}

static void random_run(uint64_t number)
{
    struct buf sql = {0};
    struct db *db;
    seed = number + 1;
    buf_text(&sql, "BEGIN;\n");
    random_source(&sql, number % 4);
    buf_text(&sql,
             "INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL), (2, 'cuda', 0, NULL, NULL);\n"
             "INSERT INTO string VALUES(1, 'einsum'),"
             " (3, 'FSDPParam.alloc_all_gather_outputs'), (4, 'foreach_all_gather'),"
             " (5, 'foreach_reduce');\n"
             "INSERT INTO frame VALUES(1, 1, NULL, 1), (2, 2, NULL, 1), (3, 3, 6, 1), (4, 4, 6, 1),"
             " (5, 5, 6, 1);\n"
             "INSERT INTO site VALUES(1, 0, 1), (2, 0, 2), (3, 0, 3), (4, 0, 4), (5, 0, 5),"
             " (6, 0, 1);\n"
             "INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 1, 2, 1, 0, NULL),"
             " (3, 2, 1, 0, 0, NULL);\n");
    random_phases(&sql, number % 3 == 0 ? 0 : number % 3 == 1 ? 30 : 4, number % 7 == 6 ? 1 : 5);
    random_blocks(&sql);
    buf_text(&sql, "COMMIT;\n");
    REQUIRE(!sql.broken);
    remove(test_path("random"));
    REQUIRE(db_create(&db, test_path("random")) == 0);
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    compare_all(db);
    db_close(db);
    buf_clear(&sql);
}

TEST(random_rows)
{
    static const char *const rules[] = {
        "tag",
        "live before the first step and to the end",
        "as large as a parameter, made after it and before the first step, live to the end",
        "live before the first step and to the end, but not tagged as a parameter",
        "allocated before the first step, freed before the end",
        "allocated and freed inside one phase",
        "allocated in backward, freed by zero_grad",
        "allocated in backward, live when the recording ended inside the step",
        "allocated in backward, live when the step was cut short",
        "allocated in forward, live when the step was cut short",
        "allocated in backward, live at the end of the step",
        "allocated in the first optimizer phase, still live",
        "allocated in forward, freed in backward",
        "allocated in loss, freed in recompute",
        "allocated in forward, live when the recording ended",
        "allocated in forward, live after backward",
        "allocated in no phase, live at the end",
        "allocated in eval, freed in no phase",
        "allocated inside cuBLAS' wrapper, kept",
        "as large as cuBLAS' workspace, allocated in a matrix multiplication, kept",
        "as large as cuBLAS' workspace, without a tag, kept",
        "gathered by FSDP from all ranks",
        "FSDP gathers parameters in it",
        "allocated by torch.distributed and freed inside one phase",
    };
    for (uint64_t number = 0; number < 60; number++)
        random_run(number);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!saw(rules[i]))
            printf("never decided: %s\n", rules[i]);
        CHECK(saw(rules[i]));
    }
}

/* ---- what a library keeps ---- */

/* Two steps of forward and backward on a GPU, three call stacks: cuBLAS' own, a Linear's, the
 * program's. Blocks that differ in one thing each. */
static const char library_sql[] =
    "INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 1, 'root', 0);"
    "INSERT INTO setting VALUES(1, NULL, 'imported_from', 'snapshot');"
    "INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL), (2, 'cuda', 0, NULL, NULL);"
    "INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 1, 2, 0, 0, NULL);"
    "INSERT INTO string VALUES(1, 'at::cuda::getNewWorkspace()'), (2, 'Linear.forward'),"
    " (3, '/usr/lib/torch/nn/modules/linear.py'), (4, 'main'), (5, 'train.py'),"
    " (6, 'Linear.__init__'), (7, 'bmm'), (8, 'autograd'), (9, 'Qwen2RotaryEmbedding.forward');"
    "INSERT INTO frame VALUES(1, 1, NULL, NULL), (2, 2, 3, 114), (3, 4, 5, 7), (4, 6, 3, 106),"
    " (5, 7, 5, 9), (6, 8, NULL, NULL), (7, 9, 5, 9);"
    "INSERT INTO site VALUES(6, 0, 6), (6, 1, 3), (7, 0, 7), (7, 1, 3), (1, 0, 5), (1, 1, 1), (1, "
    "2, 3), (2, 0, 2), (2, 1, 3), (3, 0, 3),"
    " (4, 0, 4), (5, 0, 5);"
    "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, scope,"
    " ended) VALUES(1, 1, 0, 'forward', 'f', 0, 100, 149, 0, 'process', 'end'),"
    " (2, 1, 0, 'backward', 'b', 0, 150, 199, 0, 'process', 'end'),"
    " (3, 1, 0, 'forward', 'f', 1, 200, 249, 0, 'process', 'end'),"
    " (4, 1, 0, 'backward', 'b', 1, 250, 299, 0, 'process', 'end');"
    "INSERT INTO stretch VALUES(1, 100, 1), (1, 150, 2), (1, 200, 3), (1, 250, 4);";

static const struct kept {
    int seq, heap, size, requested, site, tag; /* 0 = NULL */
    int free_seq;                              /* 0 = it lives */
    char proof;                                /* f frame, m multiplication, t no tag, - none */
} kept[] = {
    {101, 2, 33554432, 33554432, 1, 0, 0, 'f'},
    {102, 2, 1048576, 0, 1, 0, 0, 'f'},         /* the stack is proof enough */
    {103, 1, 33554432, 33554432, 1, 0, 0, '-'}, /* never on the host */
    {104, 2, 33554432, 33554432, 1, 1, 0, '-'}, /* it has a tag */
    {105, 2, 33554432, 33554432, 1, 0, 170, '-'},
    {106, 2, 33554432, 33554432, 2, 0, 0, 'm'},
    {107, 2, 33554432, 0, 5, 0, 300, 'm'},      /* after the last step is late enough */
    {108, 2, 34000000, 0, 2, 0, 0, 'm'},        /* the allocator's slack */
    {109, 2, 34000000, 34000000, 2, 0, 0, '-'}, /* that was asked for */
    {110, 2, 33554432, 33554432, 3, 0, 0, '-'}, /* any tensor can have that size */
    {111, 2, 33554432, 33554432, 4, 0, 0, '-'}, /* a weight */
    {112, 2, 8519680, 8519680, 3, 0, 0, 't'},   /* tensors have tags, and hardly that size */
    {113, 2, 8519680, 0, 2, 0, 0, 'm'},
    {114, 2, 20971520, 20971520, 2, 0, 0, '-'},
    {160, 2, 33554432, 33554432, 0, 0, 0, 't'}, /* in backward, without a stack */
    {161, 2, 33554432, 33554432, 3, 0, 0, '-'},
    {162, 2, 33554432, 33554432, 6, 0, 0, 't'}, /* of autograd's thread: no function made it */
    {115, 2, 33554432, 33554432, 7, 0, 0, 'm'}, /* a product, though not by that name */
    {210, 2, 33554432, 33554432, 2, 0, 0, '-'}, /* the second step's: it may be held */
    {211, 2, 8519680, 8519680, 2, 0, 0, 'm'},
    {212, 2, 9216000, 0, 2, 0, 0, '-'}, /* logits that are held: within the slack, not that size */
    {213, 2, 8519680, 0, 2, 0, 0, 'm'},
    {260, 2, 33554432, 33554432, 0, 0, 0, '-'},
    {50, 2, 33554432, 33554432, 2, 0, 0, 'm'}, /* before the first step */
    {51, 2, 33554432, 33554432, 0, 0, 0, '-'},
};

static const char *rule_of(char proof)
{
    return proof == 'f' ? "library workspace|allocated inside cuBLAS' wrapper, kept"
           : proof == 'm'
               ? "library workspace|as large as cuBLAS' workspace, allocated in a matrix "
                 "multiplication, kept"
           : proof == 't' ? "library workspace|as large as cuBLAS' workspace, without a tag, kept"
                          : "";
}

static const char *or_null(char *text, size_t size, int value)
{
    snprintf(text, size, value ? "%d" : "NULL", value);
    return text;
}

static struct db *make_library(const char *more)
{
    struct db *db;
    char sql[512], asked[16], site[16], tag[16];
    remove(test_path("library"));
    REQUIRE(db_create(&db, test_path("library")) == 0);
    REQUIRE(db_exec(db, library_sql) == 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const struct kept *k = &kept[i];
        snprintf(sql, sizeof sql,
                 "INSERT INTO "
                 "allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,site,tag,"
                 "segment) VALUES(%d, %d, 4096, %d, %s, 0, 0, %d, %s, %s, NULL)",
                 k->seq, k->heap, k->size, or_null(asked, sizeof asked, k->requested),
                 k->free_seq ? k->free_seq : (int)DB_LIVING_SEQ,
                 or_null(site, sizeof site, k->site), or_null(tag, sizeof tag, k->tag));
        REQUIRE(db_exec(db, sql) == 0);
    }
    REQUIRE(db_exec(db, more) == 0);
    return db;
}

/* The view says so; that the rules in C do, too, compare_all sees. */
static bool says_library(struct db *db, int seq, const char *want)
{
    char sql[512];
    struct db_stmt *row;
    snprintf(sql, sizeof sql,
             "SELECT CASE category WHEN 'library workspace' THEN category || '|' || rule ELSE ''"
             " END FROM allocation_category WHERE allocation = %d",
             seq);
    REQUIRE(db_prepare(db, &row, sql) == 0 && db_step(row) == DB_ROW);
    bool same = strcmp(db_column_text(row, 0), want) == 0;
    if (!same)
        printf("%d: '%s'\n", seq, db_column_text(row, 0));
    db_finalize(row);
    return same;
}

TEST(workspaces_of_cublas)
{
    struct db *db = make_library("INSERT INTO tag VALUES(1, 1, 'w')");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        CHECK(says_library(db, kept[i].seq, rule_of(kept[i].proof)));
    compare_all(db);
    db_close(db);
}

/* Without tags, blocks of no call stack may be tensors; with a setting, it is its size that counts.
 */
TEST(workspaces_where_less_is_known)
{
    struct db *db = make_library("INSERT INTO tag VALUES(1, 8, 'w');"
                                 "DELETE FROM phase WHERE id > 2; DELETE FROM stretch WHERE"
                                 " begin_seq > 150");
    CHECK(says_library(db, 101, rule_of('f')));
    CHECK(says_library(db, 106, "")); /* one step says nothing */
    CHECK(says_library(db, 113, rule_of('m')));
    CHECK(says_library(db, 112, ""));
    CHECK(says_library(db, 160, ""));
    compare_all(db);
    db_close(db);
    db = make_library("INSERT INTO tag VALUES(1, 1, 'w');"
                      "INSERT INTO setting VALUES(1, NULL, 'cublas_workspace', '20971520')");
    CHECK(says_library(db, 114, rule_of('m')));
    CHECK(says_library(db, 106, ""));
    CHECK(says_library(db, 112, ""));
    CHECK(says_library(db, 101, rule_of('f')));
    compare_all(db);
    db_close(db);
    db = make_library("INSERT INTO tag VALUES(1, 1, 'w');"
                      "INSERT INTO setting VALUES(1, NULL, 'cublas_workspace', '0')");
    CHECK(says_library(db, 106, ""));
    CHECK(says_library(db, 112, ""));
    compare_all(db);
    db_close(db);
}

/* ---- models that ranks share ---- */

/* A step of forward and backward; call stacks as FSDP2, FSDP1 and tensor parallel have them. */
static const char sharing_sql[] =
    "INSERT INTO process(id, pid, origin, start_ns, rank) VALUES(1, 1, 'root', 0, 0);"
    "INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL);"
    "INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL);"
    "INSERT INTO tag VALUES(1, 2, 'gradient of w');"
    "INSERT INTO string VALUES(1, 'alloc_storage'), (2, 'FSDPParam.alloc_all_gather_outputs'),"
    " (3, 'foreach_all_gather_copy_out'), (4, 'DefaultAllocMixin.allocate'),"
    " (5, 'foreach_all_gather'), (6, 'all_gather_single'), (7, 'foreach_reduce'),"
    " (8, 'TypedStorage._resize_'), (9, 'FlatParamHandle._alloc_padded_unsharded_flat_param'),"
    " (10, 'AsyncCollectiveTensor.__torch_dispatch__'), (11, 'all_reduce'), (12, 'Block.forward'),"
    " (13, 'FullyShardedDataParallel.forward'), (14, 'foreach_all_gather'),"
    " (20, 'lib/torch/distributed/fsdp/_fully_shard/_fsdp_param.py'),"
    " (21, 'lib/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py'),"
    " (22, 'lib/torch/distributed/distributed_c10d.py'), (23, 'lib/torch/storage.py'),"
    " (24, 'lib/torch/distributed/fsdp/_flat_param.py'),"
    " (25, 'lib/torch/distributed/_functional_collectives.py'), (26, 'train.py'),"
    " (27, 'lib/torch/distributed/fsdp/fully_sharded_data_parallel.py');"
    "INSERT INTO frame VALUES(1, 1, 20, 1), (2, 2, 20, 2), (3, 3, 21, 3), (4, 4, 21, 4),"
    " (5, 5, 21, 5), (6, 6, 22, 6), (7, 7, 21, 7), (8, 8, 23, 8), (9, 9, 24, 9), (10, 10, 25, 10),"
    " (11, 11, 25, 11), (12, 12, 26, 12), (13, 13, 27, 13), (14, 14, 26, 14);"
    "INSERT INTO site VALUES(1, 0, 1), (1, 1, 2), (1, 2, 3), (1, 3, 12), (2, 0, 4), (2, 1, 5),"
    " (2, 2, 12), (3, 0, 6), (3, 1, 5), (4, 0, 4), (4, 1, 7), (5, 0, 8), (5, 1, 9), (5, 2, 13),"
    " (6, 0, 12), (6, 1, 13), (7, 0, 10), (7, 1, 12), (8, 0, 11), (8, 1, 12), (9, 0, 14);"
    "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, scope,"
    " ended) VALUES(1, 1, 0, 'forward', 'f', 0, 100, 149, 0, 'process', 'end'),"
    " (2, 1, 0, 'backward', 'b', 0, 150, 199, 0, 'process', 'end');"
    "INSERT INTO stretch VALUES(1, 100, 1), (1, 150, 2), (1, 200, 9);";

static const struct shared {
    int seq, free_seq, site; /* free_seq: 0 = it lives */
    const char *category;
} shared[] = {
    {101, 120, 1, "gathered parameters"},
    {102, 160, 1, "gathered parameters"}, /* without reshard_after_forward */
    {103, 0, 5, "gathered parameters"},
    {104, 121, 2, "communication buffer"},
    {105, 161, 2, "communication buffer"}, /* prefetched */
    {106, 122, 3, "communication buffer"},
    {151, 170, 4, "communication buffer"},
    {152, 210, 4, "gradient"}, /* a rank's own part, kept */
    {107, 162, 6, "activation"},
    {108, 123, 7, "workspace"}, /* an operation that waited for a collective */
    {109, 124, 8, "communication buffer"},
    {110, 163, 8, "activation"}, /* the sum, saved for backward */
    {111, 125, 9, "workspace"},  /* a function of the program's of that name */
};

TEST(what_fsdp_and_collectives_allocate)
{
    struct db *db;
    struct db_stmt *row;
    char sql[256];
    remove(test_path("sharing"));
    REQUIRE(db_create(&db, test_path("sharing")) == 0);
    REQUIRE(db_exec(db, sharing_sql) == 0);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO allocation(seq,heap,address,size,requested,alloc_ns,life_ns,free_seq,"
                 "site,tag,segment) VALUES(%d, 1, 4096, 4096, 4096, 0, 0, %d, %d, NULL, NULL)",
                 shared[i].seq, shared[i].free_seq ? shared[i].free_seq : (int)DB_LIVING_SEQ,
                 shared[i].site);
        REQUIRE(db_exec(db, sql) == 0);
        snprintf(sql, sizeof sql, "SELECT category FROM allocation_category WHERE allocation = %d",
                 shared[i].seq);
        REQUIRE(db_prepare(db, &row, sql) == 0 && db_step(row) == DB_ROW);
        CHECK_STR(db_column_text(row, 0), shared[i].category);
        db_finalize(row);
    }
    compare_all(db); /* the rules in C say the same */
    db_exec(db, "UPDATE allocation SET tag = 1 WHERE seq = 151");
    CHECK_INT(
        ask(db, "SELECT category = 'gradient' FROM allocation_category WHERE allocation = 151"), 1);
    compare_all(db);
    db_close(db);
}

/* ---- copies of parameters ---- */

static const char copies_sql[] =
    "INSERT INTO process(id, pid, origin, start_ns) VALUES(1, 1, 'root', 0), (2, 2, 'fork', 0);"
    "INSERT INTO device VALUES(1, 'cpu', -1, NULL, NULL);"
    "INSERT INTO heap VALUES(1, 1, 1, 0, 0, NULL), (2, 2, 1, 0, 0, NULL);"
    "INSERT INTO tag VALUES(1, 1, 'w'), (2, 8, 'mean');"
    "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq, end_seq, begin_ns, scope,"
    " ended) VALUES(1, 1, 0, 'forward', 'f', 0, 100, 149, 0, 'process', 'end'),"
    " (2, 1, 0, 'backward', 'b', 0, 150, 199, 0, 'process', 'end'),"
    " (3, 2, 0, 'forward', 'f', 0, 100, 149, 0, 'process', 'end');"
    "INSERT INTO stretch VALUES(1, 100, 1), (1, 150, 2), (2, 100, 3);";

/* seq, heap, size, free_seq, tag: three parameters and a buffer, then a copy of each. */
static const char model_sql[] =
    "INSERT INTO allocation(seq, heap, address, size, alloc_ns, life_ns, free_seq, tag) VALUES"
    " (9, 1, 1, 400, 0, 0, -2147483648, NULL)," /* older than what it is as large as */
    " (10, 1, 1, 400, 0, 0, -2147483648, 1), (11, 1, 1, 20, 0, 0, -2147483648, 1),"
    " (12, 1, 1, 400, 0, 0, -2147483648, 1), (13, 1, 1, 40, 0, 0, -2147483648, 2),"
    " (20, 1, 1, 400, 0, 0, -2147483648, NULL), (21, 1, 1, 20, 0, 0, 200, NULL),"
    " (22, 1, 1, 400, 0, 0, -2147483648, NULL), (23, 1, 1, 40, 0, 0, -2147483648, NULL),"
    " (24, 1, 1, 20, 0, 0, 90, NULL)," /* not kept */
    " (25, 1, 1, 9999, 0, 0, -2147483648, NULL),"
    " (30, 2, 1, 400, 0, 0, -2147483648, NULL);"; /* of a process without tags */

/* "20 parameter, ..." of blocks that no tag decided. */
static void check_copies(const char *more, const char *want)
{
    struct db *db;
    struct db_stmt *row;
    struct buf text = {0};
    remove(test_path("copies"));
    REQUIRE(db_create(&db, test_path("copies")) == 0);
    REQUIRE(db_exec(db, copies_sql) == 0);
    REQUIRE(db_exec(db, model_sql) == 0);
    REQUIRE(db_exec(db, more) == 0);
    REQUIRE(db_prepare(db, &row,
                       "SELECT allocation, substr(category, 1, 4) FROM allocation_category"
                       " WHERE rule <> 'tag' ORDER BY allocation") == 0);
    while (db_step(row) == DB_ROW)
        buf_print(&text, "%d %s, ", (int)db_column_int(row, 0), db_column_text(row, 1));
    CHECK_STR(buf_string(&text), want);
    db_finalize(row);
    buf_clear(&text);
    compare_all(db);
    db_close(db);
}

TEST(copies_of_parameters)
{
    check_copies("", "9 othe, 20 copy, 21 copy, 22 copy, 23 othe, 24 othe, 25 othe, 30 para, ");
}

/* Blocks of one size are no proof, be they many. */
TEST(what_is_as_large_as_a_parameter_by_chance)
{
    check_copies("UPDATE allocation SET size = 20 WHERE seq IN (9, 20, 22)",
                 "9 othe, 20 othe, 21 othe, 22 othe, 23 othe, 24 othe, 25 othe, 30 para, ");
}

TEST(a_process_whose_parameters_have_no_tags)
{
    check_copies("UPDATE allocation SET tag = NULL WHERE tag = 1",
                 "9 para, 10 para, 11 para, 12 para, 20 para, 21 para, 22 para, 23 para, 24 othe, "
                 "25 para, 30 para, ");
    check_copies("UPDATE allocation SET free_seq = 180 WHERE tag = 1",
                 "9 para, 20 para, 21 para, 22 para, 23 para, 24 othe, 25 para, 30 para, ");
}

TEST(without_memory)
{
    struct db *db = recording("train");
    struct category_rules *rules = NULL;
    int err = ERR_NOMEM;
    for (long n = 1; err == ERR_NOMEM && n < 1000; n++) {
        mem_fail_after(n);
        err = category_load(db, 1, &rules);
        mem_fail_after(0);
        CHECK(err == 0 || (err == ERR_NOMEM && !rules));
    }
    REQUIRE(err == 0);
    struct category_block block = {30, 31, CATEGORY_UNKNOWN, CATEGORY_UNKNOWN, 512};
    struct category_verdict verdict;
    bool done = false;
    for (long n = 1; !done && n < 100; n++) {
        mem_fail_after(n);
        done = category_decide(rules, &block, &verdict) == 0;
        mem_fail_after(0);
        CHECK(category_is_valid(rules));
    }
    CHECK(done);
    category_free(rules);
    db_close(db);
}

TEST(a_recording_of_somebody)
{
    const char *path = getenv("TIDEMARK_COMPARE");
    struct db *db;
    if (!path)
        SKIP("TIDEMARK_COMPARE names no recording");
    REQUIRE(db_open(&db, path) == 0);
    compare_all(db);
    CHECK(seen_count > 3);
    db_close(db);
}

TEST_MAIN(TEST_CASE(recordings), TEST_CASE(a_process_without_phases), TEST_CASE(random_rows),
          TEST_CASE(workspaces_of_cublas), TEST_CASE(workspaces_where_less_is_known),
          TEST_CASE(what_fsdp_and_collectives_allocate), TEST_CASE(copies_of_parameters),
          TEST_CASE(what_is_as_large_as_a_parameter_by_chance),
          TEST_CASE(a_process_whose_parameters_have_no_tags), TEST_CASE(without_memory),
          TEST_CASE(a_recording_of_somebody))
