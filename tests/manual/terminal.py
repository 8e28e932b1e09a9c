"""An interactive shell on a pseudo terminal, to which lines are typed, the tab key too."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

PROMPT = "ready> "


class Terminal:
    def __init__(self, words, folder, bin_folder, setup):
        self.rest = ""  # read, and behind what was waited for
        self.child, self.side = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.environ.update(PS1=PROMPT, TERM="dumb", INPUTRC="/dev/null", HISTFILE="",
                              PATH=bin_folder + ":" + os.environ["PATH"])
            os.execvp(words[0], words)
        # As high as the longest list: of one that is higher than the terminal a shell asks whether.
        fcntl.ioctl(self.side, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 100, 0, 0))
        self.type("%s; echo rea''dy\n" % setup)
        self.until("ready\r\n")
        self.until(PROMPT)

    def type(self, text):
        os.write(self.side, text.encode())

    def until(self, wanted):
        """What came up to and with `wanted`."""
        text, end = self.rest, time.monotonic() + 300
        while wanted not in text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.side], [], [], left)[0]:
                sys.exit("the terminal says %r and not %r" % (text, wanted))
            text += os.read(self.side, 4096).decode(errors="replace")
        stop = text.index(wanted) + len(wanted)
        self.rest = text[stop:]
        return text[:stop]

    def give_up(self):
        """An empty line again, and nothing left to read."""
        self.type("\x15echo em''pty\n")
        self.until("empty\r\n")
        self.until(PROMPT)

    def tab(self, typed, wanted):
        """What is typed, then tab; the line has to become `wanted`."""
        self.type(typed + "\t")
        self.until(wanted)
        self.give_up()

    def lists(self, typed, words, tabs="\t"):
        """What is offered where more than one is possible."""
        self.type(typed + tabs)
        text = ""
        while not all(re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(x), text) for x in words):
            text += self.until("\n")
        self.give_up()

    def close(self):
        self.type("\x15exit\n")
        os.waitpid(self.child, 0)
