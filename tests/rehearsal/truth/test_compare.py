"""What compare.py and snapshots.py must notice, on histories made by hand: no torch, no GPU."""
import os
import pickle
import tempfile
import unittest

import compare
import snapshots


def history(count):
    """Allocations of growing size, each freed before the next but one."""
    events = []
    for i in range(count):
        events.append(("a", 512 * (i + 1)))
        if i % 2:
            events += [("f", 512 * i), ("f", 512 * (i + 1))]
    return events


def facts(events, **changed):
    result = {"requested": 1000, "allocated": 1 << 30, "reserved": 2 << 30, "events": len(events),
              "digests": " ".join(snapshots.digests_of(events))}
    result.update(changed)
    return result


class Limits(unittest.TestCase):
    def failures(self, same_version, **changed):
        real = facts(history(1000))
        return list(compare.Comparison("x", real, dict(real, **changed), same_version).failures())

    def test_equal_runs_pass(self):
        self.assertEqual(self.failures(True), [])

    def test_allocated_is_held_closer_in_one_version(self):
        high, low = int(1.003 * (1 << 30)), int(0.997 * (1 << 30))
        for allocated in (high, low):
            self.assertEqual(len(self.failures(True, allocated=allocated)), 1)
            self.assertEqual(self.failures(False, allocated=allocated), [])
        self.assertEqual(len(self.failures(False, allocated=int(1.006 * (1 << 30)))), 1)

    def test_reserved_is_held(self):
        self.assertEqual(self.failures(True, reserved=int(1.014 * (2 << 30))), [])
        self.assertEqual(len(self.failures(True, reserved=int(0.98 * (2 << 30)))), 1)

    def test_one_recording_has_a_limit_of_its_own(self):
        real = facts(history(1000))
        for off, failures in ((1.04, 0), (1.06, 1)):
            high = dict(real, reserved=int(off * (2 << 30)))
            self.assertEqual(len(list(compare.Comparison("x", real, high, True, 5).failures())),
                             failures)

    def test_events_count_in_one_version_only(self):
        other = facts(history(1000)[:-1])
        for same, failures in ((True, 1), (False, 0)):
            self.assertEqual(len(self.failures(same, events=other["events"],
                                               digests=other["digests"])), failures)


class Counters(unittest.TestCase):
    REAL = {"0 init": [12.817, 12.817], "0 step": [51.008, 51.301]}

    def counted(self, same_version=True, **changed):
        rehearsed = dict(self.REAL, **changed)
        return compare.Counted("x", self.REAL, rehearsed, same_version)

    def test_equal_counters_pass(self):
        self.assertEqual(list(self.counted().failures()), [])
        self.assertEqual(self.counted().cells()[-1], "4 of 4")

    def test_the_worst_one_decides(self):
        low = {"0 step": [51.008, 51.301 * 0.998]}
        self.assertEqual(len(list(self.counted(**low).failures())), 1)
        self.assertEqual(list(self.counted(False, **low).failures()), [])
        self.assertAlmostEqual(self.counted(**low).worst(), -0.2)
        self.assertEqual(self.counted(**low).cells()[-1], "3 of 4")

    def test_a_missing_counter_fails(self):
        self.assertEqual(len(list(self.counted(False, **{"0 step": [51.008]}).failures())), 1)


class Events(unittest.TestCase):
    def test_one_size_is_enough(self):
        events = history(1000)
        changed = list(events)
        changed[1234] = (changed[1234][0], changed[1234][1] + 1)
        comparison = compare.Comparison("x", facts(events), facts(changed), True)
        self.assertFalse(comparison.events_equal())
        self.assertEqual(comparison.events_same(), 1000)
        self.assertEqual(comparison.cells()[-1], "1,000 of 2,000")

    def test_the_order_counts(self):
        events = history(1000)
        changed = list(events)
        changed[700], changed[701] = changed[701], changed[700]
        self.assertNotEqual(changed, events)
        self.assertEqual(compare.Comparison("x", facts(events), facts(changed), True)
                         .events_same(), 500)

    def test_a_longer_history_is_not_equal(self):
        events = history(1000)
        longer = events + [("a", 1)]
        comparison = compare.Comparison("x", facts(events), facts(longer), True)
        self.assertFalse(comparison.events_equal())
        self.assertEqual(comparison.events_same(), 1999)
        self.assertEqual(comparison.cells()[-1], "1,999 of 2,000")

    def test_frees_side_by_side_may_change_places(self):
        events = [("a", 1), ("f", 3), ("f", 2), ("a", 4), ("f", 5)]
        other = [("a", 1), ("f", 2), ("f", 3), ("a", 4), ("f", 5)]
        apart = [("a", 1), ("f", 2), ("a", 4), ("f", 3), ("f", 5)]
        self.assertEqual(snapshots.in_any_order(events), snapshots.in_any_order(other))
        self.assertNotEqual(snapshots.in_any_order(events), snapshots.in_any_order(apart))
        self.assertEqual(len(snapshots.in_any_order(events)), len(events))


class Reading(unittest.TestCase):
    def events(self, snapshot):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "snapshot.pickle")
            with open(path, "wb") as file:
                pickle.dump(snapshot, file)
            return snapshots.events_of(path)

    def test_only_what_changes_the_allocated_bytes(self):
        trace = [{"action": action, "size": size} for action, size in (
            ("segment_alloc", 9), ("alloc", 5), ("free_requested", 5), ("free_completed", 5))]
        self.assertEqual(self.events({"device_traces": [[], trace]}), [("a", 5), ("f", 5)])

    def test_two_devices_are_refused(self):
        trace = [{"action": "alloc", "size": 1}]
        with self.assertRaises(ValueError):
            self.events({"device_traces": [trace, trace]})

    def test_nothing_in_it_is_executed(self):
        with self.assertRaises(pickle.UnpicklingError):
            self.events({"device_traces": [[os.system]]})


if __name__ == "__main__":
    unittest.main()
