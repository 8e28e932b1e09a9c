"""Blocks of forward and backward carry the module that they are of, by a count of the test's own:
programs/modules.py, programs/module_truth.py."""
import os

import module_check
import recording
from recording import expect, once

PROGRAM = os.path.join(recording.PROGRAMS, "modules.py")
NAMES = os.path.join(recording.PROGRAMS, "module_names.py")
RAISES = os.path.join(recording.PROGRAMS, "module_raises.py")
REPLACED = 4  # the step in whose forward a module was called for the first time that replaced one

runs = {words: once(lambda words=words: recording.record(PROGRAM, *words))
        for words in ((), ("reentrant",))}


def every_block_has_its_module():
    for words, run in runs.items():
        rows = module_check.compare(run())
        settled = [row for row in rows if row[0] != REPLACED]
        expect(len(settled) > 1000, True, len(settled))
        whole, wrong, which = module_check.wrong_bytes(settled)
        expect(wrong, 0, which)


def backward_has_its_share():
    """Not only what frames tell."""
    for words, run in runs.items():
        got = dict(run().rows(
            "SELECT m.path, count(*) FROM allocations v JOIN allocation a ON a.seq = v.allocation "
            "JOIN module m ON m.id = a.module JOIN phase p ON p.id = v.phase_id "
            "WHERE p.kind = 'backward' GROUP BY m.path"))
        for path in ("embed", "blocks.0.mlp.1", "blocks.1.attention", "blocks.2.norm", "head"):
            expect(got.get(path, 0) > 0, True, (path, got))


def a_new_module_is_the_one_around_it_at_first():
    rows = [row for row in module_check.compare(runs[()]()) if row[0] == REPLACED]
    new = [row for row in rows if (row[2] or "").startswith("blocks.2.mlp")]
    expect(len(new) > 0, True)
    for step, size, want, path, name, site in new:
        expect(path, "blocks.2", (want, name, site))
    expect(module_check.wrong_bytes([row for row in rows if row not in new])[1], 0)


def modules_have_their_classes():
    got = runs[()]().rows("SELECT class FROM module WHERE path LIKE 'blocks.2.mlp.1' ORDER BY id")
    expect(got, [("ReLU",), ("GELU",)])
    expect(runs[()]().rows("SELECT path FROM module WHERE class = 'Second'"), [("Second#2",)])
    expect(runs[()]().rows("SELECT count(*) FROM module WHERE class = 'Softplus'"), [(0,)])


def parameters_are_named_as_their_modules():
    got = runs[()]().rows("SELECT DISTINCT name FROM tag WHERE category = 1 AND name LIKE '%head%' "
                          "ORDER BY name")
    expect(got, [("Second#2.head.bias",), ("Second#2.head.weight",), ("head.bias",),
                 ("head.weight",)])


def wrappers_have_no_place_in_names():
    run = recording.record(NAMES, "wrapped")
    got = run.rows("SELECT DISTINCT path, class FROM module ORDER BY path")
    blocks = [row for i in range(3) for row in (
        ("layers.%d" % i, "Block"), ("layers.%d.module" % i, "Linear"),
        ("layers.%d.up" % i, "Linear"))]
    expect(got, [("", "Model"), ("head", "Linear"), ("layers", "ModuleList")] + blocks)
    got = {name for name, in run.rows("SELECT name FROM tag WHERE category = 1")}
    expect(got, {"%s.%s" % (path, kind) for path, name in [("head", "Linear")] + blocks
                 for kind in ("weight", "bias") if name == "Linear"})
    expect(run.rows("SELECT count(*) FROM tag WHERE category = 1 AND id NOT IN "
                    "(SELECT tag FROM tag_module WHERE module_id IS NOT NULL)")[0][0], 0)


def a_container_has_its_place_in_who_calls_it():
    run = recording.record(NAMES, "contained")
    got = run.rows("SELECT DISTINCT path, class FROM module ORDER BY path")
    expect(got, [("", "Sequential"), ("0", "Linear"), ("critic", "Sequential"),
                 ("critic.0", "Linear"), ("net", "Sequential"), ("net.0", "Linear"),
                 ("net.1", "ReLU"), ("net.2", "Linear")])
    got = {name for name, in run.rows("SELECT name FROM tag WHERE category = 1")}
    expect(got, {"%s.%s" % (path, kind) for path in ("net.0", "net.2", "critic.0", "0")
                 for kind in ("weight", "bias")})


def copies_have_the_names_of_those_before_them():
    run = recording.record(NAMES, "copies")
    got = run.rows("SELECT count(DISTINCT path) FROM module WHERE path LIKE 'Model#%'")[0][0]
    expect(got, 12, "a second model's")
    expect(run.rows("SELECT count(DISTINCT name) FROM tag WHERE category = 1")[0][0], 28)
    expect(why_not(run), [])


def names_come_to_an_end():
    """Each stays in the memory of the recording; what is missing is said, once."""
    run = recording.record(NAMES, "many")
    count = run.rows("SELECT (SELECT count(DISTINCT path) FROM module) + "
                     "(SELECT count(DISTINCT name) FROM tag WHERE category = 1)")[0][0]
    expect(30 < count <= 60, True, count)
    expect(len(why_not(run)), 1, why_not(run))


def why_not(run):
    said = run.rows("SELECT why_not FROM process")[0][0] or ""
    return [text for text in said.split("; ") if text.startswith("names:")]


def an_exception_leaves_no_node_behind():
    run = recording.record(RAISES)
    expect(run.out.split(), ["caught"] * 3)
    got = run.rows("SELECT DISTINCT coalesce(m.path, '') || ':' || coalesce(m.class, '') "
                   "FROM allocation a LEFT JOIN module m ON m.id = a.module WHERE a.size = ?",
                   2 * 4 * 7777)
    expect(got, [(":Outer",)])


def without_stacks_nothing_is_known():
    run = recording.record(PROGRAM, options=["--no-stacks"])
    expect(run.rows("SELECT count(*) FROM allocation WHERE module IS NOT NULL"), [(0,)])
    expect(run.rows("SELECT count(*) FROM allocation WHERE site IS NOT NULL"), [(0,)])
    expect(run.rows("SELECT count(*) > 1000 FROM allocation"), [(1,)])


if __name__ == "__main__":
    recording.main(every_block_has_its_module, backward_has_its_share,
                   a_new_module_is_the_one_around_it_at_first, modules_have_their_classes,
                   parameters_are_named_as_their_modules, wrappers_have_no_place_in_names,
                   a_container_has_its_place_in_who_calls_it,
                   copies_have_the_names_of_those_before_them, names_come_to_an_end,
                   an_exception_leaves_no_node_behind,
                   without_stacks_nothing_is_known)
