/* What phases are called in a recording, and what the reports take that for. */
#include "label.h"
#include "phase_kind.h"
#include "test.h"

TEST(the_recorders_words_are_known)
{
    for (int label = 0; label < LABEL_COUNT; label++) {
        enum phase_kind kind = phase_kind_from(label_kind((enum label)label));
        CHECK(kind > PHASE_KIND_NONE && kind < PHASE_KIND_UNKNOWN && kind != PHASE_KIND_USER);
    }
    CHECK_INT(phase_kind_from(label_kind(LABEL_OTHER)), PHASE_KIND_OTHER);
    CHECK_INT(phase_kind_from(label_kind(LABEL_CHECKPOINTED)), PHASE_KIND_FORWARD);
}

TEST(each_kind_is_what_it_is_called)
{
    for (int i = PHASE_KIND_OTHER; i < PHASE_KIND_UNKNOWN; i++)
        CHECK_INT(phase_kind_from(phase_kind_name((enum phase_kind)i)), i);
}

TEST(other_words_are_none_of_them)
{
    CHECK_INT(phase_kind_from(NULL), PHASE_KIND_NONE);
    CHECK_INT(phase_kind_from("no phase"), PHASE_KIND_UNKNOWN);
    CHECK_INT(phase_kind_from(""), PHASE_KIND_UNKNOWN);
    CHECK(!phase_kind_name(PHASE_KIND_UNKNOWN));
    CHECK_INT(phase_end_from(NULL), PHASE_END_NONE);
    CHECK_INT(phase_end_from("fell over"), PHASE_END_NONE);
    CHECK_INT(phase_end_from("process end"), PHASE_END_PROCESS);
}

TEST_MAIN(TEST_CASE(the_recorders_words_are_known), TEST_CASE(each_kind_is_what_it_is_called),
          TEST_CASE(other_words_are_none_of_them))
