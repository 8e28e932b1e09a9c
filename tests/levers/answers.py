"""The five questions that the thread of seq2seq asked, and where `tidemark peak` and `tidemark why`
answer them. P are the bytes of the parameters, L those of the logits."""
import recording
from peaks import Peak, about
from recording import expect


def change(tables, category, word=""):
    return sum(row["change"] for row in tables["groups"]
               if row["category"] == category and word in (row["site"] or ""))


class Answers(object):
    """of a run; `words` are what its call sites have in their names: logits, loss."""

    def __init__(self, run, parameters, logits, words):
        self.run, self.p, self.l, self.words = run, parameters, logits, words
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

    # 1. What does loss add? One tensor as large as the logits: the log-probabilities.
    def loss_adds_the_log_probabilities(self):
        tables = self.why("1/forward..1/loss")
        about(sum(row["change"] for row in tables["by_category"]), self.l, "loss adds")
        about(tables["groups"][0]["change"], self.l, "of which one block")
        expect(self.words["loss"] in tables["groups"][0]["site"], True, tables["groups"][0]["site"])

    # 2. Why does backward need so much? Two gradients, as large as the logits: not the optimizer.
    def backward_adds_two_gradients(self):
        expect(self.peak.where["phase"], "backward")
        expect(self.peak.where["added_blocks"], 2)
        about(self.peak.where["added_bytes"], 2 * self.l, "backward's peak")
        added = self.peak.tables["added_by_backward"]
        expect([row["blocks"] for row in added], [2])
        about(added[0]["bytes"], 2 * self.l, "added by backward")
        for word in self.words.values():
            expect(word in added[0]["like"], True, added[0]["like"])
        about(change(self.why("1/loss..1"), "workspace", self.words.get("backward", "")),
              2 * self.l, "why")

    # 3. What is left after a step? Parameters, gradients, two states, and the logits still held.
    def a_step_leaves_its_logits(self):
        tables = self.why("0/zero_grad..1/zero_grad")
        about(change(tables, "gradient"), self.p, "gradients")
        about(change(tables, "optimizer state"), 2 * self.p, "optimizer states")
        about(change(tables, "activation, held by the program"), self.l, "held")
        left = {row["category"]: row["after"] for row in tables["by_category"]}
        about(left["parameter"], self.p, "parameters")
        about(sum(left.values()), 4 * self.p + self.l, "in all")

    # 4. Why is step 1 higher? Gradients and Adam's two states are there now.
    def step_1_is_higher_by_what_stays(self):
        expect(self.peak.where["step"], 1)
        higher = self.why("0..1")
        about(change(higher, "gradient"), self.p, "gradients")
        about(change(higher, "optimizer state"), 2 * self.p, "optimizer states")
        about(sum(row["change"] for row in higher["groups"]), 3 * self.p, "in all")
        said = self.text("peak")
        for words in ("Higher than the peak of step 0 by", "optimizer state",
                      "fragmentation is no part of it"):
            expect(words in said, True, words)

    # 5. What would help?
    def levers(self):
        held, none = self.peak.lever("drop_held"), self.peak.lever("gradients_to_none")
        about(held["bytes"], self.l, "the logits")
        expect(self.words["logits"] in held["text"], True, held["text"])
        about(none["bytes"], self.p, "gradients to None")
        expect((held["at_most"], none["at_most"]), (0, 0))
        checkpoints = [row for row in self.peak.tables["levers"] if row["lever"] == "checkpoint"]
        expect({row["at_most"] for row in checkpoints}, {1}, "checkpoints are 'at most'")
        said = self.text("peak")
        for words in ("What would lower it", "drop before backward what the program still holds",
                      "set gradients to None", "at most"):
            expect(words in said, True, words)

    def all(self):
        return [self.loss_adds_the_log_probabilities, self.backward_adds_two_gradients,
                self.a_step_leaves_its_logits, self.step_1_is_higher_by_what_stays, self.levers]
