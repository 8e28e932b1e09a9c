"""What autocast to bfloat16 would do to a graph that has float32 alone: a letter for each node, in the order of
the forward, for nodes whose outputs have as many numbers. A report finds the blocks that these made by that
order, if there are as many.

h: in bfloat16, as all that it is made of; m, c, b: likewise, a product with a weight, a convolution, a product
or an attention of two tensors; f: in float32; s: likewise, and it saves what it is given, in float32; o: not
known, for a number and a tensor without a gradient look alike.
"""
from tidemark import _graph

NODES = 20000
SIZES, LEAST = 12, 4096  # groups that are sent, numbers that each output has at least
LETTERS = 1000  # of a group; one with more is not sent, nor one of which nothing is known

PRODUCTS = {"Mm": "m", "Addmm": "m", "Bmm": "b", "Baddbmm": "b", "Addbmm": "b", "Convolution": "c",
            "ScaledDotProductEfficientAttention": "b", "ScaledDotProductFlashAttention": "b",
            "ScaledDotProductFlashAttentionForCpu": "b", "Prelu": "h"}
HALVES = frozenset("hmcb")
RECURRENT = ("Thnn", "CudnnRnn", "MkldnnRnn", "MiopenRnn")
# A GPU's: of these the first keep what they are given.
GIVEN = frozenset(("Log", "Log2", "Log10", "Log1P", "Pow", "Softplus", "Sinh", "Cosh", "Acos", "Asin", "Prod",
                   "Cumprod", "NativeLayerNorm", "NativeGroupNorm", "LinalgVectorNorm", "Norm", "Cdist"))
FULL = GIVEN | {"Exp", "Expm1", "Reciprocal", "Rsqrt", "Tan", "Erfinv", "Softmax", "LogSoftmax", "Sum", "Cumsum",
                "NllLoss", "NllLoss2D", "MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "KlDiv"}
VIEWS = frozenset(_graph.VIEWS + ("Slice", "Split", "SplitWithSizes", "Chunk", "Unbind", "Diagonal", "AsStrided",
                                  "Unfold")) - {"Clone", "ToCopy"}


def numbers_of(node):
    count, shape = 1, _graph.shape_of(node)
    for one in shape:
        count *= one
    return count if shape else 0


def is_linear(below):
    """A sum with a vector of parameters may be a part of F.linear, which is in bfloat16 as a whole."""
    kinds = [None if one is None else _graph.kind_of(_graph.follow(one, VIEWS) or one) for one in below]
    return len(kinds) == 2 and "Mm" in kinds and _graph.PARAMETER in kinds


def of_given(nodes):
    """A tensor without dimensions does not decide: what it is made with does."""
    given = {letter for letter, sized in nodes if sized}
    if given & {"f", "s"}:
        return "f"
    return "h" if given and "o" not in given else "o"


def letter_of(node, letters, on_gpu):
    kind, below = _graph.kind_of(node), _graph.below(node)
    if getattr(type(node), "_forward_cls", None) is not None:
        return "o"  # the program's own function
    if kind in PRODUCTS or kind.startswith(RECURRENT):
        return PRODUCTS.get(kind, "h")
    if kind == _graph.PARAMETER or kind.startswith("Embedding"):
        return "f"
    if on_gpu and kind in FULL:
        return "s" if kind in GIVEN else "f"
    if kind.endswith("Norm"):  # its weights do not decide, either
        below = below[:1]
    if kind == "Add" and is_linear(below):
        return "o"
    letter = of_given([(letters.get(one, "o"), bool(_graph.shape_of(one))) for one in below if one is not None])
    return "o" if letter == "h" and None in below else letter


def letters_of(roots):
    """Values of the key `autocast`: "NUMBERS LETTERS"."""
    nodes, waiting = set(), list(roots)
    while waiting and len(nodes) < NODES:
        node = waiting.pop()
        if node is None or node in nodes:
            continue
        nodes.add(node)
        waiting.extend(_graph.below(node))
    if waiting:
        return set()
    on_gpu = any(one.device.type != "cpu" for one in roots[0]._input_metadata)
    letters, groups = {}, {}
    # What is made first is first; of parameters there is no number.
    for node in sorted(nodes, key=lambda one: -1 if _graph.kind_of(one) == _graph.PARAMETER else one._sequence_nr()):
        letter = letters[node] = letter_of(node, letters, on_gpu)
        if letter == "b" and not {letters.get(one) for one in _graph.below(node)} <= HALVES:
            return set()  # copies of what it is given are not counted
        kind, numbers = _graph.kind_of(node), numbers_of(node)
        if numbers >= LEAST and kind not in VIEWS and kind != _graph.PARAMETER:
            groups.setdefault(numbers, []).append(letter)
    largest = sorted(groups.items(), key=lambda one: -one[0] * len(one[1]))[:SIZES]
    return {"%d %s" % (numbers, "".join(made)) for numbers, made in largest
            if len(made) <= LETTERS and set(made) != {"o"}}
