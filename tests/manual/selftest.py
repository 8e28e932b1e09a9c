"""selftest.py TIDEMARK MADE DOCS WORK: the tests of the manuals fail where they should. Each case
spoils one thing in a copy of the pages and texts, and names what must be said of it."""
import os
import shutil
import sys

import check_agree
import check_width
import pages
import run_examples

PEAK = "made/man1/tidemark-peak.1"


def change(old, new):
    def edit(text):
        if old not in text:
            raise ValueError("there is no %r to spoil" % old)
        return text.replace(old, new, 1)
    return edit


AGREE = [
    (PEAK, change(".TP\n\\fB\\-n\\fR, \\fB\\-\\-top\\fR \\fIN\\fR\n", ""), "lacks --top"),
    (PEAK, change("\\-\\-top", "\\-\\-most"), "has --most, which does not exist"),
    (PEAK, change("\\fIN\\fR", "\\fIM\\fR"), "the value of --top"),
    (PEAK, change("\\fB\\-n\\fR, ", "\\fB\\-m\\fR, "), "lacks -n--top"),
    (PEAK, None, "tidemark-peak.1 is not there"),
    (PEAK, change(".SH EXIT STATUS\n", ".SH OTHER\n"), "lacks EXIT STATUS"),
    ("made/man1/tidemark.1", change("\\fBtidemark peak\\fR", "\\fBtidemark peek\\fR"),
     "has peek, which does not exist"),
    ("made/tidemark.bash", change(" peak ", " "), "the completion for bash lacks peak"),
    ("made/tidemark.bash", change("--history", "--histry"), "has --histry"),
    ("made/tidemark.bash", change("takes=' -o --output", "takes=' -o"), "lacks --output"),
    ("made/_tidemark", change("'--history[", "'--histry["), "has --histry"),
    ("made/_tidemark", change("        'peak:", "        'peek:"), "lacks peak"),
    ("docs/manual/peak.md", None, "manual/peak.md is not there"),
    ("docs/manual/peak.md", change("# tidemark peak", "# peak"), "does not begin with"),
    ("docs/manual/peak.md", lambda text: text.replace("    $ ", "    "), "has no example"),
    ("docs/manual/peak.md", lambda text: text + "\nThen `--nothing` helps.\n",
     "nothing has --nothing"),
    ("docs/manual/peak.md", lambda text: text + "\nAsk `tidemark peak --wait`.\n",
     "tidemark peak has no --wait"),
    ("docs/ci-gate.md", lambda text: text + "\n    tidemark check --max-peek 3\n",
     "tidemark check has no --max-peek"),
    ("docs/manual/none.md", lambda text: "# tidemark none\n", "there is no such command"),
]

# Shown, printed, and whether the one is what the other says.
MATCHES = [
    ("a\nb", "a\nb", True),
    ("a", "a\nb", False),
    ("a\nb", "a", False),
    ("a\n...", "a\nb\nc", True),
    ("...\nc", "a\nb\nc", True),
    ("...\nb", "a\nb\nc", False),
    ("a\n...\nc", "a\nb\nc", True),
    ("a\n...\nb\n...\nd", "a\nb\nc\nd", True),
    ("a\n...\nx\n...\nd", "a\nb\nc\nd", False),
    ("a\n...\nb\nb", "a\nb", False),
    ("...", "a\nb", True),
    ("a  long...end  b", "a long and the end b", True),
    ("a  long...end  b", "a long and the end c", False),
    ("a\n...\nto... here", "a\nb\nto (anywhere) here", True),
    ("a\n...\nto... here", "a\nb\nfrom here", False),
    ("(a...)", "(a.b)", True),
    ("(a...)", "xa.b)", False),
    ("took 5.1 ms (pid 7)", "took  12 us (pid 8)", True),
    ("took 5 MiB", "took 6 MiB", False),
    ("into tidemark.20260101-000000-1.db (5 KiB)", "into tidemark.20261231-235959-99.db (6 KiB)",
     True),
    ("12 events (3 blocks)", "13 events (3 blocks)", True),
    ("12 events (3 blocks)", "13 events (4 blocks)", False),
]


def spoil(root, path, edit):
    full = os.path.join(root, path)
    if edit is None:
        os.remove(full)
        return
    text = ""
    if os.path.exists(full):
        with open(full) as page:
            text = page.read()
    with open(full, "w") as page:
        page.write(edit(text))


def check_agreement(tidemark, made, docs, work):
    failed, told = 0, pages.Help(tidemark)
    for path, edit, wanted in [(PEAK, lambda text: text, None)] + AGREE:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(made, os.path.join(work, "made"))
        shutil.copytree(docs, os.path.join(work, "docs"))
        spoil(work, path, edit)
        said = check_agree.check(told, os.path.join(work, "made"), os.path.join(work, "docs"))
        good = any(wanted in x for x in said) if wanted else not said
        if not good:
            failed += 1
            print("FAIL %s, %s: %s" % (path, wanted, said))
    return failed


def check_matching():
    failed = 0
    for shown, printed, wanted in MATCHES:
        if run_examples.matches(shown.split("\n"), printed.split("\n")) != wanted:
            failed += 1
            print("FAIL %r for %r is not %s" % (shown, printed, wanted))
    return failed


def check_runner(work):
    """A page whose examples fail, print something else, or are none."""
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)

    class Nothing:
        environment = dict(os.environ)

        def environment_of(self, command):
            return self.environment

        def copy(self, folder):
            os.makedirs(folder)

    texts = [
        ("    $ true\n", 1, 0),
        ("    $ false\n", 1, 1),
        ("    $ echo a\n    a\n    $ echo b\n    c\n", 2, 1),
        ("    $ echo \"unknown option '--x'\"\n", 1, 1),
        ("    $ echo a\n    > echo b\n    a\n    b\n", 1, 0),
        ("    $ echo a\n\n    $ echo b\n    b\n", 2, 0),
        ("text $ false\n", 0, 0),
    ]
    failed = 0
    for number, (text, ran, wrong) in enumerate(texts):
        path = os.path.join(work, "page%d.md" % number)
        with open(path, "w") as page:
            page.write("# page\n\n" + text)
        runner = run_examples.Runner(Nothing(), work)
        runner.complain = lambda *_: setattr(runner, "failed", runner.failed + 1)
        runner.page(path, False)
        if (runner.ran, runner.failed) != (ran, wrong):
            failed += 1
            print("FAIL %r: %d ran, %d failed" % (text, runner.ran, runner.failed))
    path = os.path.join(work, "rewrite.md")
    with open(path, "w") as page:
        page.write("# page\n\n    $ echo a; echo b\n    c\n    $ echo d\n    e\n    f\n\nend\n")
    run_examples.Runner(Nothing(), work).page(path, True)
    with open(path) as page:
        if page.read() != "# page\n\n    $ echo a; echo b\n    a\n    b\n    $ echo d\n    d\n\nend\n":
            failed += 1
            print("FAIL --rewrite")
    return failed


WIDTHS = [
    (".EX\n" + "x" * 73 + "\n.EE\n", 0),
    (".EX\n" + "\\[u2588]" * 73 + "\n.EE\n", 0),
    (".EX\n" + "x" * 74 + "\n.EE\n", 1),
    (".in 2n\n.EX\n" + "\\[u2588]" * 78 + "\n.EE\n.in\n", 0),
    (".in 2n\n.EX\n" + "\\[u2588]" * 79 + "\n.EE\n.in\n", 1),
    ("a\n.EX\n$ x \\-y\n\\&...\n.EE\n", 0),
    (".TP\n\\fBtidemark made \\-\\-top\\fR\nmany\n", 0),
    (".TP\n\\fBtidemark made" + " xyz" * 20 + "\\fR\nmany\n", 1),
]


def check_widths(work):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    failed, page = 0, os.path.join(work, "made.1")
    for words in check_width.formatters().values():
        for text, wanted in WIDTHS:
            with open(page, "w") as out:
                out.write(".TH MADE 1 \"\" \"\" \"\"\n.nh\n.ad l\n.SH EXAMPLES\n" + text)
            wrong, count = check_width.check(words, page)
            if bool(wrong) != bool(wanted) or not count:
                failed += 1
                print("FAIL width, by %s: %r: %s" % (words[0], text, wrong))
    return failed


def check_headings():
    text = ("Peak of process 1 (pid 7)\nfile  a.db\nallocated  5 MiB\n\nWhat for\n   bytes   share  category\n"
            "1830 MiB  42.3 %  activation\nand 3 more\n\nnothing: of it\n")
    wanted = {"file", "What for", "bytes", "share", "category"}
    if run_examples.headings(text) != wanted:
        print("FAIL headings are %s" % run_examples.headings(text))
        return 1
    return 0


def main():
    tidemark, made, docs, work = sys.argv[1:5]
    failed = check_agreement(tidemark, made, docs, work)
    failed += check_matching()
    failed += check_headings()
    failed += check_widths(work)
    failed += check_runner(work)
    print("%d spoiled pages and %d outputs were looked at, %d wrongly" %
          (len(AGREE), len(MATCHES), failed))
    sys.exit(1 if failed else 0)


main()
