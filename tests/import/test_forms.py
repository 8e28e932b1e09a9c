"""test_forms.py TIDEMARK: the forms that snapshots have had, annotations, and what does not fit."""
import json
import pickle
import subprocess
import sys
import unittest

import test_round_trip
from test_round_trip import LIVING, Case

T0 = 1_700_000_000_000_000


def block(address, size, state="active_allocated", requested=None, frames=()):
    return {"address": address, "size": size, "requested_size": requested or size, "state": state,
            "frames": list(frames)}


def segment(address, size, blocks, **more):
    d = {"device": 0, "address": address, "total_size": size, "stream": 0, "segment_type": "small",
         "blocks": blocks}
    d.update(more)
    return d


def event(action, addr, size, at, **more):
    d = {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": T0 + at}
    d.update(more)
    return d


def note(name, start, end, device=0):
    out = []
    if start is not None:
        out.append({"name": name, "stage": "START", "device": device, "time_us": T0 + start})
    if end is not None:
        out.append({"name": name, "stage": "END", "device": device, "time_us": T0 + end})
    return out


SMALL = 2 << 20


class Forms(Case):
    def rows(self, db, sql):
        return db.execute(sql).fetchall()

    def test_a_bare_list_of_segments(self):
        db = self.load([segment(1 << 30, SMALL, [block(1 << 30, 1024),
                                                 block((1 << 30) + 1024, SMALL - 1024, "inactive")])])
        self.assertEqual(self.rows(db, LIVING), [(0, 1 << 30, 1024, 1024, 0)])
        self.assertIn("no history", self.said)

    def test_a_range_that_another_stream_reserved_again(self):
        """One range of addresses, three segments: of stream 0, of stream 7, and of stream 0 again."""
        base, page, trace, at = 1 << 40, 20 << 20, [], 0

        def put(action, addr, size, stream):
            nonlocal at
            at += 10
            trace.append(event(action, addr, size, at, stream=stream))

        for stream, sizes in ((0, (3 << 20, 4 << 20)), (7, (5 << 20,)), (0, (6 << 20, 2 << 20))):
            put("segment_map", base, page, stream)
            where = [(base + sum(sizes[:i]), size) for i, size in enumerate(sizes)]
            for addr, size in where:
                put("alloc", addr, size, stream)
            if len(trace) > 15:
                break
            for addr, size in where:
                put("free_requested", addr, size, stream)
                put("free_completed", addr, size, stream)
            put("segment_unmap", base, page, stream)
        blocks = [block(addr, size) for addr, size in where]
        blocks.append(block(base + (8 << 20), 12 << 20, "inactive"))
        final = segment(base, page, blocks, segment_type="large", is_expandable=True)
        db = self.load({"segments": [final], "device_traces": [trace],
                        "allocator_settings": {
                            "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
                            "expandable_segments": True}})
        self.assertEqual(self.said.count("warning"), 0, self.said)
        self.assertEqual(
            self.rows(db, "SELECT h.stream, a.size >> 20 FROM allocation a"
                          " JOIN heap h ON h.id = a.heap ORDER BY a.seq"),
            [(0, 3), (0, 4), (7, 5), (0, 6), (0, 2)])
        self.assertEqual(
            self.rows(db, "SELECT h.stream, m.mapped FROM mapping m"
                          " JOIN heap h ON h.id = m.heap ORDER BY m.seq, m.rowid"),
            [(0, 1), (0, 0), (7, 1), (7, 0), (0, 1)])
        path = db.execute("PRAGMA database_list").fetchone()[2]
        fit = json.loads(subprocess.run(
            [test_round_trip.TIDEMARK, "fit", path, "--format", "json"], check=True,
            capture_output=True).stdout)["tables"]["fit"][0]
        self.assertEqual((fit["address_match"], fit["segment_match"]), (1, 1))
        for stream, size in ((0, 4), (7, 5), (0, 2)):
            at, = db.execute("SELECT max(a.alloc_ns) FROM allocation a JOIN heap h ON h.id = a.heap"
                             " WHERE h.stream = ? AND a.size >> 20 = ?", (stream, size)).fetchone()
            frag = json.loads(subprocess.run(
                [test_round_trip.TIDEMARK, "frag", path, "@%.6fs" % (at / 1e9), "--format", "json"],
                check=True, capture_output=True).stdout)["tables"]["segments"]
            heaps = dict(db.execute("SELECT id, stream FROM heap"))
            self.assertEqual([(heaps[s["heap"]], s["mapped"]) for s in frag], [(stream, 1)])

    def test_blocks_with_history_and_without_addresses(self):
        frames = [{"name": "f", "filename": "a.py", "line": 3}]
        db = self.load({"segments": [segment(1 << 30, SMALL, [
            {"size": 512, "state": "active_allocated",
             "history": [{"real_size": 100, "frames": frames, "addr": 5},
                         {"real_size": 90, "frames": []}]},
            {"size": 1024, "state": "active_awaiting_free", "history": []},
            {"size": SMALL - 1536, "state": "inactive"}])], "device_traces": []})
        self.assertEqual(self.rows(db, LIVING), [(0, 1 << 30, 512, 100, 0)])
        self.assertEqual(self.rows(db, "SELECT frame FROM stack"), [("f (a.py:3)",)])
        self.assertEqual(self.rows(db, "SELECT address FROM allocation WHERE free_seq > 0"),
                         [((1 << 30) + 512,)])

    def test_keys_that_are_missing_or_unknown(self):
        db = self.load({"segments": [{"address": 1 << 30, "total_size": SMALL, "future": [1, {2: 3}],
                                      "blocks": [{"size": 512, "state": "active_allocated"},
                                                 {"size": SMALL - 512, "state": "inactive"}]}],
                        "device_traces": [[{"action": "alloc", "addr": 1 << 30, "size": 17},
                                           {"action": "new_thing", "addr": 3, "x": (1, 2, 3)}]],
                        "future": {"a": [None, 1.5, b"bytes", {1}, frozenset([2])]}})
        self.assertEqual(self.rows(db, LIVING), [(0, 1 << 30, 512, 17, 0)])
        self.assertEqual(self.rows(db, "SELECT count(*) FROM anomaly"), [(0,)])
        self.assertIn("1 event of a kind not known", self.said)

    def test_values_of_another_kind(self):
        db = self.load({"segments": [segment(1 << 30, SMALL, [block(1 << 30, "big"),
                                                              block(1 << 30, 512)])],
                        "device_traces": [[event("alloc", -5, 2 ** 70, 0)]]})
        self.assertIn("values were not of the kind expected", self.said)
        self.assertEqual(len(self.rows(db, LIVING)), 1)

    def test_integers_of_every_width(self):
        top = 1 << 40
        for wide in (2 ** 63, 2 ** 64 - 1, -2 ** 63, -2 ** 80, 2 ** 2100, -1):
            with self.subTest(wide=wide):
                db = self.load({"segments": [segment(top, SMALL, [
                    block(top, 512), block(top + 512, SMALL - 512, "inactive")])],
                    "device_traces": [[]], "allocator_settings": {"max_split_size": wide}})
                self.assertEqual(self.rows(db, LIVING), [(0, top, 512, 512, 0)])

    def test_frames_without_a_line(self):
        frames = [{"name": "compiled", "filename": "c.py", "line": 2 ** 64 - 1}]
        db = self.load({"segments": [], "device_traces": [[
            {**event("alloc", 1 << 30, 512, 0), "frames": frames}]]})
        self.assertEqual(self.rows(db, "SELECT line FROM frame"), [(None,)])
        self.assertNotIn("not of the kind", self.said)

    def test_failed_requests(self):
        db = self.load({"segments": [], "device_traces": [[
            {"action": "oom", "device_free": 1, "size": 3 << 30, "stream": 0, "time_us": T0},
            event("snapshot", 0, 77, 5)]]})
        self.assertEqual(self.rows(db, "SELECT asked, at_ns FROM oom"), [(3 << 30, 0)])
        self.assertEqual(self.rows(db, "SELECT name, value, at_ns FROM mark"),
                         [("snapshot", 77, 5000)])
        self.assertIn("1 request failed", self.said)

    def test_settings(self):
        for given, want in (
                ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}, "max_split_size_mb:64"),
                ({"PYTORCH_CUDA_ALLOC_CONF": "backend:native", "expandable_segments": True},
                 "backend:native,expandable_segments:True"),
                ({"garbage_collection_threshold": 0.75}, "garbage_collection_threshold:0.75"),
                ({"roundup_power2_divisions": {"1": 0, "2": 4, "32768": 8}},
                 "roundup_power2_divisions:[1:0,2:4," +
                 ",".join(f"{1 << i}:0" for i in range(2, 15)) + ",32768:8]"),
                ({"max_split_size": -1}, "")):
            with self.subTest(given=given):
                db = self.load({"segments": [], "device_traces": [], "allocator_settings": given})
                self.assertEqual(self.rows(db, "SELECT value FROM setting WHERE key = "
                                               "'alloc_conf'"), [(want,)])

    # ---- annotations ----

    def phases(self, notes, trace=None):
        trace = trace or [event("segment_alloc", 1 << 30, SMALL, 0),
                          event("snapshot", 0, 0, 1000)]
        self.db = self.load({"segments": [], "device_traces": [trace],
                             "external_annotations": notes})
        return self.rows(self.db, "SELECT name, kind, step, begin_ns / 1000, end_ns / 1000, ended "
                                  "FROM phase WHERE kind <> 'other' ORDER BY begin_seq, id")

    def test_phases_nest(self):
        outer, inner = note("outer", 10, 100), note("inner", 20, 30)
        got = self.phases([outer[0], *inner, outer[1]])
        self.assertEqual(got, [("outer", "user", None, 10, 100, "end"),
                               ("inner", "user", None, 20, 30, "end")])

    def test_steps_and_optimizers(self):
        got = self.phases([
            *note("ProfilerStep#7", 5, None), *note("Optimizer.zero_grad#SGD.zero_grad", 10, 20),
            *note("Optimizer.step#SGD.step", 30, 40), *note("ProfilerStep#7", None, 50),
            *note("ProfilerStep#8", 60, None), *note("Optimizer.step#SGD.step", 70, 80),
            *note("ProfilerStep#8", None, 90)])
        self.assertEqual([(p[0], p[1], p[2], p[3], p[4]) for p in got],
                         [("zero_grad", "zero_grad", 7, 10, 20), ("optimizer", "optimizer", 7, 30, 40),
                          ("optimizer", "optimizer", 8, 70, 80)])

    def test_optimizers_alone_make_steps(self):
        notes = []
        for i in range(3):
            notes += note("Optimizer.step#Adam.step", 100 * i + 10, 100 * i + 20)
        self.assertEqual([p[2] for p in self.phases(notes)], [0, 1, 2])

    def test_threads_that_cross_are_put_side_by_side(self):
        a, b = note("a", 10, 100), note("b", 50, 150)
        got = self.phases([a[0], b[0], a[1], b[1]])
        self.assertEqual([(p[0], p[3], p[4], p[5]) for p in got],
                         [("a", 10, 100, "end"), ("b", 50, 150, "end")])
        self.assertEqual(self.rows(self.db, "SELECT * FROM anomaly"), [])

    def test_halves_alone(self):
        got = self.phases([*note("ended", None, 5), *note("begun", 500, None)])
        self.assertEqual([(p[0], p[3], p[5]) for p in got], [("begun", 500, "process end")])
        self.assertIn("1 annotation ended without a beginning", self.said)

    # ---- what does not fit together ----

    def test_a_block_that_is_gone_without_a_free(self):
        db = self.load({"segments": [segment(1 << 30, SMALL, [block(1 << 30, SMALL, "inactive")])],
                        "device_traces": [[event("alloc", 1 << 30, 100, 0),
                                           event("snapshot", 0, 0, 9)]]})
        self.assertEqual(self.rows(db, LIVING), [])
        self.assertEqual(self.rows(db, "SELECT kind, n FROM lost"), [("block_free", 1)])
        self.assertIn("1 block is gone at the end", self.said)

    def test_a_free_twice(self):
        self.load({"segments": [segment(1 << 30, SMALL, [block(1 << 30, SMALL, "inactive")])],
                   "device_traces": [[event("free_requested", 1 << 30, 9, 0),
                                      event("free_completed", 1 << 30, 9, 0),
                                      event("free_requested", 1 << 30, 9, 1),
                                      event("free_completed", 1 << 30, 9, 1)]]})
        self.assertIn("2 frees were left out", self.said)

    def test_a_free_whose_completion_was_skipped(self):
        db = self.load({"segments": [segment(1 << 30, SMALL, [block(1 << 30, SMALL, "inactive")])],
                        "device_traces": [[event("alloc", 1 << 30, 100, 0),
                                           event("free_requested", 1 << 30, 100, 1),
                                           event("alloc", 1 << 30, 600, 2),
                                           event("free_requested", 1 << 30, 600, 3)]]})
        self.assertNotIn("warning", self.said)
        self.assertEqual(self.rows(db, "SELECT size, life_ns FROM allocation"),
                         [(512, 1000), (1024, 1000)])

    def test_a_block_outside_all_segments(self):
        self.load({"segments": [segment(1 << 30, SMALL, [block(1 << 31, 512)])],
                   "device_traces": [[event("alloc", 1 << 32, 100, 0),
                                      event("free_requested", 1 << 32, 100, 1),
                                      event("free_completed", 1 << 32, 100, 1)]]})
        self.assertIn("1 block at the end could not be placed", self.said)
        self.assertIn("1 block was allocated where no free memory is known", self.said)

    def test_a_size_against_the_rules(self):
        db = self.load({"segments": [segment(1 << 30, SMALL, [
            block(1 << 30, 4096, requested=100),
            block((1 << 30) + 4096, SMALL - 4096, "inactive")])],
            "device_traces": [[event("alloc", 1 << 30, 100, 0)]]})
        self.assertIn("1 block is not as large as the allocator's rules make it", self.said)
        self.assertEqual(self.rows(db, LIVING), [(0, 1 << 30, 4096, 100, 0)])

    def test_segments_that_do_not_fit(self):
        self.load({"segments": [segment(1 << 30, SMALL, []), segment((1 << 30) + 512, SMALL, [])],
                   "device_traces": [[event("segment_alloc", 1 << 33, SMALL, 0),
                                      event("segment_unmap", 1 << 30, SMALL, 1)]]})
        self.assertIn("3 segments of the trace do not fit", self.said)

    # ---- stacks ----

    def test_frames_of_sources_are_kept(self):
        cxx = [{"name": n, "filename": "??", "line": 0}
               for n in ("torch::unwind::unwind()", "c10::cuda::CUDACachingAllocator::malloc()",
                         "at::detail::empty()", "at::_ops::mm::call()", "start_thread")]
        python = [{"name": "f", "filename": "a.py", "line": 3}]
        blas = [{"name": n, "filename": "", "line": 0}
                for n in ("at::cuda::getNewWorkspace()", "at::cuda::getCurrentCUDABlasHandle()")]
        for frames, options, want in (
                (cxx + python, (), ["f (a.py:3)"]),
                (cxx, (), ["at::_ops::mm::call()", "start_thread"]),
                (cxx[:3], (), ["at::detail::empty()"]),
                (cxx[:2], (), ["torch::unwind::unwind()", "c10::cuda::CUDACachingAllocator::malloc()"]),
                (cxx[:2] + blas + cxx[2:] + python, (), [blas[0]["name"], "f (a.py:3)"]),
                (cxx[:2] + blas + cxx[3:], (), [blas[0]["name"], "at::_ops::mm::call()",
                                                "start_thread"]),
                (cxx[:2] + blas, (), [b["name"] for b in blas]),
                (cxx + python, ("--all-frames",), [c["name"] for c in cxx] + ["f (a.py:3)"])):
            with self.subTest(frames=frames, options=options):
                db = self.tidemark(pickle.dumps({"segments": [segment(1 << 30, SMALL, [
                    block(1 << 30, SMALL, frames=frames)])], "device_traces": []}), *options)
                self.assertEqual([r[0] for r in self.rows(
                    db, "SELECT frame FROM stack ORDER BY depth")], want)

    def test_long_stacks_and_texts_are_cut(self):
        frames = [{"name": "x" * 40000, "filename": "a.py", "line": i + 1} for i in range(1000)]
        db = self.load({"segments": [segment(1 << 30, SMALL, [
            block(1 << 30, SMALL, frames=frames)])], "device_traces": []})
        self.assertEqual(self.rows(db, "SELECT count(*), max(length(frame)) FROM stack")[0][0], 256)
        self.assertIn("cut: longer than 32 KiB", self.said)


if __name__ == "__main__":
    test_round_trip.TIDEMARK = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
