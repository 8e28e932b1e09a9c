"""The callbacks, called in the order in which the trainers call them. The trainers themselves are
not here: their base classes are replaced, and what a recorder would get is written down."""
import sys
import types
import unittest

import support  # noqa: F401: the package's folder

import tidemark


class Diary:
    def __init__(self):
        self.lines = []

    def phase(self, name):
        diary = self

        class Phase:
            def __enter__(self):
                diary.lines.append("> " + name)

            def __exit__(self, *why):
                diary.lines.append("< " + name)

        return Phase()

    def step(self, number):
        self.lines.append("step %d" % number)


def made(name, **modules):
    """The class, with these libraries in the place of those that are installed."""
    from tidemark import callbacks

    before = {key: sys.modules.get(key) for key in modules}
    sys.modules.update(modules)
    try:
        vars(callbacks).pop(name, None)
        return getattr(callbacks, name)
    finally:
        vars(callbacks).pop(name, None)
        for key, module in before.items():
            sys.modules.pop(key)
            if module is not None:
                sys.modules[key] = module


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.diary = Diary()
        self.before = tidemark.phase, tidemark.step
        tidemark.phase, tidemark.step = self.diary.phase, self.diary.step

    def tearDown(self):
        tidemark.phase, tidemark.step = self.before

    def hugging_face(self):
        library = types.ModuleType("transformers")
        library.TrainerCallback = type("TrainerCallback", (), {})
        return made("HFCallback", transformers=library)()

    def test_hugging_face(self):
        callback = self.hugging_face()
        state, control = types.SimpleNamespace(epoch=0, global_step=0), types.SimpleNamespace()
        call = lambda name: getattr(callback, name)(None, state, control)  # noqa: E731
        control.should_evaluate = False
        call("on_epoch_begin")
        for number in (0, 1):
            state.global_step = number
            call("on_step_begin")
            control.should_evaluate = number == 1
            call("on_step_end")
        call("on_prediction_step")
        call("on_evaluate")
        control.should_evaluate = False
        call("on_epoch_end")
        call("on_train_end")
        call("on_prediction_step")
        call("on_evaluate")
        self.assertEqual(
            self.diary.lines,
            ["> epoch 0", "step 0", "step 1", "> evaluation", "< evaluation", "< epoch 0"]
            + ["> evaluation", "< evaluation"],
        )

    def test_an_epoch_that_is_cut_short(self):
        callback = self.hugging_face()
        state = types.SimpleNamespace(epoch=1.5, global_step=3)
        control = types.SimpleNamespace(should_evaluate=True)
        callback.on_epoch_begin(None, state, control)
        callback.on_step_end(None, state, control)
        callback.on_train_end(None, state, control)
        self.assertEqual(self.diary.lines, ["> epoch 1", "> evaluation", "< evaluation", "< epoch 1"])

    def test_lightning(self):
        library = types.ModuleType("lightning.pytorch")
        library.Callback = type("Callback", (), {})
        above = types.ModuleType("lightning")
        callback = made("LightningCallback", **{"lightning": above, "lightning.pytorch": library})()
        loop = types.SimpleNamespace(total_batch_idx=0)
        trainer = types.SimpleNamespace(current_epoch=2, fit_loop=loop)
        callback.on_train_epoch_start(trainer, None)
        callback.on_train_batch_start(trainer, None, None, 0)
        loop.total_batch_idx = 1
        callback.on_train_batch_start(trainer, None, None, 1)
        callback.on_validation_start(trainer, None)
        callback.on_exception(trainer, None, KeyboardInterrupt())
        self.assertEqual(
            self.diary.lines,
            ["> epoch 2", "step 0", "step 1", "> evaluation", "< evaluation", "< epoch 2"],
        )

    def test_unknown(self):
        from tidemark import callbacks

        with self.assertRaises(AttributeError):
            callbacks.Nothing


if __name__ == "__main__":
    support.main()
