/* Who holds the memory, module by module: tests/cli/modules/gpt.sql, at its peak and at its end. */
#include "module_holders.h"

#include <string.h>

#include "db.h"
#include "error.h"
#include "mem.h"
#include "recording.h"
#include "test.h"

enum { MIB = 1 << 20, PEAK = 41 };

static struct module_holders read_at(struct db *db, int64_t seq)
{
    struct module_holders holders;
    REQUIRE(module_holders_read(db, 1, 1, seq, &holders) == 0);
    CHECK(module_holders_are_valid(&holders));
    return holders;
}

static void check(const struct module_holder *holder, const char *module, enum purpose purpose,
                  int mebibytes, size_t instances)
{
    CHECK_STR(holder->module, module);
    CHECK_STR(purpose_name(holder->purpose), purpose_name(purpose));
    CHECK_INT(holder->bytes, (int64_t)mebibytes * MIB);
    CHECK_INT(holder->instances, instances);
}

TEST(instances_are_one_holder)
{
    struct db *db = recording("gpt");
    struct module_holders holders = read_at(db, PEAK);
    REQUIRE(holders.count >= 8);
    check(&holders.all[0], "layers[0-1].mlp", PURPOSE_OPTIMIZER_STATE, 16, 2);
    check(&holders.all[1], "head", PURPOSE_ACTIVATION, 10, 1);
    check(&holders.all[2], "layers[0-1].mlp", PURPOSE_ACTIVATION, 10, 2);
    check(&holders.all[3], "head", PURPOSE_PARAMETER, 8, 1);
    check(&holders.all[4], "layers[0-1].mlp", PURPOSE_PARAMETER, 8, 2);
    check(&holders.all[5], "layers.2.mlp", PURPOSE_ACTIVATION, 7, 1);
    CHECK_STR(holders.all[4].class_name, "Linear");
    CHECK_INT(holders.all[4].blocks, 2);
    CHECK_INT(holders.bytes, 85LL * MIB);
    CHECK_INT(holders.known, 12);
    module_holders_clear(&holders);
    db_close(db);
}

TEST(what_is_of_no_module_stands_together)
{
    struct db *db = recording("gpt");
    struct module_holders holders = read_at(db, PEAK);
    int64_t bytes = 0;
    for (size_t i = 0; i < holders.count; i++)
        bytes += holders.all[i].module ? 0 : holders.all[i].bytes;
    CHECK_INT(bytes, 2LL * MIB);
    module_holders_clear(&holders);
    db_close(db);
}

TEST(the_outermost_module_is_called_by_its_class)
{
    struct db *db = recording("gpt");
    struct module_holders holders = read_at(db, PEAK);
    size_t found = 0;
    for (size_t i = 0; i < holders.count; i++)
        found += holders.all[i].module && strcmp(holders.all[i].module, "GPT") == 0;
    CHECK_INT(found, 1);
    module_holders_clear(&holders);
    db_close(db);
}

TEST(without_memory_or_blocks)
{
    struct db *db = recording("gpt");
    struct module_holders holders = read_at(db, 0);
    CHECK_INT(holders.count, 0);
    CHECK_INT(holders.bytes, 0);
    module_holders_clear(&holders);
    int err = ERR_NOMEM;
    for (long n = 1; err == ERR_NOMEM && n < 10000; n++) {
        mem_fail_after(n);
        err = module_holders_read(db, 1, 1, PEAK, &holders);
        mem_fail_after(0);
        module_holders_clear(&holders);
    }
    CHECK_INT(err, 0);
    db_close(db);
}

TEST_MAIN(TEST_CASE(instances_are_one_holder), TEST_CASE(what_is_of_no_module_stands_together),
          TEST_CASE(the_outermost_module_is_called_by_its_class),
          TEST_CASE(without_memory_or_blocks))
