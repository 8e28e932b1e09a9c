"""Ranks that no environment names: whatever name init_process_group is called by."""
import sys
import types
import unittest
from unittest import mock

import support

from tidemark import _ranks


class Library(object):
    def __init__(self):
        self.settings, self.again = [], []

    def setting(self, text):
        self.settings.append(text)


def distributed():
    """As much of the package as PyTorch has when it is imported: three modules with the one function."""

    def init_process_group():
        return "made"

    names = ("torch.distributed", "torch.distributed.distributed_c10d", "torch.distributed.device_mesh",
             "torch.nn")
    modules = {name: types.ModuleType(name) for name in names}
    for module in modules.values():
        module.init_process_group = init_process_group
    package = modules["torch.distributed"]
    package.is_available, package.is_initialized = lambda: True, lambda: False
    package.get_rank, package.get_world_size = lambda: 3, lambda: 4
    return package, modules


class Ranks(unittest.TestCase):
    def test_each_name_says_the_rank(self):
        for name in ("torch.distributed", "torch.distributed.distributed_c10d",
                     "torch.distributed.device_mesh"):
            package, modules = distributed()
            library = Library()
            with mock.patch.dict(sys.modules, modules):
                _ranks.install(types.SimpleNamespace(distributed=package), library)
                self.assertEqual(modules[name].init_process_group(), "made")
            self.assertEqual(library.settings, [b"rank=3", b"world_size=4"], name)

    def test_a_name_of_somebody_else_is_left(self):
        package, modules = distributed()
        own = modules["torch.nn"].init_process_group
        with mock.patch.dict(sys.modules, modules):
            _ranks.install(types.SimpleNamespace(distributed=package), Library())
        self.assertIs(modules["torch.nn"].init_process_group, own)


if __name__ == "__main__":
    support.main()
