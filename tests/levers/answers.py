"""The five questions that the thread of seq2seq asked, and where `tidemark peak` and `tidemark why`
answer them: bytes, and the words for people. P are the bytes of the parameters, L those of the
logits."""
import re

import recording
from peaks import Peak, about
from recording import expect

UNITS = {"B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}


def change(tables, category, word=""):
    return sum(row["change"] for row in tables["groups"]
               if row["category"] == category and word in (row["site"] or ""))


def number(text):
    """Of "+280 MiB": bytes."""
    value, unit = text.lstrip("+").split()
    return float(value) * UNITS[unit]


def half_digit(text):
    """Of "2.9 MiB": bytes of 0.05 MiB."""
    value, unit = text.split()
    return UNITS[unit] * 0.501 / 10 ** len(value.partition(".")[2])


def says(text, pattern, *wanted):
    """One line of the text is so, and its amounts, each a group of the pattern, are what is wanted,
    within a hundredth, or as near as what people read can be: half of its last digit."""
    for line in text.splitlines():
        found = re.fullmatch(pattern.replace("BYTES", r"(\+?[0-9.]+ [KMG]?i?B)"), line.strip())
        if found:
            for got, bytes_ in zip(found.groups(), wanted):
                if abs(number(got) - bytes_) > half_digit(got):
                    about(number(got), bytes_, line)
            return
    raise AssertionError("no line is %r in\n%s" % (pattern, text))


class Answers(object):
    """of a run; `words` are what its call sites have in their names: logits, loss; and
    output, how the layer that makes the logits is called where modules are known."""

    # PyTorch's backward begins with a gradient of one number, the loss's own.
    def __init__(self, run, parameters, logits, words, first_gradients=0):
        self.run, self.p, self.l, self.words = run, parameters, logits, words
        self.first_gradients = first_gradients
        self.peak = Peak(run)

    def why(self, moments):
        done = recording.run([recording.TIDEMARK, "why", self.run.path, moments, "-f", "json",
                              "--top", "1000"])
        expect(done.returncode, 0, done.stderr)
        return recording.json.loads(done.stdout)["tables"]

    def text(self, name, *arguments):
        done = recording.run([recording.TIDEMARK, name, self.run.path] + list(arguments))
        expect(done.returncode, 0, done.stderr)
        return done.stdout

    def finding(self, name):
        found = [row for row in self.peak.tables["findings"] if row["finding"] == name]
        expect(len(found), 1, "findings called " + name)
        return found[0]

    # 1. What does loss add? One tensor as large as the logits: the log-probabilities.
    def loss_adds_the_log_probabilities(self):
        tables = self.why("1/forward..1/loss")
        about(sum(row["change"] for row in tables["by_category"]), self.l, "loss adds")
        about(tables["groups"][0]["change"], self.l, "of which one block")
        expect(self.words["loss"] in tables["groups"][0]["site"], True, tables["groups"][0]["site"])
        said = self.text("why", "1/forward..1/loss")
        says(said, r"BYTES +BYTES +BYTES +activation", self.l)
        says(said, r"BYTES +0 B +BYTES +0 to [12] +activation +.*%s.*" % self.words["loss"],
             self.l, self.l)

    # 2. Why does backward need so much? Two gradients, as large as the logits: not the optimizer.
    def backward_adds_two_gradients(self):
        expect(self.peak.where["phase"], "backward")
        expect(self.peak.where["added_blocks"], 2 + self.first_gradients)
        about(self.peak.where["added_bytes"], 2 * self.l, "backward's peak")
        added = self.peak.tables["added_by_backward"]
        expect([row["blocks"] for row in added], [2])
        about(added[0]["bytes"], 2 * self.l, "added by backward")
        for word in (self.words["logits"], self.words["loss"]):
            expect(word in added[0]["like"], True, added[0]["like"])
        about(change(self.why("1/loss..1"), "workspace", self.words.get("backward", "")),
              2 * self.l, "why")
        about(self.finding("added_by_backward")["bytes"], 2 * self.l, "in short")
        says(self.text("peak", "--all"), r"BYTES +backward allocates 2 x BYTES, each the size of the output of "
             r".*%s.*%s.*: probably gradients"
             % (self.words["logits"], self.words["loss"]), 2 * self.l, self.l)

    # 3. What is left after a step? Parameters, gradients, two states, and the logits still held.
    def a_step_leaves_its_logits(self):
        tables = self.why("0/zero_grad..1/zero_grad")
        about(change(tables, "gradient"), self.p, "gradients")
        about(change(tables, "optimizer state"), 2 * self.p, "optimizer states")
        about(change(tables, "activation, held by the program"), self.l, "held")
        left = {row["category"]: row["after"] for row in tables["by_category"]}
        about(left["parameter"], self.p, "parameters")
        about(sum(left.values()), 4 * self.p + self.l, "in all")
        said = self.text("why", "0/zero_grad..1/zero_grad")
        says(said, r"unchanged:.* parameter BYTES", self.p)
        says(said, r"BYTES +0 B +BYTES +gradient", self.p, self.p)
        says(said, r"BYTES +0 B +BYTES +optimizer state", 2 * self.p, 2 * self.p)
        says(said, r"BYTES +0 B +BYTES +activation, held by the program", self.l, self.l)
        says(said, r"BYTES +0 B +BYTES +0 to 1 +activation, held by the program +.*%s.*"
             % self.words["logits"], self.l, self.l)

    def the_peak_says_who_holds_them(self):
        about(self.finding("held_by_the_program")["bytes"], self.l, "in short")
        says(self.text("peak", "--all"), r"BYTES +the output of .*%s.* stays live during backward because a "
             r"variable still refers to it" % self.words["logits"], self.l)

    # 4. Why is step 1 higher? Gradients and Adam's two states are there now.
    def step_1_is_higher_by_what_stays(self):
        expect(self.peak.where["step"], 1)
        higher = self.why("0..1")
        about(change(higher, "gradient"), self.p, "gradients")
        about(change(higher, "optimizer state"), 2 * self.p, "optimizer states")
        about(sum(row["change"] for row in higher["groups"]), 3 * self.p, "in all")
        about(self.finding("higher_than_step_before")["bytes"], 3 * self.p, "in short")
        said = self.text("peak", "--all")
        says(said, r"BYTES +more than step 0: optimizer state BYTES, gradient BYTES "
             r"\(kept between steps\). Live tensors, not fragmentation.*",
             3 * self.p, 2 * self.p, self.p)
        says(said, "Higher than the peak of step 0 by")
        says(said, "BYTES in all: live tensors, not fragmentation", 3 * self.p)
        says(self.text("why", "0..1"), r"BYTES +0 B +BYTES +optimizer state", 2 * self.p)

    # 5. What would help?
    def levers(self):
        held, none = self.peak.lever("drop_held"), self.peak.lever("gradients_to_none")
        about(held["bytes"], self.l, "the logits")
        output = self.words.get("output", self.words["logits"])
        expect(output in held["text"], True, held["text"])
        about(none["bytes"], self.p, "gradients to None")
        expect((held["at_most"], none["at_most"]), (0, 0))
        checkpoints = [row for row in self.peak.tables["levers"] if row["lever"] == "checkpoint"]
        expect(len(checkpoints) > 0, True, "checkpoints")
        said = self.text("peak", "--all")
        reserved = r"(?:(?:at most )?[0-9.]+ [KMG]?i?B +)?(?:step [0-9]+, \S+ +)?"
        says(said, "Changes that lower the peak")
        says(said, "BYTES +" + reserved + "del the variable that holds the output of .*%s.* before loss.backward.*"
             % re.escape(output), self.l)
        says(said, "BYTES +" + reserved + "set gradients to None instead of zeroing them: "
             r"zero_grad\(set_to_none=True\)", self.p)
        says(said, "(?:at most |about )?BYTES +" + reserved + "checkpoint .*",
             checkpoints[0]["bytes"])

    def all(self):
        return [self.loss_adds_the_log_probabilities, self.backward_adds_two_gradients,
                self.a_step_leaves_its_logits, self.the_peak_says_who_holds_them,
                self.step_1_is_higher_by_what_stays, self.levers]
