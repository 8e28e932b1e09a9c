"""check_agree.py TIDEMARK MADE DOCS: the tables, the man pages, the kept texts and the completions
name the same commands and options. The tables are read from --help; pages and completions as they
were made. What is said here of a completion is read from its text; check_complete.py tries it."""
import os
import re
import sys

import pages

failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def same(where, found, wanted):
    found, wanted = set(found), set(wanted)
    for name in sorted(wanted - found):
        expect(False, "%s lacks %s" % (where, name))
    for name in sorted(found - wanted):
        expect(False, "%s has %s, which does not exist" % (where, name))


def read(*parts):
    path = os.path.join(*parts)
    if not os.path.exists(path):
        expect(False, path + " is not there")
        return ""
    with open(path) as page:
        return page.read()


def unroff(text):
    text = re.sub(r"\\f[A-Z]", "", text)
    for roff, plain in [(r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ti", "~"),
                        (r"\(ha", "^"), (r"\&", ""), (r"\%", ""), (r"\e", "\\")]:
        text = text.replace(roff, plain)
    return text


def section(page, name):
    found = re.search(r"^\.SH %s\n(.*?)(?=^\.SH |\Z)" % name, page, re.M | re.S)
    return found[1] if found else ""


def check_page(told, name, made):
    page = unroff(read(made, "man1", "tidemark-%s.1" % name))
    where = "tidemark-%s.1" % name
    found = re.findall(r"^\.TP\n(?:(-\w), )?(--[a-z-]+)(?: (\S+))?$", section(page, "OPTIONS"), re.M)
    same(where, [x[1] for x in found], told.options[name])
    same(where, [x[0] + x[1] for x in found if x[0]],
         [k + v for k, v in told.letters[name].items()])
    for _, option, value in found:
        expect(value == told.options[name].get(option), "%s: the value of %s" % (where, option))
    for part in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS",
                 "SEE ALSO"]:
        expect(section(page, part).strip(), "%s lacks %s" % (where, part))
    for line in told.examples[name]:
        expect(line in section(page, "EXAMPLES"), "%s lacks the example %s" % (where, line))
    same(where + ", SEE ALSO", re.findall(r"tidemark-([a-z]+)\(1\)", section(page, "SEE ALSO")),
         set(told.commands) - {name})
    expect(told.summaries[name] in section(page, "NAME"), where + ": its summary is another")


def check_mentions(told, path, text, own):
    """Options that a text speaks of exist: of the command that stands in front, else of its own."""
    for number, line in enumerate(text.splitlines(), 1):
        for command, rest in re.findall(r"\btidemark ([a-z]+)((?: +[^`|;]*)?)", line):
            if command not in told.commands:
                continue
            if command in ["record", "rehearse", "plan"]:
                rest = re.split(r" -- | -- ?$", rest)[0]
            for option in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", rest):
                expect(option in told.options[command],
                       "%s:%d: tidemark %s has no %s" % (path, number, command, option))
        if own:
            known = set().union(*told.options.values()) | {"--version"}
            for option in re.findall(r"`(--[a-z][a-z-]*)[^`]*`", line):
                expect(option in known, "%s:%d: nothing has %s" % (path, number, option))


def check_texts(told, docs):
    for name in ["tidemark"] + told.commands:
        path = os.path.join(docs, "manual", name + ".md")
        text = read(path)
        if not text:
            continue
        title = "# tidemark" if name == "tidemark" else "# tidemark " + name
        expect(text.splitlines()[0] == title, "%s does not begin with '%s'" % (path, title))
        expect("\n## " in text, path + " has no section")
        expect(pages.examples(text), path + " has no example")
        check_mentions(told, path, text, True)
    for name in sorted(os.listdir(os.path.join(docs, "manual"))):
        known = name[:-3] in told.commands + ["tidemark"]
        expect(known or name == "README.md", "docs/manual/%s: there is no such command" % name)
    for name in sorted(os.listdir(docs)):
        if name.endswith(".md"):
            check_mentions(told, "docs/" + name, read(docs, name), False)


def check_bash(told, text):
    found = re.search(r"commands='([^']*)'", text)
    same("the completion for bash", found[1].split() if found else [], told.commands)
    for name in told.commands:
        own = re.search(r"^    %s\)\n +options='([^']*)'\n +takes='([^']*)'" % name, text, re.M)
        where = "the completion of %s for bash" % name
        if not own:
            expect(False, where + " is not there")
            continue
        same(where, own[1].split(), told.options[name])
        takes = {o for o, value in told.options[name].items() if value}
        letters = {k for k, v in told.letters[name].items() if v in takes}
        same(where + ", what takes a value", own[2].split(), takes | letters)


def check_zsh(told, text):
    listed = re.search(r"commands=\(\n(.*?)\n    \)", text, re.S)
    same("the completion for zsh", re.findall(r"^ +'([a-z]+):", listed[1] if listed else "", re.M),
         told.commands + ["help"])
    for name in told.commands:
        own = re.search(r"^    %s\)\n(.*?)^        ;;" % name, text, re.M | re.S)
        where = "the completion of %s for zsh" % name
        if not own:
            expect(False, where + " is not there")
            continue
        found = re.findall(r"^ +'(?:\([^)]*\)'\{-\w\+?,)?(--[a-z-]+)", own[1], re.M)
        found += ["--help"] if "{-h,--help}" in own[1] else []
        same(where, found, told.options[name])


def check(told, made, docs):
    """What is wrong, a sentence for each."""
    failures.clear()
    for name in told.commands:
        check_page(told, name, made)
    top = unroff(read(made, "man1", "tidemark.1"))
    same("tidemark.1", re.findall(r"^tidemark ([a-z]+)$", section(top, "COMMANDS"), re.M),
         told.commands)
    same("man1/", os.listdir(os.path.join(made, "man1")),
         ["tidemark.1"] + ["tidemark-%s.1" % x for x in told.commands])
    check_texts(told, docs)
    check_bash(told, read(made, "tidemark.bash"))
    check_zsh(told, read(made, "_tidemark"))
    return list(failures)


def main():
    tidemark, made, docs = sys.argv[1:4]
    told = pages.Help(tidemark)
    wrong = check(told, made, docs)
    if len(told.commands) < 13:
        wrong.append("only %d commands were read" % len(told.commands))
    wrong += ["no options were read of " + x for x in told.commands if len(told.options[x]) < 2]
    for what in wrong:
        print("FAIL " + what)
    print("%d commands with %d options, %d failures" %
          (len(told.commands), sum(len(x) for x in told.options.values()), len(wrong)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
