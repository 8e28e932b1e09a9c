"""The findings of samples/torch/seq2seq.py, scaled down: what each phase adds, byte for byte where
the model's arithmetic gives it."""
import recording
from recording import expect, within

B, T, V, I, H, A = (recording.SEQ2SEQ[word] for word in
                    ("batch", "length", "vocab", "input", "hidden", "attention"))
STEPS = 3
L = 4 * B * T * V

# Weights of the model; those of a GRU and of a GRUCell are 3H x (I + H) and two biases.
GRU, AFTER = 3 * H * (I + H) + 6 * H, 3 * H * (2 * H + H) + 6 * H
READER = V * I + 2 * GRU + (2 * H * A + A) + (H * H + H)
WRITER = V * I + GRU + (H * A + A) + (A + 1) + AFTER + ((I + 3 * H) * I + I) + (I * V + V)
P = 4 * (READER + WRITER)
PARAMETERS = 30

COUNTERS = 4 * PARAMETERS  # Adam keeps one for each parameter

# Tensors of one element that come and go around a loss: the sum, its share, the sum of weights, the
# divisor, the gradient of ones. No phase has more than these besides what is computed here.
FEW = 5 * 4


zeroed, dropped = recording.shared("seq2seq"), recording.shared("seq2seq-none")
PHASES = "zero_grad forward loss backward optimizer"


def phases_are_those_of_the_loop():
    for get in (zeroed, dropped):
        get().is_whole()
        expect(get().steps(), [PHASES] * STEPS)
        expect([step for step, _ in get().phases()],
               [step for step in range(STEPS) for _ in PHASES.split()])


def begins_with_the_parameters():
    run = zeroed()
    begin = run.mark("beginning", -1)
    expect(run.allocated(begin), P)
    expect(sum(run.live(begin, "parameter").values()), P, "tagged")
    expect(len(run.live(begin, "parameter")), PARAMETERS, "each with its name")


def loss_adds_the_log_probabilities():
    for get in (zeroed, dropped):
        printed = get().printed()
        for step in range(STEPS):
            within(printed[step, "loss"][0] - printed[step, "forward"][0], L, L + FEW,
                   "loss of step %d" % step)


def rows_are_what_a_program_would_print():
    for get in (zeroed, dropped):
        printed, table = get().printed(), get().table()
        for step in range(STEPS):
            for phase in ("zero_grad", "forward", "loss", "backward", "optimizer"):
                row, (allocated, highest) = table[step, phase], printed[step, phase]
                within(row.allocated - allocated, 0, FEW, "%s of step %d" % (phase, step))
                within(row.max_allocated - highest, 0, FEW, "max at %s of %d" % (phase, step))


def backward_peaks_two_logits_higher():
    for get in (zeroed, dropped):
        table = get().table()
        for step in range(STEPS):
            rise = table[step, "backward"].phase_peak - table[step, "loss"].allocated
            within(rise, 2 * L - FEW, 2 * L + FEW, "backward of step %d" % step)


def optimizer_adds_its_two_states():
    for get in (zeroed, dropped):
        table = get().table()
        added = table[0, "optimizer"].allocated - table[0, "optimizer"].begin_allocated
        expect(added, 2 * P + COUNTERS)
        added = table[0, "optimizer"].allocated - table[0, "backward"].allocated
        within(added, 2 * P + COUNTERS - FEW, 2 * P + COUNTERS, "since the end of backward")
        for step in range(1, STEPS):
            expect(table[step, "optimizer"].allocated, table[step, "optimizer"].begin_allocated)


def step_1_is_higher_by_what_stayed():
    """3P with gradients that are zeroed: they and Adam's states are resident. 2P with none."""
    for get, times in ((zeroed, 3), (dropped, 2)):
        table = get().table()
        higher = table[1, "backward"].phase_peak - table[0, "backward"].phase_peak
        expect(higher, times * P + COUNTERS, "%d P" % times)
        expect(table[1, "backward"].max_allocated, table[1, "backward"].phase_peak)
        for step in range(2, STEPS):
            expect(table[step, "backward"].phase_peak, table[1, "backward"].phase_peak)
            expect(table[step, "optimizer"].max_allocated, table[1, "optimizer"].max_allocated)


def after_a_step_four_things_are_left():
    """Parameters, gradients, Adam's states, and the logits that a variable holds."""
    for get in (zeroed, dropped):
        run = get()
        seq = run.mark("optimizer", 0)
        expect(sum(run.live(seq, "parameter").values()), P)
        expect(sum(run.live(seq, "gradient").values()), P)
        expect(sum(run.live(seq, "optimizer state").values()), 2 * P + COUNTERS)
        batch = 2 * 8 * B * T  # two views of one tensor of words
        rest = run.allocated(seq) - 4 * P - COUNTERS - L - batch
        within(rest, 0, FEW, "besides these and the batch")


def gradients_go_where_they_are_dropped():
    table = dropped().table()
    expect(table[0, "optimizer"].allocated - table[1, "zero_grad"].allocated, P)
    table = zeroed().table()
    expect(table[0, "optimizer"].allocated, table[1, "zero_grad"].allocated)


def every_block_has_a_stack():
    for get in (zeroed, dropped):
        expect(get().rows("SELECT seq, size FROM allocation WHERE site IS NULL"), [])


def no_stack_has_our_own_frames():
    """Modules are called, and the engine is run, through Tidemark's helper; nobody asks for that."""
    for get in (zeroed, dropped):
        ours = get().rows("SELECT text FROM frame_text WHERE instr(text, '/tidemark/_')")
        expect(ours, [])
        calls = get().rows("SELECT count(*) FROM frame_text WHERE text LIKE 'Module._call_impl%'")
        if calls[0][0] == 0:
            raise AssertionError("no module was called")


def categories_of_the_peak():
    """Step 1's peak: four logits' worth and what is resident."""
    bytes_of = dict(zeroed().rows("SELECT category, bytes FROM peak_by_category"))
    expect(bytes_of["parameter"], P)
    expect(bytes_of["gradient"], P)
    expect(bytes_of["optimizer state"], 2 * P + COUNTERS)
    within(bytes_of["activation, held by the program"], L, L + FEW, "logits in a variable")
    within(bytes_of["workspace"], 2 * L, 2 * L + FEW, "gradients of the logits")
    peak = zeroed().rows("SELECT step, phase, allocated FROM peak")
    expect([row[:2] for row in peak], [(1, "backward")])
    expect(sum(bytes_of.values()), peak[0][2])
    large = zeroed().rows("SELECT count(*) FROM live_at_peak WHERE size = ?", L)
    expect(large, [(4,)], "logits, log-probabilities, and the gradients of both")


def results_are_bit_equal():
    alone = recording.bare(*recording.SEQ2SEQ_COMMAND)
    expect(alone.startswith("bits "), True, alone)
    expect(zeroed().out, alone)
    expect(dropped().out, alone, "what zero_grad leaves does not matter")


if __name__ == "__main__":
    recording.main(phases_are_those_of_the_loop, begins_with_the_parameters,
                   loss_adds_the_log_probabilities,
                   rows_are_what_a_program_would_print, backward_peaks_two_logits_higher,
                   optimizer_adds_its_two_states, step_1_is_higher_by_what_stayed,
                   after_a_step_four_things_are_left, gradients_go_where_they_are_dropped,
                   every_block_has_a_stack, no_stack_has_our_own_frames,
                   categories_of_the_peak, results_are_bit_equal)
