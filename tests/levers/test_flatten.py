"""flatten_parameters, on the virtual device: cuDNN's arithmetic, simulated."""
import os

import recording
from peaks import Peak, keeps
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


def it_is_said_once():
    for get in (scattered, scattered_gru):
        found = [row["lever"] for row in get().tables["levers"]]
        expect(found.count("flatten_parameters"), 1, found)
        expect("smaller_workspace" in found, False, found)


if __name__ == "__main__":
    recording.run_tests(weights_that_are_packed_again, more_calls_and_another_kind,
                        it_is_said_once)
