"""What a recorded test is held against, without pytest: limits, leaks, a baseline."""
import json
import os
import unittest

import support

import tidemark
from tidemark import _gate

PHASE = "self_attn.scaled_dot_product_attention"


def judged(recording, phase, **limits):
    run = tidemark.open(support.recording(recording), frames="dicts")
    return run, _gate.judge(run, _gate.Limits(**limits), phase)


class Limits(unittest.TestCase):
    def test_the_peak_of_the_phase(self):
        """The figure is the command's, and a limit that is met exactly is met."""
        run, verdict = judged("torch", PHASE)
        rows = [row for row in support.tables("phases", run.path)["phases"] if row["phase"] == PHASE]
        peak = max(row["phase_peak"] for row in rows)
        self.assertEqual(verdict.figures, {"cuda:0": peak})
        self.assertEqual(judged("torch", PHASE, max_allocated=str(peak))[1].problems, [])
        problems = judged("torch", PHASE, max_allocated=str(peak - 1))[1].problems
        self.assertEqual(len(problems), 1)
        self.assertIn("cuda:0: 950 MiB (%d bytes) allocated" % peak, problems[0])

    def test_the_story_names_holder_and_change(self):
        run, verdict = judged("torch", PHASE, max_allocated="1MiB")
        text = _gate.story(run, verdict, run.path)
        self.assertIn("changes that lower the peak", text)
        self.assertIn("by module or call site", text)
        self.assertIn("recording: " + run.path, text)

    def test_what_is_not_known_fails(self):
        for phase, device in (("no such phase", None), (PHASE, "cuda:7")):
            self.assertEqual(len(judged("torch", phase, device=device)[1].problems), 1)
            passed = judged("torch", phase, device=device, allow_unknown=True)[1]
            self.assertEqual(passed.problems, [])

    def test_leaks(self):
        run = tidemark.open(support.recording("leaks"), frames="dicts")
        verdict = _gate.Verdict()
        _gate.judge_leaks(run, _gate.Limits(no_leaks=True), verdict)
        sure = [row for row in run.leaks() if row["sure"] in ("sure", "likely")]
        self.assertGreater(len(sure), 0)
        self.assertEqual(len(verdict.problems), len(sure))
        for row, problem in zip(sure, verdict.problems):
            self.assertIn(row["site_short"] or "a call site that is not known", problem)
            self.assertIn("(%d bytes)" % row["bytes_per_step"], problem)

    def test_leaks_need_steps(self):
        run = tidemark.open(support.recording("train"), frames="dicts")
        for unknown, count in ((False, 1), (True, 0)):
            verdict = _gate.Verdict()
            limits = _gate.Limits(no_leaks=True, allow_unknown=unknown)
            _gate.judge_leaks(run, limits, verdict)
            self.assertEqual(len(verdict.problems), count)

    def test_misused(self):
        for wrong in ({"max_alocated": "1G"}, {"max_allocated": 1.5}, {"max_reserved": True}):
            with self.assertRaises(_gate.Misused):
                _gate.Limits(**wrong)


class Baseline(unittest.TestCase):
    def test_tolerance(self):
        self.assertEqual(_gate.tolerance_of("2%"), 0.02)
        self.assertEqual(_gate.tolerance_of("0.5"), 0.5)
        for wrong in ("", "much", "-1%", "nan"):
            with self.assertRaises(_gate.Misused):
                _gate.tolerance_of(wrong)

    def test_compare(self):
        self.assertEqual(_gate.judge_baseline({"cpu": 102}, {"cpu": 100}, 0.02), [])
        self.assertEqual(len(_gate.judge_baseline({"cpu": 103}, {"cpu": 100}, 0.02)), 1)
        self.assertEqual(_gate.judge_baseline({"cpu": 50}, {"cpu": 100}, 0.02), [])
        self.assertEqual(len(_gate.judge_baseline({}, {"cpu": 100}, 0.02)), 1)
        self.assertEqual(len(_gate.judge_baseline({"cpu": 1}, {"cpu": 0}, 0.02)), 1)

    def test_file(self):
        path = os.path.join(support.WORK, "baseline.json")
        if os.path.exists(path):
            os.unlink(path)
        _gate.write_baseline(path, {"a": {"cpu": 1}, "b": {"cpu": 2}})
        _gate.write_baseline(path, {"b": {"cpu": 3}})
        self.assertEqual(_gate.read_baseline(path), {"a": {"cpu": 1}, "b": {"cpu": 3}})
        for wrong in ("[]", "{}", "not json", json.dumps({"tests": [1]})):
            with open(path, "w", encoding="utf-8") as file:
                file.write(wrong)
            with self.assertRaises(_gate.Misused):
                _gate.read_baseline(path)


if __name__ == "__main__":
    support.main()
