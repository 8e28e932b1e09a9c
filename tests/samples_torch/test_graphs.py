"""What the graph of a loss says is sent: attention that is written out, logits that a layer makes, and
losses that compare the samples of a batch; and what autocast would make of its operations."""
import os

import recording
from recording import expect

PROGRAM = os.path.join(recording.PROGRAMS, "graphs.py")


runs = {}


def facts(how, key):
    if how not in runs:
        runs[how] = recording.record(PROGRAM, how)
    return [row[0] for row in runs[how].rows("SELECT value FROM setting WHERE key = ? ORDER BY value", key)]


def shapes_are_shown():
    return recording.torch_version() >= (2, 4)


def attention_is_of():
    for how, want in (("attention", "4x5x5x4"), ("attention masked dropped", "4x5x5x4 dropout mask"),
                      ("attention turned", None), ("attention own", None)):
        expect(facts(how, "attention"), [want] if want and shapes_are_shown() else [], how)


def own_functions_are_no_ones_of_pytorch():
    """One that is named like PyTorch's costs no other fact of its graph."""
    expect(facts("attention own", "graph_dtype"), ["float32"] if shapes_are_shown() else ["unknown"], "dtype")


def logits_are_of():
    for how, want in (("classes", "head 6x10"), ("frozen", "head 6x10"), ("next", "head 5x10"), ("each", "other 6x10"),
                      ("cosine", "other 6x10"), ("pixels", "other 24x4"), ("pairs", "other 6x6"),
                      ("distances", None)):
        sized = want if shapes_are_shown() or not want else want.split()[0]
        expect(facts(how, "loss_logits"), [sized] if want else [], how)


def samples_are_compared_by():
    for how, want in (("pairs", "6x6"), ("distances", "6x6"), ("broadcast", "6x6"), ("sums", "8x8 sums"),
                      ("gram", None), ("parameters", None), ("triplets", None), ("classes", None), ("cosine", None)):
        expect(facts(how, "loss_compares"), [want] if want and shapes_are_shown() else [], how)


def letters_are_of():
    for how, want in (("letters", "8192 mhff"), ("letters number", "8192 mhoff")):
        expect(facts(how, "autocast"), [want] if shapes_are_shown() else [], how)


if __name__ == "__main__":
    recording.main(attention_is_of, own_functions_are_no_ones_of_pytorch, logits_are_of, samples_are_compared_by,
                   letters_are_of)
