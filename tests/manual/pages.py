"""What the tests of the manuals share: reading the command's own help, and the pages."""
import re
import subprocess

COMMAND_LINE = re.compile(r"^ {4}\$ (.*)$")
NEXT_LINE = re.compile(r"^ {4}> (.*)$")


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)


class Help:
    """The commands, and of each its options and examples, read from what --help prints."""

    def __init__(self, tidemark, choices=False):
        self.options = {}  # command: {"--name": the word for its value, or ""}
        self.letters = {}  # command: {"-n": "--name"}
        self.choices = {}  # (command, "--name"): values that the parser lists, if asked for
        self.examples = {}
        overview = run(tidemark, "--help").stdout
        self.summaries = dict(re.findall(r"^  ([a-z]+) +(\S.*)$", overview, re.M))
        self.commands = [x for x in self.summaries if x != "tidemark"]
        for name in self.commands:
            self.read(tidemark, name, choices)

    def read(self, tidemark, name, choices):
        options, letters, examples = {"--help": ""}, {"-h": "--help"}, []
        text = run(tidemark, name, "--help").stdout
        for line in text.splitlines():
            entry = re.match(r"^  (?:(-\w), |    )(--[a-z-]+)( [^ ]+)?(?:  |$)", line)
            if entry:
                options[entry[2]] = (entry[3] or "").strip()
                if entry[1]:
                    letters[entry[1]] = entry[2]
        if "\nExamples\n" in text:
            for line in text.split("\nExamples\n")[1].splitlines():
                if line.startswith("  tidemark "):
                    examples.append(line.strip())
        self.options[name], self.letters[name], self.examples[name] = options, letters, examples
        for option, value in options.items():
            if value and choices:
                said = run(tidemark, name, option, "=none of them=").stdout
                listed = re.search(option + r" is (.*), not '=none", said)
                if listed:
                    self.choices[name, option] = re.split(r", | or ", listed[1])


class Example:
    """A command of a page, the lines that stand below it, and where."""

    def __init__(self, line, command):
        self.line, self.command, self.shown = line, command, []


def examples(text):
    """The commands of a page: in code, behind "$ ", their further lines behind "> "; what follows
    in the same code is the output."""
    found, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        start = COMMAND_LINE.match(line)
        if start:
            current = Example(number, start[1])
            found.append(current)
        elif current and not current.shown and NEXT_LINE.match(line):
            current.command += "\n" + NEXT_LINE.match(line)[1]
            current.line = number
        elif current and (line.startswith("    ") or not line.strip()):
            current.shown.append(line[4:])
        else:
            current = None
    for example in found:
        while example.shown and not example.shown[-1].strip():
            example.shown.pop()
    return found
