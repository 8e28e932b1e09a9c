"""The five answers, on samples/torch/seq2seq.py."""
import recording
from answers import Answers

B, T, V, I, H, A = (recording.SEQ2SEQ[word] for word in
                    ("batch", "length", "vocab", "input", "hidden", "attention"))
L = 4 * B * T * V
GRU, AFTER = 3 * H * (I + H) + 6 * H, 3 * H * (2 * H + H) + 6 * H
READER = V * I + 2 * GRU + (2 * H * A + A) + (H * H + H)
WRITER = V * I + GRU + (H * A + A) + (A + 1) + AFTER + ((I + 3 * H) * I + I) + (I * V + V)
P = 4 * (READER + WRITER)

if __name__ == "__main__":
    if recording.torch_version() is None:
        recording.sys.exit(77)
    answers = Answers(recording.shared("seq2seq")(), P, L, {
        "logits": "Linear.forward", "output": "to_vocab (Linear)", "loss": "cross_entropy"}, first_gradients=1)
    recording.main(*answers.all())
