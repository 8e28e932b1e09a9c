"""The examples of docs/python.md, run one after the other, as they stand there."""
import contextlib
import io
import os
import re
import unittest

import support

import tidemark

PAGE = os.path.join(support.SOURCE, "docs", "python.md")


def examples():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start(1)), found.group(1)


class Examples(unittest.TestCase):
    def test_all(self):
        folder = os.path.join(support.WORK, "docs")
        os.rename(support.recording("train", folder), os.path.join(folder, "run.db"))
        os.chdir(folder)
        names = {"tidemark": tidemark}
        said = io.StringIO()
        count = 0
        for line, code in examples():
            with self.subTest(line=line), contextlib.redirect_stdout(said):
                exec(compile("\n" * line + code, PAGE, "exec"), names)
            count += 1
        self.assertGreaterEqual(count, 15)
        self.assertIn("there is no such moment: step 900", said.getvalue())
        self.assertTrue(os.path.exists("run.html"))

    def test_every_method_is_there(self):
        """Each public method of Run has a row in the table and an example."""
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        code = "\n".join(code for _, code in examples())
        for name in dir(tidemark.Run):
            if name.startswith("_"):
                continue
            self.assertIn("| `run.%s(" % name, text)
            if name != "show":
                self.assertRegex(code, r"\brun(\(\))?\.%s\(" % name)


if __name__ == "__main__":
    support.main()
