"""The findings of samples/torch/ddp.py: what wrapping a model adds, and when. Two ranks, one
database."""
import os
import re
import socket
import tempfile

import recording
from recording import expect, sample, within

LAYERS, WIDTH, STEPS, BATCH = 10, 1024, 3, 4
LAYER = 4 * (WIDTH * WIDTH + WIDTH)
P = LAYERS * LAYER
# The caps are 1 MiB and 25 MiB; the parameter that reaches one is the last of its bucket. Gradients
# come from the last layer to the first, a bias before or after its weight.
CAPS = [1 << 20, 25 << 20]
PHASES = "zero_grad forward loss backward optimizer"


beside, views = recording.shared("ddp"), recording.shared("ddp-views")


def ranks(run):
    return [run.process_of_rank(rank) for rank in (0, 1)]


def buckets(run, seq, process):
    """Sizes of the blocks that are tagged and live, in the order of their birth."""
    return [row[0] for row in run.rows(
        "SELECT a.size FROM allocation a JOIN heap h ON h.id = a.heap "
        "JOIN tag_text t ON t.id = a.tag WHERE h.process = ? AND t.category = 'bucket' "
        "AND a.seq <= ? AND (a.free_seq < 0 OR a.free_seq > ?) ORDER BY a.seq",
        process, seq, seq)]


def ranks_are_stored():
    for get in (beside, views):
        get().is_whole()
        for rank, process in enumerate(ranks(get())):
            row = get().rows("SELECT rank, local_rank, world_size FROM process WHERE id = ?",
                             process)
            expect(row, [(rank, rank, 2)])


def reports_take_a_rank():
    run = beside()
    for rank, process in enumerate(ranks(run)):
        table = run.report("phases", "--rank", str(rank))["phases"]
        expect({row["process"] for row in table}, {process}, "phases")
        expect([row["phase"] for row in table if row["phase"] in PHASES.split()],
               PHASES.split() * STEPS)
        peak = run.report("peak", "--rank", str(rank))["peak"]
        expect([row["process"] for row in peak], [process], "peak")
        info = run.report("info", "--rank", str(rank))["processes"]
        expect([row["rank"] for row in info if row["process"] == process], [rank], "info")
        expect({row["rank"] for row in info}, {rank}, "info")


def phases_of_both_ranks():
    for get in (beside, views):
        for process in ranks(get()):
            expect(get().steps(process=process), [PHASES] * STEPS)


def the_constructor_doubles_the_memory():
    """A bucket as large as all gradients; and a copy to broadcast, which is dead at the latest when
    the first forward is over (a thread of its own lets go of it)."""
    for get in (beside, views):
        run = get()
        for process in ranks(run):
            built = run.mark("built", -1, process)
            wrapped = run.mark("wrapped", -1, process)
            expect(run.allocated(built, process), P)
            expect(buckets(run, built, process), [])
            expect(buckets(run, wrapped, process), [P])
            forward = run.mark("forward", 0, process)
            large = [(size, freed) for size, freed in run.rows(
                "SELECT a.size, a.free_seq FROM allocation a JOIN heap h ON h.id = a.heap "
                "WHERE h.process = ? AND a.seq > ? AND a.seq <= ? AND a.size >= ?",
                process, built, wrapped, LAYER)]
            expect([size for size, _ in large], [P, P], "the copy and the bucket")
            living = [freed for _, freed in large if freed < 0 or freed > forward]
            expect(len(living), 1, "the copy is a transient")
            tagged = sum(run.live(wrapped, "bucket", process).values())
            parameters = sum(run.live(wrapped, "parameter", process).values())
            expect(tagged + parameters, 2 * P)


def the_second_forward_replaces_the_bucket():
    for get in (beside, views):
        run = get()
        for process in ranks(run):
            before = run.mark("zero_grad", 1, process)
            after = run.mark("forward", 1, process)
            expect(buckets(run, before, process), [P])
            sizes = buckets(run, after, process)
            expect(sum(sizes), P)
            expect(len(sizes), 3)
            for size, cap in zip(sizes, CAPS):
                within(size, cap, cap + LAYER, "a bucket of %d bytes" % cap)
            for name, step in (("optimizer", 1), ("optimizer", 2)):
                expect(buckets(run, run.mark(name, step, process), process), sizes)
            born = {phase for phase, in run.rows(
                "SELECT a.phase FROM allocations a JOIN tag_text t ON t.id = a.tag_id "
                "WHERE a.process = ? AND t.category = 'bucket' AND a.allocation > ?",
                process, before)}
            expect(born, {"forward"})


def gradients_have_memory_of_their_own_or_not():
    for get, times in ((beside, 3), (views, 2)):
        run = get()
        for process in ranks(run):
            for step in range(STEPS):
                seq = run.mark("optimizer", step, process)
                rest = run.allocated(seq, process) - times * P
                within(rest, 0, 16 * 4 * BATCH * WIDTH, "besides %d P, step %d" % (times, step))
                own = sum(run.live(seq, "gradient", process).values())
                expect(own, P if times == 3 else 0)


def every_block_has_a_stack():
    """The threads that broadcast and reduce have no Python: what they ask for has their name, and is
    nothing that was tagged."""
    for get in (beside, views):
        expect(get().rows("SELECT count(*) FROM allocation WHERE site IS NULL"), [(0,)])
        for process in ranks(get()):
            rows = get().rows(
                "SELECT count(*), sum(a.tag IS NOT NULL) FROM allocation a "
                "JOIN heap h ON h.id = a.heap JOIN site_text s ON s.site = a.site "
                "WHERE h.process = ? AND s.text LIKE '[thread %]'", process)
            without, tagged = rows[0]
            expect(tagged, 0, "of the tagged ones")
            within(without, 1, 40, "blocks of threads without Python")


def a_launcher_starts_ranks():
    """torch.distributed.run: its ranks are its children, and in the same database. That of 1.13 needs
    to be told where output goes, on CPython 3.11."""
    with tempfile.TemporaryDirectory() as logs:
        run = recording.record("-m", "torch.distributed.run", "--nproc_per_node", "2",
                               "--master_port", str(free_port()), "--redirects", "1", "--tee", "1",
                               "--log_dir", logs, sample("ddp.py"), "--width", "64", "--steps", "2")
    run.is_whole()
    found = ranks(run)
    for rank, process in enumerate(found):
        row = run.rows("SELECT parent, rank, local_rank, world_size, ended, exit_code FROM process "
                       "WHERE id = ?", process)
        expect(row, [(1, rank, rank, 2, "exit", 0)])
        expect(run.steps(process=process), [PHASES] * 2)
    expect(run.rows("SELECT rank FROM process WHERE id = 1"), [(None,)])


def ranks_that_the_environment_does_not_name():
    """torch.multiprocessing.spawn: each rank says its own to init_process_group."""
    program = os.path.join(recording.PROGRAMS, "spawned.py")
    run = recording.record(program, str(free_port()))
    run.is_whole()
    for port in recording.more(free_port()):
        expect(run.out, recording.bare(program, str(port)))
    for rank, process in enumerate(ranks(run)):
        row = run.rows("SELECT rank, local_rank, world_size FROM process WHERE id = ?", process)
        expect(row, [(rank, None, 2)])
        table = run.report("phases", "--rank", str(rank))["phases"]
        expect({row["process"] for row in table}, {process})
    expect(run.rows("SELECT count(*) FROM process WHERE rank IS NOT NULL"), [(2,)])
    expect(run.rows("SELECT count(*) FROM setting WHERE key LIKE '%rank%'"), [(0,)])


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def results_are_bit_equal():
    """Where buckets are does not change them; in the long form they are those without us."""
    outs = [beside().out, views().out]
    outs += [recording.bare(*command) for command in recording.more(recording.DDP_COMMAND)]
    for out in outs:
        expect(bits(out), bits(outs[0]))
        expect(len(bits(out)), 2, out)


def bits(out):
    """Of both ranks: they print when they are done, in any order."""
    return sorted(re.findall("^bits .*$", out, re.M))


if __name__ == "__main__":
    recording.main(ranks_are_stored, reports_take_a_rank, phases_of_both_ranks,
                   the_constructor_doubles_the_memory, the_second_forward_replaces_the_bucket,
                   gradients_have_memory_of_their_own_or_not,
                   every_block_has_a_stack, a_launcher_starts_ranks,
                   ranks_that_the_environment_does_not_name,
                   results_are_bit_equal)
