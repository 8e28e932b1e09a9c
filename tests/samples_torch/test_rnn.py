"""The findings of samples/torch/rnn.py on a CPU: nothing is packed, and it says so."""
import recording
from recording import expect, once, sample

INPUT, HIDDEN, CLASSES, STEPS = 256, 256, 10, 3
FIRST, SECOND = 4 * HIDDEN * (INPUT + HIDDEN + 2), 4 * HIDDEN * (2 * HIDDEN + HIDDEN + 2)
LSTM = 4 * 2 * (FIRST + SECOND)
P = LSTM + 4 * (2 * HIDDEN + 1) * CLASSES
WEIGHTS = 16
PHASES = "zero_grad forward loss backward optimizer"


@once
def scattered():
    return recording.record(recording.OBSERVED, sample("rnn.py"))


def phases_are_those_of_the_loop():
    scattered().is_whole()
    expect(scattered().steps(), [PHASES] * STEPS)


def weights_are_blocks_of_their_own():
    run = scattered()
    weights = run.live(run.mark("optimizer", 0), "parameter")
    expect(len(weights), WEIGHTS + 2)
    expect(sum(weights.values()), P)
    expect(sum(size for name, size in weights.items() if "lstm" in name), LSTM)


def no_forward_packs_them():
    """No block of a forward, and not all of them together, are as large as the weights."""
    run = scattered()
    for step in range(STEPS):
        begin, end = run.mark("zero_grad", step), run.mark("forward", step)
        born = run.rows("SELECT size FROM allocation WHERE seq > ? AND seq < ?", begin, end)
        expect(len(born) > 10, True, "blocks of a forward")
        expect(max(size for size, in born) < LSTM / 4, True, "the largest of them")
        before, after = run.allocated(begin), run.allocated(end)
        expect(after - before < LSTM / 2, True, "what a forward adds: %d" % (after - before))


def optimizer_keeps_one_state():
    run = scattered()
    seq = run.mark("optimizer", 1)
    expect(sum(run.live(seq, "optimizer state").values()), P)
    expect(sum(run.live(seq, "gradient").values()), P)


def every_block_has_a_stack():
    expect(scattered().rows("SELECT seq FROM allocation WHERE site IS NULL"), [])


def it_says_that_packing_is_cudnns():
    for arguments in (("--flatten",),) + recording.more(()):
        out = recording.bare(sample("rnn.py"), *arguments)
        expect("weights of the LSTM: 10.03 MiB in 16 tensors" in out, True, out)
        expect("on a CPU nothing is packed: that is cuDNN's doing" in out, True, out)
        expect("torch warns" in out, False, out)


def results_are_bit_equal():
    if not recording.LONG:
        return  # as are those of models of every kind: test_phases.py
    alone = recording.bare(recording.OBSERVED, sample("rnn.py"))
    expect(alone.startswith("bits "), True, alone)
    expect(scattered().out, alone)


if __name__ == "__main__":
    recording.main(phases_are_those_of_the_loop, weights_are_blocks_of_their_own,
                   no_forward_packs_them, optimizer_keeps_one_state, every_block_has_a_stack,
                   it_says_that_packing_is_cudnns, results_are_bit_equal)
