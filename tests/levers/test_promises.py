"""Each lever that PyTorch on a CPU can prove: what the recording of the unchanged program promises is
what a run with the change comes to."""
import recording
from peaks import Peak, about, keeps
from recording import expect, once


def seq2seq(name):
    """Logits and parameters weigh as much, beside the rest, as in the dimensions of the thread."""
    run = recording.shared(name)
    return once(lambda: Peak(run()))


def parameters():
    return 10 * 4 * (1024 * 1024 + 1024)


def ddp(name):
    """Of the steps alone. The constructor sends a copy of the parameters, and a thread lets go of it: on
    some days only after the bucket was born, and then the peak is before the first step."""
    run = recording.shared(name)
    return once(lambda: Peak(run(), "--rank", "0", "--steps", "0.."))


as_it_is, dropped = seq2seq("seq2seq"), seq2seq("seq2seq-dropped")
none, both = seq2seq("seq2seq-none"), seq2seq("seq2seq-both")
beside, views = ddp("ddp"), ddp("ddp-views")


def logits_that_are_dropped():
    keeps(as_it_is(), "drop_held", dropped())
    expect(as_it_is().bytes - dropped().bytes, recording.SEQ2SEQ_LOGITS, "the logits")
    expect("Writer.forward" in as_it_is().lever("drop_held")["text"], True, "names the call")


def gradients_that_are_none():
    keeps(as_it_is(), "gradients_to_none", none())


def one_after_the_other():
    """Either is worth the same where the other was made."""
    keeps(none(), "drop_held", both())
    keeps(dropped(), "gradients_to_none", both())


def nothing_of_it_where_all_is_done():
    """Of these two; others are left."""
    names = [row["lever"] for row in both().tables["levers"]]
    expect([name for name in names if name in ("drop_held", "gradients_to_none")], [])


def gradients_that_are_views():
    keeps(beside(), "gradient_as_bucket_view", views())
    about(beside().bytes, 3 * parameters(), "parameters, bucket and gradients")


def the_doubling_is_the_first_finding():
    first = beside().tables["findings"][0]
    expect(first["finding"], "ddp_buckets")
    about(first["bytes"], parameters(), "the buckets")
    expect(first["text"], "in buckets of DistributedDataParallel, as much as all parameters: "
           "wrapped in it, the model takes twice its memory; the gradients are there once more "
           "beside them")
    for row in views().tables["findings"]:
        expect("once more" in row["text"], False, "gradients are in the buckets")


def seq2seq_has_no_buckets():
    expect("ddp_buckets" in as_it_is().findings(), False)
    for get in (as_it_is, dropped, none, both):
        expect(get().lever("gradient_as_bucket_view"), None)
        expect(get().lever("flatten_parameters"), None, "on a CPU nothing is packed")


if __name__ == "__main__":
    recording.main(logits_that_are_dropped, gradients_that_are_none, one_after_the_other,
                   nothing_of_it_where_all_is_done, gradients_that_are_views, the_doubling_is_the_first_finding,
                   seq2seq_has_no_buckets)
