"""The five answers, on samples/c/seq2seq in the dimensions of the thread: a virtual device."""
import os

import recording
from answers import Answers

P, L = 279.6 * 2 ** 20, 4 * 80 * 50 * 30000

if __name__ == "__main__":
    run = recording.record("--steps", "2", program=os.environ["TIDEMARK_SEQ2SEQ"])
    answers = Answers(run, P, L, {"logits": "op_linear", "loss": "op_log_softmax"})
    recording.run_tests(*answers.all())
