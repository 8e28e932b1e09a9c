"""check_width.py MADE: on a terminal of 80 columns no line of a man page is wider, and each line of an
example stands as it was written: neither wrapped nor joined with another. 77 without a formatter."""
import glob
import os
import re
import shutil
import subprocess
import sys

COLUMNS = 80


def formatters():
    """The programs that are here, each with the words behind which a page is named."""
    found = {}
    if shutil.which("groff"):
        found["groff"] = ["groff", "-man", "-Tutf8", "-rLL=%dn" % COLUMNS]
    # Where documentation is left out of an image, `man` is a script that says so.
    if shutil.which("man"):
        said = subprocess.run(["man", "--version"], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT).stdout
        if re.match(r"man \d", said):
            found["man"] = ["man", "-l"]
    if shutil.which("mandoc"):
        found["mandoc"] = ["mandoc", "-Tutf8", "-O", "width=%d" % (COLUMNS - 2)]
    return found


def formatted(words, page):
    """The lines of the page as they are seen, without bold and underlined letters."""
    environment = dict(os.environ, MANWIDTH=str(COLUMNS), MANPAGER="cat", LC_ALL="C.UTF-8")
    text = subprocess.run([*words, page], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=environment, check=True).stdout.decode()
    return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", text).split("\n")


def plain(line):
    line = re.sub(r"\\f[A-Z]", "", line)
    line = re.sub(r"\\\[u([0-9A-F]+)\]", lambda found: chr(int(found[1], 16)), line)
    for roff, letter in [(r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ti", "~"),
                         (r"\(ha", "^"), (r"\&", ""), (r"\%", ""), (r"\e", "\\")]:
        line = line.replace(roff, letter)
    return line


def example_lines(text):
    """What has to stay as it is: code, and the commands of the table that stand above their texts."""
    for code in re.findall(r"^\.EX\n(.*?)^\.EE$", text, re.M | re.S):
        yield from (plain(x) for x in code.split("\n") if x)
    for command in re.findall(r"^\.TP\n\\fB(tidemark .*)\\fR$", text, re.M):
        yield plain(command)


def check(words, page):
    """What is wrong with the page, a sentence for each; and how many lines were looked for."""
    with open(page) as source:
        wanted = list(example_lines(source.read()))
    lines = formatted(words, page)
    wrong = ["%d columns: %s" % (len(x), x.strip()) for x in lines if len(x) > COLUMNS]
    seen = {x.strip() for x in lines}
    wrong += ["not on a line of its own: " + x for x in wanted if x.strip() not in seen]
    return wrong, len(wanted)


def main():
    pages = sorted(glob.glob(os.path.join(sys.argv[1], "man1", "*.1")))
    tools, failed, looked = formatters(), 0, 0
    if not tools:
        print("skipped: neither groff nor man nor mandoc is here")
        sys.exit(77)
    for name, words in tools.items():
        for page in pages:
            wrong, count = check(words, page)
            looked += count
            failed += len(wrong)
            for what in wrong:
                print("FAIL %s, by %s: %s" % (os.path.basename(page), name, what))
    print("%d pages by %s, %d lines of examples, %d failures" %
          (len(pages), ", ".join(tools), looked, failed))
    sys.exit(1 if failed or not looked else 0)


if __name__ == "__main__":
    main()
