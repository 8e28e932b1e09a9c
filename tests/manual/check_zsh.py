"""check_zsh.py TIDEMARK MADE WORK: the completion in a real zsh, typed at with the tab key. Skipped
where no zsh is installed."""
import os
import shutil
import sys

import pages
import terminal


def main():
    tidemark, made, work = sys.argv[1:4]
    if not shutil.which("zsh"):
        print("skipped: no zsh here")
        sys.exit(77)
    done = pages.run("zsh", "-n", os.path.join(made, "_tidemark"))
    if done.returncode or done.stdout:
        sys.exit("zsh cannot read _tidemark:\n" + done.stdout)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(os.path.join(work, "here"))
    os.makedirs(os.path.join(work, "bin"))
    os.symlink(tidemark, os.path.join(work, "bin", "tidemark"))
    for name in ["run.db", "snapshot.pickle", "limits.txt"]:
        open(os.path.join(work, "here", name), "w").close()
    shell = terminal.Terminal(
        ["zsh", "-f", "-i"], os.path.join(work, "here"), os.path.join(work, "bin"),
        "PS1='%s'; unsetopt zle_bracketed_paste; fpath=('%s' $fpath); "
        "autoload -Uz compinit; compinit -u -D; LISTMAX=0" % (terminal.PROMPT, made))
    shell.tab("tidemark pea", "k ")
    shell.tab("tidemark phases ru", "n.db ")
    shell.tab("tidemark frag --over", "-time ")
    shell.tab("tidemark peak --format j", "son ")
    shell.tab("tidemark record --wait g", "race ")
    shell.tab("tidemark import s", "napshot.pickle ")
    shell.tab("tidemark check -l l", "imits.txt ")
    told = pages.Help(tidemark)
    shell.lists("tidemark ", sorted(told.commands))
    for name in told.commands:
        shell.lists("tidemark %s --" % name, sorted(told.options[name]))
    shell.close()
    print("%d commands were completed by zsh" % len(told.commands))


main()
