/*
 * Levers of programs whose ranks share a model, and of what they have already.
 */
#include "test.h"

#include <string.h>

#include "db.h"
#include "levers.h"
#include "modules.h"
#include "query.h"
#include "script.h"
#include "script_sites.h"

enum { GATHER = RNN, REDUCE = OTHER }; /* sites with call stacks of FSDP and of collectives */

#define TWO_RANKS "UPDATE process SET world_size = 2;"
#define FOUR_RANKS "UPDATE process SET world_size = 4;"

/* The call stack of what FSDP gathers; modules by the place of a block in its step. */
#define FSDP                                                                                       \
    TWO_RANKS                                                                                      \
    "INSERT INTO string VALUES(60,'lib/torch/distributed/fsdp/_fully_shard/_fsdp_param.py'),"      \
    "(61,'FSDPParam.alloc_all_gather_outputs');"                                                   \
    "INSERT INTO frame VALUES(60,61,60,1); INSERT INTO site VALUES(7,1,60);"                       \
    "INSERT INTO module VALUES(1,'','Model'),(2,'h.0','Block'),(3,'h.1','Block'),"                 \
    "(4,'h.2','Block'),(5,'h.2.up','Linear');"                                                     \
    "UPDATE allocation SET module = 1 WHERE seq >= 1000 AND seq % 1000 IN (101, 550);"             \
    "UPDATE allocation SET module = 2 + (seq % 1000 - 110) / 20 WHERE seq >= 1000"                 \
    "   AND seq % 1000 BETWEEN 110 AND 169;"                                                       \
    "UPDATE allocation SET module = 4 - (seq % 1000 - 600) / 40 WHERE seq >= 1000"                 \
    "   AND seq % 1000 BETWEEN 600 AND 719;"                                                       \
    "UPDATE allocation SET module = 5 WHERE module = 4 AND seq % 1000 BETWEEN 600 AND 639;"

/* The call stack of gradients that are sent around. */
#define REDUCED                                                                                    \
    "INSERT INTO string "                                                                          \
    "VALUES(62,'lib/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py'),"                   \
    "(63,'foreach_reduce');"                                                                       \
    "INSERT INTO frame VALUES(62,63,62,1); DELETE FROM site WHERE site = 8;"                       \
    "INSERT INTO site VALUES(8,1,62);"

static int64_t at(int step, int offset)
{
    return 1000 * (step + 1) + offset;
}

static void phases_of(struct script *script, int step)
{
    script_phase(script, "forward", step, at(step, 100), at(step, 499));
    script_phase(script, "backward", step, at(step, 500), at(step, 899));
    script_phase(script, "optimizer", step, at(step, 900), at(step, 950));
}

/* Three blocks of 20 MiB inside of a model with 8 of its own; the loss takes 30 MiB for a moment,
 * as backward begins. What is gathered goes behind a module's forward, or behind its backward. */
static void shard(struct script *script, bool kept)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_tagged(script, 10, SCRIPT_LIVES, MIB(40), BUILD, TAG_PARAMETER);
    for (int step = 0; step < 2; step++) {
        phases_of(script, step);
        script_block(script, at(step, 101), at(step, 800), MIB(8), GATHER);
        for (int i = 0; i < 3; i++) {
            int forward = 110 + 20 * i, node = 600 + 40 * (2 - i);
            script_block(script, at(step, forward), at(step, kept ? node + 20 : forward + 9),
                         MIB(20), GATHER);
            script_block(script, at(step, forward + 2), at(step, node + 15), MIB(10), ENCODE);
            script_block(script, at(step, node + 2), at(step, node + 8), MIB(5), BACKWARD_40);
        }
        script_block(script, at(step, 502), at(step, 520), MIB(30), BACKWARD_41);
        script_block(script, at(step, 550), at(step, 560), MIB(1), BACKWARD_41);
    }
}

/* All zero if there is none; its texts are gone. */
static struct lever lever_of(const struct script *script, const char *sql, enum lever_kind kind)
{
    struct levers levers;
    struct peak peak;
    struct lever out = {0};
    struct db *db = script_record(script);
    REQUIRE(db_exec(db, sql) == 0);
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
    REQUIRE(levers_read(db, &peak, false, &levers) == 0);
    CHECK(levers_is_valid(&levers));
    for (size_t i = 0; i < levers.count && !out.bytes; i++)
        if (levers.levers[i].kind == kind)
            out = levers.levers[i];
    out.next_phase = out.text = out.site_text = NULL;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

/* ---- FSDP ---- */

/* 40 + 68 gathered + 30 + 30 become 40 + 8 + 30 and, as the last block's backward begins, three
 * times 20: what it gathers, the buffer that comes from, and that of the block before. */
TEST(what_is_gathered_can_go_between_forward_and_backward)
{
    struct script script = {0};
    shard(&script, true);
    struct lever lever = lever_of(&script, FSDP, LEVER_RESHARD);
    CHECK_INT(lever.bytes, MIB(168 - 138));
    CHECK(lever.estimated && !lever.changes);
}

/* The model's own part is kept by FSDP's default. */
TEST(what_goes_already_is_no_lever)
{
    struct script script = {0};
    shard(&script, false);
    CHECK_INT(lever_of(&script, FSDP, LEVER_RESHARD).bytes, 0);
}

/* What is gathered is as large for half of a batch. */
TEST(half_a_batch_gathers_as_much)
{
    struct script script = {0};
    shard(&script, true);
    CHECK_INT(lever_of(&script, FSDP, LEVER_HALF_BATCH).bytes, MIB(15 + 15));
}

/* Gradients are as large as what was gathered, until they are shared out. */
TEST(half_a_batch_has_gradients_of_whole_parameters)
{
    struct script script = {0};
    shard(&script, true);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, 501), at(step, 850), MIB(20), BACKWARD_40);
        script_block(&script, at(step, 840), at(step, 850), MIB(1), REDUCE);
    }
    CHECK_INT(lever_of(&script, FSDP REDUCED, LEVER_HALF_BATCH).bytes, MIB(15 + 15));
    CHECK_INT(lever_of(&script, FSDP, LEVER_HALF_BATCH).bytes, MIB(15 + 15 + 10));
}

TEST(what_nobody_gathered_is_no_lever)
{
    struct script script = {0};
    shard(&script, true);
    CHECK_INT(lever_of(&script, "", LEVER_RESHARD).bytes, 0);
    CHECK_INT(lever_of(&script, "", LEVER_OFFLOAD_SHARDS).bytes, 0);
}

TEST(shards_can_live_on_the_host)
{
    struct script script = {0};
    shard(&script, true);
    script_tagged(&script, at(0, 910), SCRIPT_LIVES, MIB(80), ADAM, TAG_STATE);
    CHECK_INT(lever_of(&script, FSDP, LEVER_OFFLOAD_SHARDS).bytes, MIB(40 + 80));
    /* which takes the place of another library's */
    CHECK_INT(lever_of(&script, FSDP, LEVER_OFFLOAD_STATES).bytes, 0);
    CHECK_INT(lever_of(&script, "", LEVER_OFFLOAD_STATES).bytes, MIB(80));
    CHECK_INT(lever_of(&script, FSDP "UPDATE device SET kind = 'cpu';", LEVER_OFFLOAD_SHARDS).bytes,
              0);
}

/* By FSDP, or by the optimizer that is offered. */
TEST(states_are_shared_out_once)
{
    struct script script = {0};
    shard(&script, true);
    script_tagged(&script, 11, SCRIPT_LIVES, MIB(40), BUILD, TAG_PARAMETER);
    script_tagged(&script, at(0, 910), SCRIPT_LIVES, MIB(80), ADAM, TAG_STATE);
    CHECK_INT(lever_of(&script, "", LEVER_SHARD_STATES).bytes, MIB(40));
    CHECK_INT(lever_of(&script, FSDP, LEVER_SHARD_STATES).bytes, 0);
    CHECK_INT(lever_of(&script, "INSERT INTO string VALUES(60, 'ZeroRedundancyOptimizer.step')",
                       LEVER_SHARD_STATES)
                  .bytes,
              0);
}

/* Parameters of 40, 20 and 10 MiB with two states each, as large as they are. */
static void deal(struct script *script)
{
    static const int sizes[] = {10, 40, 20};
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    for (int i = 0; i < 3; i++)
        script_tagged(script, 10 + i, SCRIPT_LIVES, MIB(sizes[i]), BUILD, TAG_PARAMETER);
    script_tagged(script, 20, SCRIPT_LIVES, MIB(90), BUILD, TAG_PARAMETER); /* frozen */
    for (int step = 0; step < 2; step++) {
        phases_of(script, step);
        script_block(script, at(step, 110), at(step, 600), MIB(100), ENCODE);
        for (int i = 0; i < 6 && step == 0; i++)
            script_tagged(script, at(step, 910 + i), SCRIPT_LIVES, MIB(sizes[i % 3]), ADAM,
                          TAG_STATE);
    }
}

/* MiB, where parts of blocks are rounded to a byte. */
static int64_t whole(int64_t bytes)
{
    return (bytes + 8) / MIB(1);
}

TEST(states_are_dealt_out_by_whole_parameters)
{
    struct script script = {0};
    deal(&script);
    struct lever first =
        lever_of(&script, TWO_RANKS "UPDATE process SET rank = 0;", LEVER_SHARD_STATES);
    CHECK_INT(whole(first.bytes), 2 * (20 + 10));
    CHECK(first.estimated && !first.at_most);
    struct lever other =
        lever_of(&script, TWO_RANKS "UPDATE process SET rank = 1;", LEVER_SHARD_STATES);
    CHECK_INT(whole(other.bytes), 2 * 40);
    other = lever_of(&script, FOUR_RANKS "UPDATE process SET rank = 1;", LEVER_SHARD_STATES);
    CHECK_INT(whole(other.bytes), 2 * (40 + 10));
    CHECK_INT(whole(lever_of(&script, "", LEVER_SHARD_STATES).bytes), 2 * (20 + 10));
    script_tagged(&script, 21, SCRIPT_LIVES, MIB(20), BUILD, TAG_PARAMETER); /* 40, or 20, 20, 10 */
    script_tagged(&script, at(0, 920), SCRIPT_LIVES, MIB(20), ADAM, TAG_STATE);
    script_tagged(&script, at(0, 921), SCRIPT_LIVES, MIB(20), ADAM, TAG_STATE);
    CHECK_INT(whole(lever_of(&script, "", LEVER_SHARD_STATES).bytes), 2 * 40);
}

/* Temporaries of 90 MiB in the optimizer. */
TEST(temporaries_of_one_parameter_stay)
{
    static const char at_once[] =
        TWO_RANKS "UPDATE process SET rank = 0; "
                  "UPDATE string SET text = '_multi_tensor_adam' WHERE text LIKE 'adam%'";
    struct script script = {0};
    deal(&script);
    script_block(&script, at(1, 910), at(1, 911), MIB(270), ADAM);
    struct lever lever =
        lever_of(&script, TWO_RANKS "UPDATE process SET rank = 0;", LEVER_SHARD_STATES);
    CHECK_INT(whole(lever.bytes), 60);
    CHECK(lever.at_most); /* in another order more of them may meet */
    /* 3 / 7 of what 140 and 270 are, but for what forward needs: 160 and 100 of 240 stay */
    lever = lever_of(&script, at_once, LEVER_SHARD_STATES);
    CHECK_INT(whole(lever.bytes), 60 + 270 * 3 / 7);
}

/* ---- DistributedDataParallel ---- */

static void replicate(struct script *script, bool views)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_tagged(script, 10, SCRIPT_LIVES, MIB(40), BUILD, TAG_PARAMETER);
    for (int step = 0; step < 2; step++) {
        phases_of(script, step);
        script_block(script, at(step, 110), at(step, 600), MIB(100), ENCODE);
        if (!views)
            script_tagged(script, at(step, 510), step ? SCRIPT_LIVES : at(step, 960), MIB(40),
                          BACKWARD_40, TAG_GRADIENT);
    }
    script_tagged(script, at(0, 105), SCRIPT_LIVES, MIB(40), BUILD, TAG_BUCKET);
    script_tagged(script, at(0, 910), SCRIPT_LIVES, MIB(80), ADAM, TAG_STATE);
}

TEST(ranks_with_copies_could_share)
{
    struct script script = {0};
    replicate(&script, true);
    struct lever lever = lever_of(&script, FOUR_RANKS, LEVER_FULLY_SHARD);
    CHECK_INT(lever.bytes, MIB(30 + 30 + 60)); /* buckets are the gradients */
    CHECK(lever.at_most);
    CHECK_INT(lever_of(&script, TWO_RANKS, LEVER_FULLY_SHARD).bytes, MIB(20 + 20 + 40));
    CHECK_INT(lever_of(&script, "", LEVER_FULLY_SHARD).bytes, 0);
}

/* DistributedDataParallel has another copy as it begins, which FSDP has not. */
TEST(what_is_made_before_the_steps_is_made_otherwise)
{
    struct script script = {0};
    replicate(&script, true);
    script_block(&script, 20, 30, MIB(180), WARM_UP);
    CHECK_INT(lever_of(&script, FOUR_RANKS, LEVER_FULLY_SHARD).bytes, MIB(30 + 30 + 60));
    CHECK_INT(lever_of(&script, FOUR_RANKS, LEVER_NO_STATES).bytes, MIB(260 - 220));
}

TEST(buckets_beside_gradients_go)
{
    struct script script = {0};
    replicate(&script, false);
    CHECK_INT(lever_of(&script, TWO_RANKS, LEVER_FULLY_SHARD).bytes, MIB(20 + 40 + 20 + 40));
}

/* ---- gradients of a module as a whole ---- */

#define SENT                                                                                       \
    REDUCED "INSERT INTO module VALUES(1,'','Model'),(2,'h.0','Block'),(3,'h.0.ln','LayerNorm');"  \
            "UPDATE tag SET name = 'h.0.ln.weight' WHERE id = 2;"                                  \
            "UPDATE allocation SET module = 2 WHERE seq = 21;"

static int64_t own_gradients(const struct modules *modules, const char *path)
{
    for (size_t i = 1; i < modules->count; i++)
        if (strcmp(modules->nodes[i].path, path) == 0)
            return modules->nodes[i].own[PURPOSE_GRADIENT];
    return -1;
}

static int64_t in_view(struct db *db, int64_t allocation)
{
    int64_t id = -1;
    CHECK_INT(query_read(db, "SELECT module_id AS id FROM allocations WHERE allocation = ?1",
                         Q_IN(allocation), Q_OUT(Q_INT(id))),
              0);
    return id;
}

/* Of a block of many gradients the tag names the first; that of the outermost module comes behind
 * all others, where none runs. */
TEST(what_is_reduced_is_of_the_whole_module)
{
    struct script script = {0};
    struct modules modules;
    script_phase(&script, "backward", 0, 1, 99);
    script_tagged(&script, 21, SCRIPT_LIVES, MIB(6), REDUCE, TAG_GRADIENT);
    script_tagged(&script, 22, SCRIPT_LIVES, MIB(8), REDUCE, TAG_GRADIENT);
    script_tagged(&script, 23, SCRIPT_LIVES, MIB(1), BACKWARD_40, TAG_GRADIENT);
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db, SENT) == 0);
    REQUIRE(modules_read(db, 1, 1, 30, &modules) == 0);
    CHECK_INT(own_gradients(&modules, "h.0"), MIB(6));
    CHECK_INT(own_gradients(&modules, ""), MIB(8));
    CHECK_INT(own_gradients(&modules, "h.0.ln"), MIB(1));
    CHECK_INT(in_view(db, 21), 2);
    CHECK_INT(in_view(db, 22), 1);
    CHECK_INT(in_view(db, 23), 3);
    modules_clear(&modules);
    db_close(db);
}

/* ---- states that are small already ---- */

#define NAMES                                                                                      \
    "UPDATE tag SET name = 'w' WHERE id = 1; UPDATE tag SET name = 'state1 of w' WHERE id = 3;"

#define BITSANDBYTES "INSERT INTO string VALUES(70,'x/bitsandbytes/optim/optimizer.py')"

TEST(states_of_eight_bits_are_seen)
{
    struct script script = {0}, small = {0};
    replicate(&script, true);
    replicate(&small, true);
    small.blocks[small.block_count - 1].size = MIB(10);
    CHECK(lever_of(&script, NAMES, LEVER_EIGHT_BIT_STATES).bytes > MIB(59));
    CHECK(lever_of(&small, "", LEVER_EIGHT_BIT_STATES).bytes > MIB(7)); /* nothing is known of it */
    CHECK_INT(lever_of(&small, NAMES, LEVER_EIGHT_BIT_STATES).bytes, 0);
    CHECK_INT(lever_of(&small, NAMES, LEVER_NO_STATES).bytes, MIB(10));
}

/* By the library's files, where nothing has a name. */
TEST(libraries_of_eight_bits_are_known)
{
    struct script script = {0}, small = {0};
    replicate(&script, true);
    replicate(&small, true);
    small.blocks[small.block_count - 1].size = MIB(20);
    CHECK_INT(lever_of(&script, "INSERT INTO string VALUES(70,'x/torchao/optim/subclass_8bit.py')",
                       LEVER_EIGHT_BIT_STATES)
                  .bytes,
              0);
    CHECK(lever_of(&script, "INSERT INTO string VALUES(70,'x/torchao/optim/cpu_offload.py')",
                   LEVER_EIGHT_BIT_STATES)
              .bytes > MIB(59));
    CHECK(lever_of(&small, "", LEVER_EIGHT_BIT_STATES).bytes > MIB(14));
    CHECK_INT(lever_of(&small, BITSANDBYTES, LEVER_EIGHT_BIT_STATES).bytes, 0);
    CHECK(lever_of(&script, BITSANDBYTES, LEVER_EIGHT_BIT_STATES).bytes > MIB(59)); /* 32 bits */
}

TEST_MAIN(TEST_CASE(what_is_gathered_can_go_between_forward_and_backward),
          TEST_CASE(what_goes_already_is_no_lever), TEST_CASE(what_nobody_gathered_is_no_lever),
          TEST_CASE(half_a_batch_gathers_as_much),
          TEST_CASE(half_a_batch_has_gradients_of_whole_parameters),
          TEST_CASE(shards_can_live_on_the_host), TEST_CASE(states_are_shared_out_once),
          TEST_CASE(states_are_dealt_out_by_whole_parameters),
          TEST_CASE(temporaries_of_one_parameter_stay), TEST_CASE(ranks_with_copies_could_share),
          TEST_CASE(buckets_beside_gradients_go),
          TEST_CASE(what_is_made_before_the_steps_is_made_otherwise),
          TEST_CASE(what_is_reduced_is_of_the_whole_module),
          TEST_CASE(states_of_eight_bits_are_seen), TEST_CASE(libraries_of_eight_bits_are_known))
