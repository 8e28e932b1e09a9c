"""Steps, epochs and evaluation of Hugging Face's Trainer and of Lightning, by their own numbers:

    Trainer(..., callbacks=[tidemark.callbacks.HFCallback()])
    lightning.Trainer(..., callbacks=[tidemark.callbacks.LightningCallback()])

Where nobody records they do nothing. The classes are made when they are first used, for they
are classes of those libraries.
"""
from __future__ import annotations

import importlib
from typing import Any, Dict, List, Tuple

import tidemark


class Open:
    """The phases that are open, the innermost last; one that was never ended is ended with the one
    around it."""

    def __init__(self) -> None:
        self.phases: List[Tuple[str, tidemark.phase]] = []

    def begin(self, name: str) -> None:
        entered = tidemark.phase(name)
        entered.__enter__()
        self.phases.append((name, entered))

    def end(self, kind: str) -> None:
        """The innermost of these, with all inside it: "epoch" is any epoch."""
        if not any(name.split(" ")[0] == kind for name, _ in self.phases):
            return
        ended = ""
        while ended != kind:
            name, entered = self.phases.pop()
            entered.__exit__(None, None, None)
            ended = name.split(" ")[0]

    def has(self, kind: str) -> bool:
        return any(name.split(" ")[0] == kind for name, _ in self.phases)


def hugging_face() -> Any:
    base: Any = importlib.import_module("transformers").TrainerCallback

    class HFCallback(base):  # type: ignore[misc]
        """For transformers.Trainer: steps by its global_step, phases "epoch N" and "evaluation"."""

        def __init__(self) -> None:
            self.open = Open()

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.open.begin("epoch %d" % int(state.epoch or 0))

        def on_epoch_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.open.end("epoch")
            self.expect(control)

        def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.open.end("evaluation")
            tidemark.step(state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.expect(control)

        def expect(self, control: Any) -> None:
            """Evaluation follows at once, and its first batch comes before any call of it."""
            if control.should_evaluate and not self.open.has("evaluation"):
                self.open.begin("evaluation")

        def on_prediction_step(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if not self.open.has("evaluation"):
                self.open.begin("evaluation")

        def on_evaluate(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.open.end("evaluation")

        def on_predict(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.open.end("evaluation")

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self.open.end("evaluation")
            self.open.end("epoch")

    return HFCallback


def lightning_base() -> Any:
    try:
        return importlib.import_module("lightning.pytorch").Callback
    except ImportError:
        return importlib.import_module("pytorch_lightning").Callback


def lightning() -> Any:
    base: Any = lightning_base()

    class LightningCallback(base):  # type: ignore[misc]
        """For Lightning's Trainer: steps by its batches, phases "epoch N" and "evaluation"."""

        def __init__(self) -> None:
            self.open = Open()

        def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
            self.open.begin("epoch %d" % trainer.current_epoch)

        def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
            self.open.end("epoch")

        def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
            tidemark.step(trainer.fit_loop.total_batch_idx)

        def on_validation_start(self, trainer: Any, module: Any) -> None:
            self.open.begin("evaluation")

        def on_validation_end(self, trainer: Any, module: Any) -> None:
            self.open.end("evaluation")

        def on_test_start(self, trainer: Any, module: Any) -> None:
            self.open.begin("evaluation")

        def on_test_end(self, trainer: Any, module: Any) -> None:
            self.open.end("evaluation")

        def on_fit_end(self, trainer: Any, module: Any) -> None:
            self.open.end("evaluation")
            self.open.end("epoch")

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            self.open.end("evaluation")
            self.open.end("epoch")

    return LightningCallback


_MADE: Dict[str, Any] = {"HFCallback": hugging_face, "LightningCallback": lightning}


def __getattr__(name: str) -> Any:
    if name not in _MADE:
        raise AttributeError("module 'tidemark.callbacks' has no attribute %r" % (name,))
    made = _MADE[name]()
    globals()[name] = made
    return made
