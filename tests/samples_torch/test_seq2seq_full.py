"""samples/torch/seq2seq.py --full: the table of the thread, within a hundredth, and the answers to
its questions. It takes minutes and 5 GiB.

Two environment variables name recordings that are there already, which then are not made again:

    TIDEMARK_FULL_DB       tidemark record -o FILE -- python3 seq2seq.py --full
    TIDEMARK_FULL_NONE_DB  ... seq2seq.py --full --steps 2 --grads none

With only the first, what needs the second is skipped. The test's own recordings have marks where
the program of the thread printed; of one without, the phases' rows are taken.
"""
import os
import sys

import recording
from recording import Skipped, expect, once, sample, within

sys.path.insert(0, os.path.join(os.path.dirname(recording.HERE), "levers"))

from answers import Answers

# Allocated and max allocated after each phase, in MiB.
WANTED = [
    (None, "beginning", 279.6, 279.6),
    (0, "zero_grad", 279.6, 279.6),
    (0, "forward", 2112, 2158),
    (0, "loss", 2569, 2569),
    (0, "backward", 1017, 3485),
    (0, "optimizer", 1576, 3485),
    (1, "zero_grad", 1576, 3485),
    (1, "forward", 2951, 3485),
    (1, "loss", 3408, 3485),
    (1, "backward", 1576, 4324),
    (1, "optimizer", 1576, 4324),
    (2, "zero_grad", 1576, 4324),
    (2, "forward", 2951, 4324),
    (2, "loss", 3408, 4324),
    (2, "backward", 1576, 4324),
    (2, "optimizer", 1576, 4324),
]
# The same on the GPU of the thread's author.
AUTHOR = {
    (None, "beginning"): (281, 281),
    (0, "zero_grad"): (281, 281),
    (0, "forward"): (2108, 2154),
    (0, "loss"): (2566, 2566),
    (0, "backward"): (1020, 3482),
    (0, "optimizer"): (1581, 3482),
    (1, "zero_grad"): (1581, 3482),
    (1, "forward"): (2955, 3482),
    (1, "loss"): (3413, 3482),
    (1, "backward"): (1581, 4329),
    (1, "optimizer"): (1581, 4329),
}
LOGITS, PARAMETERS = 457.8, 279.6


@once
def full():
    made = os.environ.get("TIDEMARK_FULL_DB")
    if made:
        return recording.Recording(made)
    return recording.record(recording.OBSERVED, sample("seq2seq.py"), "--full",
                            timeout=5400, threads=None)


@once
def full_none():
    made = os.environ.get("TIDEMARK_FULL_NONE_DB")
    if made:
        return recording.Recording(made)
    if os.environ.get("TIDEMARK_FULL_DB"):
        raise Skipped("TIDEMARK_FULL_NONE_DB names no recording")
    return recording.record(recording.OBSERVED, sample("seq2seq.py"), "--full", "--steps", "2",
                            "--grads", "none", timeout=5400, threads=None)


def rows_of_phases(run):
    """(allocated, highest so far) as the phases end; the first row is before the first step."""
    found = {key: (row.allocated, row.max_allocated) for key, row in run.table().items()}
    found[None, "beginning"] = run.rows(
        "SELECT pd.allocated, pd.max_allocated FROM phase ph JOIN phase_device pd "
        "ON pd.phase = ph.id WHERE ph.step IS NULL ORDER BY ph.begin_seq LIMIT 1")[0]
    return found


def mib(value):
    return value / 2.0 ** 20


def close(got, wanted, what):
    within(got, 0.99 * wanted, 1.01 * wanted, what)


def the_table_of_the_thread():
    printed = full().printed() or rows_of_phases(full())
    for step, phase, allocated, highest in WANTED:
        got = [mib(value) for value in printed[step, phase]]
        what = "step %s, %s" % (step, phase)
        print("%-20s %7.1f %7.1f  wanted %7.1f %7.1f" % (what, got[0], got[1], allocated, highest))
        close(got[0], allocated, what + ": allocated")
        close(got[1], highest, what + ": max allocated")
        for value, author in zip(got, AUTHOR.get((step, phase), got)):
            close(value, author, what + ": on the author's GPU")


def the_rises():
    full().is_whole()
    table = full().table()
    close(mib(table[0, "loss"].allocated - table[0, "forward"].allocated), LOGITS, "loss")
    close(mib(table[0, "backward"].phase_peak - table[0, "loss"].allocated), 2 * LOGITS, "backward")
    close(mib(table[0, "optimizer"].allocated - table[0, "backward"].allocated), 2 * PARAMETERS,
          "optimizer")
    close(mib(table[1, "backward"].phase_peak - table[0, "backward"].phase_peak), 3 * PARAMETERS,
          "step 1")


def the_gradients_set_to_none():
    table = full_none().table()
    close(mib(table[1, "backward"].phase_peak - table[0, "backward"].phase_peak), 2 * PARAMETERS,
          "step 1")


def the_phases():
    expect(full().steps(), ["zero_grad forward loss backward optimizer"] * 3)
    expect(full().rows("SELECT count(*) FROM allocation WHERE site IS NULL"), [(0,)])


@once
def answers():
    return Answers(full(), int(PARAMETERS * 2 ** 20), int(LOGITS * 2 ** 20),
                   {"logits": "Linear.forward", "loss": "cross_entropy"})


def answered(name):
    def test():
        getattr(answers(), name)()

    test.__name__ = name
    return test


ANSWERS = [answered(name) for name in (
    "loss_adds_the_log_probabilities", "backward_adds_two_gradients", "a_step_leaves_its_logits",
    "the_peak_says_who_holds_them", "step_1_is_higher_by_what_stays", "levers")]

if __name__ == "__main__":
    recording.main(the_table_of_the_thread, the_rises, the_phases, *ANSWERS,
                   the_gradients_set_to_none)
