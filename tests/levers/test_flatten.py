"""flatten_parameters, on the virtual device: cuDNN's arithmetic, simulated."""
import os

import recording
from peaks import Peak, about, keeps
from recording import expect, once


def rnn(*arguments):
    return once(lambda: Peak(recording.record(*arguments,
                                              program=os.environ["TIDEMARK_RNN_FLATTEN"])))


scattered, flat = rnn(), rnn("--flatten")
scattered_gru, flat_gru = rnn("--gru", "--calls", "3"), rnn("--gru", "--calls", "3", "--flatten")


def weights_that_are_packed_again():
    keeps(scattered(), "flatten_parameters", flat())
    expect("pack_weights" in scattered().lever("flatten_parameters")["text"], True)


def more_calls_and_another_kind():
    keeps(scattered_gru(), "flatten_parameters", flat_gru())


def the_packing_is_the_first_finding():
    """What lives of it at the peak: one copy as large as all weights, or one for each call."""
    for get, copies in ((scattered, 1), (scattered_gru, 3)):
        first = get().tables["findings"][0]
        weights = [row for row in get().tables["by_category"] if row["category"] == "parameter"]
        expect(first["finding"], "weights_packed_again")
        about(first["bytes"], copies * weights[0]["bytes"], "copies of the weights")
        expect(first["text"].startswith("in copies of the RNN's weights, which are not one "
                                        "piece of memory: each call packs them into one copy, "
                                        "live until its backward: pack_weights ("), True)
    for get in (flat, flat_gru):
        expect("weights_packed_again" in get().findings(), False)


def it_is_said_once():
    for get in (scattered, scattered_gru):
        found = [row["lever"] for row in get().tables["levers"]]
        expect(found.count("flatten_parameters"), 1, found)
        expect("smaller_workspace" in found, False, found)


if __name__ == "__main__":
    recording.run_tests(weights_that_are_packed_again, more_calls_and_another_kind,
                        the_packing_is_the_first_finding,
                        it_is_said_once)
