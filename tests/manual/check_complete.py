"""check_complete.py TIDEMARK MADE WORK: the completion in a real bash. Every command and option is
asked for in a bash that sources the file; some are also typed at an interactive one, with the tab
key, on a pseudo terminal."""
import os
import re
import shutil
import subprocess
import sys

import pages
import terminal

ASK = r"""
source "$1"
shift
while IFS= read -r line; do
    COMP_WORDS=() COMPREPLY=()
    eval "COMP_WORDS=($line)"
    [[ $line != *' ' ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _tidemark
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
    echo "--end"
done
"""


class Bash:
    """Answers of one bash to many lines, each split at blanks as bash would; '=' stands alone."""

    def __init__(self, script, folder):
        self.script, self.folder, self.asked, self.failed = script, folder, [], 0

    def ask(self, line, *wanted, least=False):
        self.asked.append((line, sorted(set(wanted)), least))

    def run(self):
        text = "".join(line + "\n" for line, _, _ in self.asked)
        done = subprocess.run(["bash", "--norc", "-c", ASK, "ask", self.script], input=text,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=self.folder)
        answers = done.stdout.split("--end\n")[:-1]
        if len(answers) != len(self.asked):
            sys.exit("bash stopped:\n" + done.stdout)
        for (line, wanted, least), answer in zip(self.asked, answers):
            got = sorted(x for x in answer.split("\n") if x)
            if (not set(wanted) <= set(got)) if least else got != wanted:
                self.failed += 1
                print("FAIL '%s' gives %s, not %s" % (line, got, wanted))


def ask_tables(bash, told):
    bash.ask("tidemark ", *told.commands, "help", "--help", "--version")
    bash.ask("tidemark help ", *told.commands)
    for name in told.commands:
        bash.ask("tidemark %s -" % name, *told.options[name])
        bash.ask("tidemark %s" % name, *[x for x in told.commands + ["help"] if x.startswith(name)])
        for option, value in told.options[name].items():
            wanted = told.choices.get((name, option))
            if wanted:
                bash.ask("tidemark %s %s " % (name, option), *wanted)
                bash.ask("tidemark %s %s = " % (name, option), *wanted)
                bash.ask("tidemark %s %s = %s" % (name, option, wanted[0][:2]),
                         *[x for x in wanted if x.startswith(wanted[0][:2])])
                for letter, long in told.letters[name].items():
                    if long == option:
                        bash.ask("tidemark %s -%s " % (name, letter[1:]), *wanted)


def ask_files(bash):
    bash.ask("tidemark peak ", "a b.db", "folder", "run.db")
    bash.ask("tidemark peak r", "run.db")
    bash.ask("tidemark peak --top 3 r", "run.db")
    bash.ask("tidemark peak run.db ")  # one database is enough
    bash.ask("tidemark peak run.db --form", "--format")
    bash.ask("tidemark diff run.db ", "a b.db", "folder", "run.db")
    bash.ask("tidemark import ", "a b.db", "folder", "limits.txt", "run.db", "snapshot.pickle")
    bash.ask("tidemark check --baseline ", "a b.db", "folder", "run.db")
    bash.ask("tidemark check --limits l", "limits.txt")
    bash.ask("tidemark peak --top ")
    bash.ask("tidemark peak -- --", )
    bash.ask("tidemark peak --device c", "cpu", "cuda:0")
    bash.ask("tidemark record --keep ", "all", "steps=")
    bash.ask("tidemark record --keep s", "steps=")
    bash.ask("tidemark leaks --keep ")  # a number: another option of that name
    bash.ask("tidemark nothing ")
    bash.ask("tidemark record -- bas", "bash", least=True)
    bash.ask("tidemark record --no-stacks bas", "bash", least=True)
    bash.ask("tidemark record -o x.db bas", "bash", least=True)
    bash.ask("tidemark record -- cat --wait ", "a b.db", "folder", "limits.txt", "run.db",
             "snapshot.pickle")
    bash.ask("tidemark record --wait ", "grace", "all", "root")
    bash.ask("tidemark record -- cat li", "limits.txt")


def main():
    tidemark, made, work = sys.argv[1:4]
    script = os.path.join(made, "tidemark.bash")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(os.path.join(work, "here", "folder"))
    os.makedirs(os.path.join(work, "bin"))
    os.symlink(tidemark, os.path.join(work, "bin", "tidemark"))
    for name in ["run.db", "a b.db", "snapshot.pickle", "limits.txt"]:
        open(os.path.join(work, "here", name), "w").close()
    told = pages.Help(tidemark, choices=True)
    bash = Bash(script, os.path.join(work, "here"))
    if not told.choices:
        sys.exit("no choices were read")
    ask_tables(bash, told)
    ask_files(bash)
    bash.run()
    shell = terminal.Terminal(
        ["bash", "--norc", "--noprofile", "-i"], os.path.join(work, "here"),
        os.path.join(work, "bin"),
        "bind 'set bell-style none' 'set page-completions off'; "
        "bind 'set completion-query-items 0'; source '%s'" % script)
    shell.tab("tidemark pea", "tidemark peak ")
    shell.tab("tidemark phases ru", "tidemark phases run.db ")
    shell.tab("tidemark frag --format=j", "tidemark frag --format=json ")
    shell.tab("tidemark frag --form", "tidemark frag --format ")
    shell.tab("tidemark peak a", "tidemark peak a\\ b.db ")
    shell.lists("tidemark sql -f ", ["csv", "json", "table"], "\t\t")
    shell.close()
    if not re.search(r"complete -F _tidemark tidemark", open(script).read()):
        sys.exit("the file does not say what it completes")
    print("%d lines were completed by bash, %d failed" % (len(bash.asked), bash.failed))
    sys.exit(1 if bash.failed else 0)


main()
