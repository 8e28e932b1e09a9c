"""What the graph of a loss says of a program, by the kinds of its nodes and the shapes that they get: whether
the loss compares the samples of a batch with each other, which attention is written out as a softmax between
two products, and which layer makes the logits of a cross entropy.

The loss's own part of a graph is what is reached from its root before any product. No saved tensor is
touched: to read one may run the program's hooks.
"""

LOSS_MOST = 2000  # nodes of the loss's own part
CHAIN_MOST = 16  # nodes between two that belong together
LAYER_MOST = 64  # nodes that a parameter alone may go through
PARAMETER = "AccumulateGrad"

LAYERS = ("Mm", "Addmm", "Bmm", "Baddbmm", "Addbmm", "Convolution", "Embedding", "ScaledDotProduct",
          "NativeBatchNorm", "CudnnBatchNorm", "MkldnnRnn", "CudnnRnn", "ThnnFused", "CompiledFunction")
VIEWS = ("View", "UnsafeView", "ReshapeAlias", "Alias", "Expand", "Permute", "Transpose", "T", "Squeeze",
         "Unsqueeze", "Select", "Clone", "ToCopy")
ROWS = VIEWS + ("Slice", "Index", "IndexSelect", "MaskedSelect")  # some of the rows
SCORES = VIEWS + ("Mul", "Div", "MaskedFill", "Add", "Sub", "Where")
WEIGHTS = VIEWS + ("NativeDropout", "Mul")


def kind_of(node):
    """AddmmBackward0 is Addmm. A function of the program's own has none, for it may be named like one of
    PyTorch's; what is compiled is such a function, too."""
    name = type(node).__name__
    own = getattr(type(node), "_forward_cls", None) is not None and not name.startswith("CompiledFunction")
    return "" if own else name.partition("Backward")[0]


def shape_of(node):
    gets = getattr(node, "_input_metadata", None)
    try:
        return tuple(gets[0].shape) if gets else ()
    except RuntimeError:  # a nested tensor has none
        return ()


def below(node):
    return [one for one, number in node.next_functions]


def is_computed(node, known):
    """A layer made it, of what the program was given or of other layers: it is no parameter, normalized or
    not. Answers of one walk are kept in `known`."""
    if node not in known:
        known[node] = has_layer(node)
    return known[node]


def has_layer(node):
    """What no gradient goes to is what the program was given: a product without it is of parameters alone,
    or of other layers."""
    waiting, seen, product = [node], set(), False
    while waiting and len(seen) < LAYER_MOST:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        kind, given = kind_of(node), operands_of(node)
        if kind in LAYERS and (not given or None in given):
            return True
        if product and kind == "Add" and None in below(node):
            return True
        product = product or bool(given)
        seen.add(node)
        waiting.extend(below(node))
    return bool(waiting)


def operands_of(product):
    kind, nodes = kind_of(product), below(product)
    return {"Mm": nodes, "Bmm": nodes, "Addmm": nodes[1:], "Baddbmm": nodes[1:]}.get(kind, [])


def follow(node, kinds, beside=None, passed=None):
    """The first node behind those of these kinds, each with one gradient alone that goes on from it, not
    counting what is of the kind `beside`. Their kinds are added to `passed`."""
    for _ in range(CHAIN_MOST):
        if node is None or kind_of(node) not in kinds:
            return node
        if passed is not None:
            passed.add(kind_of(node))
        nodes = [one for one in below(node) if one is not None]
        nodes = [one for one in nodes if len(nodes) == 1 or kind_of(one) != beside]
        node = nodes[0] if len(nodes) == 1 else None
    return None


# ---- attention ----

def attention_of(product):
    """"heads x queries x keys x width" of a softmax of one product, which goes into this one."""
    if kind_of(product) != "Bmm":
        return None
    behind, before = set(), set()
    softmax = follow(below(product)[0], WEIGHTS, passed=behind)
    if softmax is None or kind_of(softmax) not in ("Softmax", "SafeSoftmax"):
        return None
    shape = shape_of(softmax)
    scores = follow(below(softmax)[0], SCORES, passed=before)
    if scores is None or kind_of(scores) not in ("Bmm", "Baddbmm"):
        return None
    sizes, given = shape_of(scores), operands_of(scores)
    if len(given) < 2 or None in given or len(sizes) != 3 or sizes[1:] != shape[-2:]:
        return None
    if getattr(softmax, "_saved_dim", None) not in (len(shape) - 1, 2**64 - 1):  # -1, as it is stored
        return None
    dropped = behind & {"NativeDropout", "Mul"}
    masked = before & {"MaskedFill", "Add", "Sub", "Where"} or kind_of(scores) == "Baddbmm"
    scaled = [follow(one, VIEWS) for one in given]  # as PyTorch's own does, where it has no fused one
    scaled = all(one is not None and kind_of(one) == "Mul" for one in scaled)
    return "%dx%dx%dx%d%s%s%s" % (sizes + (shape_of(given[0])[-1],) + (
        " dropout" if dropped else "", " mask" if masked else "", " scaled" if scaled else ""))


# ---- the loss ----

def compared_by(node, known):
    """"n x n": each row of what one layer made with each row of what a layer made; or "n x n sums", over all
    rows, where the first of them is turned."""
    shape, kind = shape_of(node), kind_of(node)
    pairs = kind in ("Cdist", "EuclideanDist")
    if not pairs and kind not in ("Mm", "Addmm"):  # Bmm is of each sample alone, as a Gram matrix
        return None
    given = below(node) if pairs else operands_of(node)
    square = len(shape) == 2 and shape[0] == shape[1] > 1 and len(given) == 2
    if not square or not all(one is not None and is_computed(one, known) for one in given):
        return None
    turned = kind in ("Mm", "Addmm") and kind_of(given[0]) in ("T", "Permute", "Transpose")
    return "%dx%d%s" % (shape + (" sums" if turned else "",))


def side_of(node, other):
    """Of a tensor that gets as many rows as columns, what `other` has of these: 0 rows, 1 columns."""
    shape, given = shape_of(node), shape_of(other)
    if len(shape) < 2 or len(shape) != len(given) or shape[0] != shape[1] or shape[0] < 2:
        return None
    return {(shape[0], 1): 0, (1, shape[0]): 1}.get(given[:2])


def is_head(loss):
    """A cross entropy, its mean or its sum, of logits that a layer makes; what is below that may be frozen."""
    if kind_of(loss) != "NllLoss" or getattr(loss, "_saved_reduction", None) not in (1, 2):
        return False
    layer = follow(below(below(loss)[0])[0], ROWS + ("Mul", "Div", "Tanh", "Add"), PARAMETER)
    given = operands_of(layer) if layer is not None and kind_of(layer) in ("Mm", "Addmm") else []
    if len(given) != 2 or given == [None, None]:
        return False
    weight = follow(given[1], VIEWS)
    return given[1] is None or (weight is not None and kind_of(weight) == PARAMETER)


def logits_of(softmax, losses):
    """"head rows x classes", or "other", of what the losses take; without sizes where no node shows them."""
    shape, rows = shape_of(softmax), 1
    for one in shape[:-1]:
        rows *= one
    kind = "head" if any(is_head(loss) for loss in losses) else "other"
    return "%s %dx%d" % (kind, rows, shape[-1]) if shape else kind


def both_sides(node, sides, known):
    """Whether one that gets as many rows as columns takes one tensor as rows and another as columns, or one
    before it did."""
    for other in below(node):
        side = side_of(node, other) if other is not None else None
        if side is not None and is_computed(other, known):
            sides.setdefault(shape_of(node)[0], set()).add(side)
    shape = shape_of(node)
    return len(shape) > 1 and shape[0] == shape[1] and len(sides.get(shape[0], ())) == 2


def of_loss(roots):
    """Pairs of a key and a value."""
    found, seen, losses, sides, known = set(), set(), {}, {}, {}
    waiting = [(root, None) for root in roots]
    while waiting and len(seen) < LOSS_MOST:
        node, parent = waiting.pop()
        if kind_of(node) == "LogSoftmax":
            losses.setdefault(node, set()).add(parent)
        if node is None or node in seen:
            continue
        seen.add(node)
        compared = compared_by(node, known)
        if not compared and both_sides(node, sides, known):
            compared = "%dx%d" % shape_of(node)[:2]
        if compared:
            found.add(("loss_compares", compared))
        if kind_of(node) not in LAYERS:
            waiting.extend((one, node) for one in below(node))
    found.update(("loss_logits", logits_of(*one)) for one in losses.items() if len(shape_of(one[0])) != 1)
    return found
