/* The programs that were tried with PyTorch, one test each, and each rule where it is easily got
 * wrong. The notation is in marks.h. */
#include "marks.h"
#include "test.h"

#define LABELS(marks, want) CHECK_STR(marks_labels(marks, false), want)
#define DOTS(marks, want) CHECK_STR(marks_labels(marks, true), want)

/* ---- what programs do ---- */

TEST(plain_training)
{
    LABELS("3{z f l b o}", "0: z f l b a o 1: z f l b a o 2: z f l b a o");
    LABELS("2{z f b o}", "0: z f l b a o 1: z f l b a o"); /* a function for a loss */
}

TEST(gan)
{
    LABELS("2{z f l b Fn2() F3() l b O2() z F2() F3() l b O3()}",
           "0: z f l b n f l b a o z f l b a o 1: z f l b n f l b a o z f l b a o");
    LABELS("2{z f l b F2() l b O2() z F2() F3() l b O3()}",
           "0: z f l b f l b a o z f l b a o 1: z f l b f l b a o z f l b a o");
}

TEST(wgan_with_a_penalty)
{
    LABELS("2{Fn2() z F() l B() F() l b O1() Fn2() z F() l B() F() l b O1() Fn2() z F() l B() F() "
           "l b O1() z F2() F() l b O2()}",
           "0: n z f l b f l b a o 1: n z f l b f l b a o 2: n z f l b f l b a o z f l b a o "
           "3: n z f l b f l b a o 4: n z f l b f l b a o 5: n z f l b f l b a o z f l b a o");
}

TEST(accumulation)
{
    LABELS("2{f l b f l b f l b f l b o z}",
           "0: f l b f l b f l b f l b a o z 1: f l b f l b f l b f l b a o z");
}

TEST(exceptions)
{
    LABELS("z f l b o z F()! z f l b o", "0: z f l b a o 1: z f! z f l b a o");
    LABELS("z f l b o z f Fl()! z f l b o", "0: z f l b a o 1: z f l! z f l b a o");
    LABELS("z f l b o z f Fp()! z f l b o", "0: z f l b a o 1: z f l! z f l b a o");
    LABELS("z f l b o z f l B()! z f l b o", "0: z f l b a o 1: z f l b! z f l b a o");
    LABELS("z f l b o z f l b O()! z f l b o", "0: z f l b a o 1: z f l b a o! z f l b a o");
    /* in plain code between backward and step: as accumulation */
    LABELS("z f l b z f l b o", "0: z f l b z f l b a o");
}

TEST(evaluation)
{
    LABELS("3{Fen()} f l z l b o 2{Fen()} f l z l b o Fen()",
           "e e e 0: f l z l b a o -: e e 1: f l z l b a o -: e");
    /* with a loss */
    LABELS("z f l b o 2{Fen() Fnl()1} z f l b o", "0: z f l b a o -: e e e e 1: z f l b a o");
    /* in training mode, or with a module that only runs so */
    LABELS("z f l b o Fn() z f l b o", "0: z f l b a o 1: n z f l b a o");
    LABELS("z f l b o Fn2() z f l b o", "0: z f l b a o 1: n z f l b a o");
    /* without no_grad */
    LABELS("z f l b o Fe() l Fe() z f l b o", "0: z f l b a o -: e e e 1: z f l b a o");
    LABELS("z f l b o Fe() l", "0: z f l b a o -: e e");
}

TEST(data_parallel)
{
    LABELS("2{z f l b f l b o}", "0: z f l b f l b a o 1: z f l b f l b a o");
}

TEST(checkpointing)
{
    /* inside of a module: only seen when it is run again */
    LABELS("2{z f l B( F5() F6() ) o}", "0: z f l b r b r b a o 1: z f l b r b r b a o");
    LABELS("z f l B( B( F5() ) B( F6() ) ) o", "0: z f l b r b r b a o");
    /* around the whole model, and in sequence */
    LABELS("2{z Fn() l B( F() ) o}", "0: z c l b r b a o 1: z c l b r b a o");
    LABELS("z Fn5() Fn6() F7() l B( F6() F5() ) o", "0: z c f l b r b r b a o");
    /* a module that is evaluated, too, is no checkpoint in the next step's backward */
    LABELS("Fn5() z f l b z F() l B( F5() ) o", "0: n z f l b z f l b r b a o");
}

TEST(closures)
{
    LABELS("2{O( z f l b z f l b )}", "0: o z o f l b o z o f l b o 1: o z o f l b o z o f l b o");
    LABELS("O( z b )", "0: o z f b o");
}

TEST(scalers)
{
    LABELS("2{z f l b o}", "0: z f l b a o 1: z f l b a o"); /* switched off */
    LABELS("2{z f l b S2(O2()) z f l b S2()}",
           "0: z f l b a o 1: z f l b a o 2: z f l b a o 3: z f l b a o");
    /* one scaler for two optimizers */
    LABELS("2{z f l b S7(O2()) z F2() l b S7(O3())}",
           "0: z f l b a o z f l b a o 1: z f l b a o z f l b a o");
    /* the scaler's own identity, and its first step skipped */
    LABELS("z f l b S7() z f l b S7(O2()) z f l b S7()",
           "0: z f l b a o 1: z f l b a o 2: z f l b a o");
    LABELS("2{z f l b S7(O2()) z f l b S7()}",
           "0: z f l b a o 1: z f l b a o 2: z f l b a o 3: z f l b a o");
}

TEST(models_of_all_shapes)
{
    LABELS("z F()1 b o", "0: z f l b a o");       /* it returns its loss */
    LABELS("z F1() F2() b o", "0: z f l b a o");  /* two in a chain */
    LABELS("z F() F() b o", "0: z f l b a o");    /* one called twice */
    LABELS("z F() F2()1 b o", "0: z f l b a o");  /* a loss with parameters */
    LABELS("z F() Fp5() b o", "0: z f l b a o");  /* last layer without parameters */
    LABELS("z F() Fp5()1 b o", "0: z f l b a o"); /* a loss of its own class */
    LABELS("z F() Fp5()1 Fp6()1 b o", "0: z f l b a o");
    LABELS("z F() Fp5()1 F() l b o", "0: z f l b a o"); /* it was none */
    LABELS("z F() l F2() l b o", "0: z f l f l b a o");
    LABELS("b o z b o z b o", "0: b a o z 1: f b a o z 2: f b a o"); /* no modules at all */
    LABELS("z b b o z b b o", "0: z f b l b a o 1: z f b l b a o");
}

/* What follows the last of them makes no step of it. */
TEST(a_zero_grad_at_the_end)
{
    LABELS("2{z f l b o} z", "0: z f l b a o 1: z f l b a o -: z");
    LABELS("2{f l b o z}", "0: f l b a o z 1: f l b a o z");
    DOTS("2{f l b o z}", ". 0: f l b a o . z 1: . f l b a o . z -: .");
    LABELS("2{f l b o z} z Fn()", "0: f l b a o z 1: f l b a o z z -: n");
    LABELS("2{f l b o z} Fe()", "0: f l b a o z 1: f l b a o z -: e");
    LABELS("2{f l b o z Fe()} f l b o", "0: f l b a o z -: e 1: f l b a o z -: e 2: f l b a o");
    LABELS("2{f l b o Fe() z} f l b o",
           "0: f l b a o -: e 0: z 1: f l b a o -: e 1: z 2: f l b a o");
    /* and none does when every second step is evaluated, and the last one is */
    LABELS("2{f l b o z f l b o Fen() Fen() z}",
           "0: f l b a o z 1: f l b a o -: e e 1: z 2: f l b a o z 3: f l b a o -: e e 3: z");
    /* one that begins the next loop behind that */
    LABELS("f l b o z f l b o z Fe() z f l b o z",
           "0: f l b a o z 1: f l b a o z -: e 2: z f l b a o z");
    LABELS("f l b o Fe() z z f l b o", "0: f l b a o -: e 0: z z 1: f l b a o");
    LABELS("z 2{f l b o z Fe()} f l b o", "0: z f l b a o z -: e 1: f l b a o z -: e 2: f l b a o");
    LABELS("z f l b o z f l b o z Fe() 2{f l b o z}",
           "0: z f l b a o 1: z f l b a o z -: e 2: f l b a o z 3: f l b a o z");
    LABELS("z 2{f l b o z} f l b o", "0: z f l b a o 1: z f l b a o 2: z f l b a o");
    LABELS("2{z f l b o Fe()} z f l b o", "0: z f l b a o -: e 1: z f l b a o -: e 2: z f l b a o");
    LABELS("z f l b o z Fe() z", "0: z f l b a o z -: e z");
    LABELS("2{f l z l b o} z", "0: f l z l b a o 1: f l z l b a o -: z");
    LABELS("f l b z f l b z", "0: f l b z 1: f l b z");
    LABELS("z", "0: z");
    LABELS("z Fn() z", "0: z n z");
    LABELS("z f l b z f l b z", "0: z f l b 1: z f l b -: z");
}

TEST(no_optimizer)
{
    LABELS("3{z f l b}", "0: z f l b 1: z f l b 2: z f l b");
    LABELS("2{f l b b}", "0: f l b l b 1: f l b l b");
}

TEST(without_training)
{
    LABELS("3{Fen()}", "n n n");
    LABELS("3{Fn()}", "n n n");
    LABELS("3{Fe()}", "e e e");
    LABELS("", "");
    LABELS("U()", "");
}

TEST(helpers_without_gradients)
{
    LABELS("2{Fen2() f l z l b o}", "0: n f l z l b a o 1: n f l z l b a o"); /* a teacher */
    LABELS("2{Fen2() z f l b o}", "0: n z f l b a o 1: n z f l b a o");
    LABELS("2{z Fn2() f l b o}", "0: z n f l b a o 1: z n f l b a o"); /* a frozen part */
}

TEST(tracing_before_training)
{
    LABELS("f Fn() 2{z f l b o}", "0: f n z f l b a o 1: z f l b a o");
}

TEST(optimizers_one_after_another)
{
    LABELS("z f b O1() z f b O1() z f b O2() z f b O3() z f b O3()",
           "0: z f l b a o 1: z f l b a o 2: z f l b a o 3: z f l b a o 4: z f l b a o");
}

TEST(optimizers_in_hooks)
{
    LABELS("2{f l B( O1() Z() O2() Z() )}", "0: f l b o b z b o b z b 1: f l b o b z b o b z b");
}

TEST(modules_called_in_backward)
{
    LABELS("z f l B( F5() ) o", "0: z f l b r b a o");
}

/* ---- rules, one by one ---- */

TEST(gaps)
{
    DOTS("z f z l b z o f o", ". 0: z . f l z l b . z . o 1: . f . o -: .");
    DOTS("f f l", ". 0: f l .");
    DOTS("f f Fen() b o", ". 0: f . e . b a o -: .");
    DOTS("z f b f b b o", ". 0: z . f l b . f l b l b a o -: .");
}

TEST(an_exception_ends_what_it_was)
{
    DOTS("z F()! z f b o", ". 0: z . f! . z . f l b a o -: .");
    DOTS("f l B()! o", ". 0: f l b! . o -: .");
    DOTS("O( f B()! ) f b o", ". 0: o f l b! o 1: . f l b a o -: .");
}

TEST(evaluation_mode_in_training)
{
    LABELS("2{z Fe() l b o}", "0: z f l b a o 1: z f l b a o");
    /* a loss in training mode does not make it an evaluation */
    LABELS("2{z Fe() b o}", "0: z f l b a o 1: z f l b a o");
}

TEST(the_programs_own_phases_are_looked_through)
{
    LABELS("2{U( z U( f U( ) ) l b ) o}", "0: z f l b a o 1: z f l b a o");
}

TEST_MAIN(TEST_CASE(plain_training), TEST_CASE(gan), TEST_CASE(wgan_with_a_penalty),
          TEST_CASE(accumulation), TEST_CASE(exceptions), TEST_CASE(evaluation),
          TEST_CASE(data_parallel), TEST_CASE(checkpointing), TEST_CASE(closures),
          TEST_CASE(scalers), TEST_CASE(models_of_all_shapes), TEST_CASE(a_zero_grad_at_the_end),
          TEST_CASE(no_optimizer), TEST_CASE(without_training),
          TEST_CASE(helpers_without_gradients), TEST_CASE(tracing_before_training),
          TEST_CASE(optimizers_one_after_another), TEST_CASE(optimizers_in_hooks),
          TEST_CASE(modules_called_in_backward), TEST_CASE(gaps),
          TEST_CASE(an_exception_ends_what_it_was), TEST_CASE(evaluation_mode_in_training),
          TEST_CASE(the_programs_own_phases_are_looked_through))
