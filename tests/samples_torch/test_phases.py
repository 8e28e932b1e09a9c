"""The phases of each step of training loops of every shape, found by themselves; and that the
loops compute the same bits recorded and not. The programs are those of ../torch, and
programs/models.py."""
import os

import recording
from recording import SHARED, expect, once

os.environ["TIDEMARK_TEST_PROGRAMS"] = SHARED
STEP = "zero_grad forward loss backward optimizer"
CHECKPOINTED = "zero_grad forward loss backward(recompute) optimizer"

# Of each case the phases of its steps, one string for each; what belongs to no step is a string of
# its own. '!' stands after what an exception left, in brackets what was inside. "after backward"
# stands only where blocks were born in it.
MODELS = {
    "convolutional": ([STEP] * 3 + ["eval", "eval"]) * 2,
    # zero_grad stands between the loss and the backward, and both gaps are the loss's.
    "transformer": ["forward loss zero_grad loss backward after backward optimizer"] * 3,
    # A zero_grad belongs to the step that it clears the gradients for.
    "language": ["forward loss backward forward loss backward forward loss backward optimizer",
                 "zero_grad forward loss backward forward loss backward forward loss backward "
                 "optimizer", "zero_grad"],
}

TRAINING = {
    "plain": [STEP] * 2,
    "seq2seq": ["zero_grad forward loss forward loss backward optimizer"] * 2,
    "gan": ["zero_grad forward loss forward loss backward optimizer " + STEP] * 2,
    "accumulation": ["forward loss backward forward loss backward after backward optimizer",
                     "zero_grad forward loss backward forward loss backward after backward "
                     "optimizer", "zero_grad"],
    "evaluation": [STEP, "eval", "eval", "eval", "eval"],
    "checkpoint_reentrant": [CHECKPOINTED] * 2,
    "checkpoint_hooks": [CHECKPOINTED] * 2,
    "checkpoint_outside": [CHECKPOINTED.replace("forward", "checkpointed forward")],
    "scaler_disabled": [STEP] * 2,
    "scaler_skipping": [STEP] * 2,
    "exceptions": [" ".join([
        "zero_grad forward!",
        "zero_grad forward!",
        "zero_grad forward loss!",
        "zero_grad forward loss backward!",
        "zero_grad forward loss backward optimizer!",
        STEP])],
    "exception_inside": [STEP] * 2,
    "gradient_penalty": ["zero_grad forward loss backward loss backward optimizer"],
    "without_modules": ["zero_grad forward backward optimizer"] * 2,
    "optimizers_of_other_kinds": [STEP] * 3,
    "schedulers": [STEP] * 2,
    "step_inside_backward": ["zero_grad forward loss backward(optimizer)"],
}

def made(path):
    return once(lambda: recording.record(path))


TRAINING_PROGRAM = os.path.join(SHARED, "training.py")
MODELS_PROGRAM = os.path.join(recording.PROGRAMS, "models.py")
training, models = made(TRAINING_PROGRAM), made(MODELS_PROGRAM)


def compare(run, wanted):
    """The case of several threads has its own test."""
    run.is_whole(["marks of several threads"])
    cases = run.cases()
    for name, steps in wanted.items():
        expect(run.steps(*cases[name]), steps, name)


def models_have_their_phases():
    compare(models(), MODELS)


def loops_have_their_phases():
    compare(training(), TRAINING)


def backward_begins_with_its_first_gradient():
    """Which PyTorch makes before its engine starts; those inside of an optimizer's step are in that
    phase's own backward."""
    found = []
    for run in (models(), training()):
        first, last = run.cases().get("threads", (0, 0))  # its phases run beside each other
        found += [name for seq, name in run.rows(
            "SELECT a.seq, (SELECT ph.name FROM phase ph WHERE ph.process = h.process "
            "AND a.seq BETWEEN ph.begin_seq AND ph.end_seq ORDER BY ph.begin_seq DESC LIMIT 1) "
            "FROM allocation a JOIN heap h ON h.id = a.heap WHERE h.process = 1 AND EXISTS("
            "SELECT 1 FROM site s JOIN frame f ON f.id = s.frame JOIN string t ON t.id = f.function "
            "WHERE s.site = a.site AND t.text = '_make_grads')") if not first <= seq <= last]
    expect(len(found) > 30, True, len(found))
    expect(set(found), {"backward"})


def closures_are_inside_their_step():
    """How often LBFGS calls its closure is its own affair."""
    run = training()
    steps = run.steps(*run.cases()["lbfgs"])
    expect(len(steps), 2)
    for step in steps:
        expect((step[:10], step[-1:]), ("optimizer(", ")"), step)
        closures = step[10:-1].split("zero_grad ")[1:]
        expect({closure.strip() for closure in closures}, {"forward loss backward"}, step)


def steps_are_numbered():
    """One after the other through all cases, and nothing is outside of them but evaluation and the
    zero_grad at the end of the last loop."""
    phases = models().phases()
    expect(phases[-1], (None, "zero_grad"))
    numbers = [step for step, word in phases[:-1] if word != "eval"]
    expect(sorted(set(numbers)), list(range(numbers[-1] + 1)))
    expect(numbers, sorted(numbers))
    expect({step for step, word in phases if word == "eval"}, {None})


def workers_are_processes_of_their_own():
    """Two in each epoch; forked, so what the parent had is not theirs."""
    run = models()
    workers = run.rows("SELECT id, parent, origin, ended, exit_code FROM process WHERE id > 1")
    expect(len(workers), 4)
    for worker, parent, origin, ended, code in workers:
        expect((parent, origin, ended, code), (1, "fork", "exit", 0))
        expect(run.phases(process=worker), [])
    expect(run.rows("SELECT live FROM process WHERE live NOT LIKE '%torch-cpu%'"), [])


def phases_hold_all_blocks():
    """Births and deaths of all phases that are no other's inside are those of the process."""
    for run in (models(), training()):
        totals = run.rows(
            "SELECT sum(pd.allocs), sum(pd.alloc_bytes) FROM phase_device pd "
            "JOIN phase ph ON ph.id = pd.phase WHERE ph.process = 1 AND ph.parent IS NULL "
            "AND ph.scope = 'process'")
        blocks = run.rows("SELECT count(*), sum(a.size) FROM allocation a "
                          "JOIN heap h ON h.id = a.heap WHERE h.process = 1")
        expect(totals, blocks)


def what_goes_at_exit_is_no_steps():
    """The frees of a shutdown, those of an atexit handler among them, and the time that it takes."""
    run = recording.record(os.path.join(recording.PROGRAMS, "ending.py"))
    run.is_whole()
    [(number, step, begin_seq)] = run.rows(
        "SELECT ordinal, step, begin_seq FROM phase WHERE process = 1 AND kind = 'other' "
        "ORDER BY begin_seq DESC LIMIT 1")
    expect(step, None, "the last phase")
    last = run.rows("SELECT max(end_seq) FROM phase WHERE process = 1 AND name = 'zero_grad'")[0][0]
    frees = run.rows(
        "SELECT count(*), count(CASE WHEN a.free_seq >= ? THEN 1 END) FROM allocation a "
        "JOIN heap h ON h.id = a.heap WHERE h.process = 1 AND a.free_seq > ?", begin_seq, last)
    expect(frees[0][0] == frees[0][1] > 0, True, frees)


def results_are_bit_equal():
    """tests/torch/test_marks.py has the second program in the short form too."""
    for get, program in ((models, MODELS_PROGRAM),) + recording.more((training, TRAINING_PROGRAM)):
        alone = recording.bare(program)
        expect(get().out, alone)
        expect(len(alone.splitlines()) >= len(MODELS), True, alone)


if __name__ == "__main__":
    recording.main(models_have_their_phases, loops_have_their_phases,
                   backward_begins_with_its_first_gradient,
                   closures_are_inside_their_step, steps_are_numbered,
                   workers_are_processes_of_their_own, phases_hold_all_blocks,
                   what_goes_at_exit_is_no_steps, results_are_bit_equal)
