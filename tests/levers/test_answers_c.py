"""The five answers, on samples/c/seq2seq in the dimensions of the thread: a virtual device."""
import os

import recording
from answers import Answers, says
from peaks import about
from recording import expect

P, L = 279.6 * 2 ** 20, 4 * 80 * 50 * 30000

if __name__ == "__main__":
    run = recording.record("--steps", "2", program=os.environ["TIDEMARK_SEQ2SEQ"])
    answers = Answers(run, P, L, {"logits": "op_linear", "loss": "op_log_softmax"})

    def what_they_do_to_reserved():
        """Segments are known, and PyTorch's policy comes within a hundredth of them."""
        about(answers.peak.lever("drop_held")["reserved_bytes"], L, "the logits")
        for row in answers.peak.tables["levers"]:
            expect(row["reserved_bytes"] is None, bool(row["estimated"]), row["text"])
        said = answers.text("peak", "--all")
        says(said, "savings of reserved by replay with PyTorch's policy, not this program's: "
             "replay reserves BYTES where it had BYTES", 4468 * 2 ** 20, 4468 * 2 ** 20)
        expect("savings of reserved with the change" in said, False, "all steps are changed")

    def reserved_rose_with_them():
        says(answers.text("peak", "--all"), r"BYTES +more than step 0: .*; reserved went up "
             "by BYTES", 3 * P, 2 * L)

    recording.run_tests(*(answers.all() + [what_they_do_to_reserved, reserved_rose_with_them]))
