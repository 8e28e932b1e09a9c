/*
 * Levers on dtypes: the model in bfloat16, and autocast.
 */
#include "test.h"

#include <string.h>

#include "levers_model.h"
#include "peak.h"

#define SET(key, value) "INSERT INTO setting VALUES(1,NULL,'" key "','" value "');"
#define PARAMETERS SET("parameter_dtype", "float32")
#define GRAPHS SET("graph_dtype", "float32")
/* Who makes the activations. */
#define PRODUCTS                                                                                   \
    "INSERT INTO string VALUES(60,'Linear.forward');"                                              \
    "INSERT INTO frame VALUES(60,60,NULL,NULL);UPDATE site SET frame=60 WHERE site=2 AND depth=0;"

static struct lever lever_with(const char *more, enum lever_kind kind)
{
    const struct model model = {0};
    struct script script = {0};
    struct peak peak;
    train(&script, &model);
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db, more) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, kind);
    struct lever out = lever ? *lever : (struct lever){0};
    out.text = out.site_text = out.next_phase = NULL;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

TEST(half_of_all_is_a_bound)
{
    /* 780 of float32; activations of a product, gradients and states surely are half: 250. */
    struct lever lever = lever_with(PARAMETERS GRAPHS PRODUCTS, LEVER_HALF_PRECISION);
    CHECK_INT(lever.bytes, MIB(390));
    CHECK(lever.at_most && lever.changes && !lever.estimated);
    /* The activations may be of code that casts: 150 is less than half of it. */
    CHECK_INT(lever_with(PARAMETERS GRAPHS, LEVER_HALF_PRECISION).bytes, 0);
}

TEST(autocast_halves_what_products_make)
{
    /* 2 x 100 of a product, logits and two gradients on their way that may be half. */
    struct lever lever = lever_with(PARAMETERS GRAPHS PRODUCTS, LEVER_AUTOCAST);
    CHECK_INT(lever.bytes, MIB(100 + 30 + 60));
    CHECK(lever.at_most && lever.changes);
    CHECK_INT(lever_with(PARAMETERS GRAPHS, LEVER_AUTOCAST).bytes, 0);
}

TEST(dtypes_have_to_be_known)
{
    static const char *const other[] = {
        PRODUCTS,
        PARAMETERS PRODUCTS,
        GRAPHS PRODUCTS,
        PARAMETERS GRAPHS SET("graph_dtype", "bfloat16") PRODUCTS,
        PARAMETERS GRAPHS SET("parameter_dtype", "uint8") PRODUCTS,
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        CHECK_INT(lever_with(other[i], LEVER_HALF_PRECISION).bytes, 0);
        CHECK_INT(lever_with(other[i], LEVER_AUTOCAST).bytes, 0);
    }
}

TEST_MAIN(TEST_CASE(half_of_all_is_a_bound), TEST_CASE(autocast_halves_what_products_make),
          TEST_CASE(dtypes_have_to_be_known))
