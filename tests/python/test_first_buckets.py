"""DDP's first buckets: a plan waits for NCCL's watchdog by asking how far it is, never for a fixed time."""

import json

from oomph.hollow.ranks import first_buckets


class Weight:
    def __init__(self, count):
        self.count = count

    def numel(self):
        return self.count

    def element_size(self):
        return 4


class Core:
    """A watchdog that sees everything end when it is asked for the third time."""

    asked = 0

    def _dump_nccl_trace_json(self, **_):
        self.asked += 1
        status = {"last_enqueued_collective": 7, "last_completed_collective": 7 if self.asked > 2 else 5}
        return json.dumps({"pg_status": {"0": status}}).encode()


def reducer_class(core, seen):
    class Reducer:
        def __init__(self, params, *_):
            self.is_rebuilt = False

        def prepare_for_backward(self, *_):
            pass

        def _rebuild_buckets(self):
            seen.append(core.asked)
            self.is_rebuilt = not self.is_rebuilt
            return self.is_rebuilt

    return Reducer


def test_the_watchdog_is_waited_for_once_before_buckets_are_built_anew():
    core, seen, notes = Core(), [], []
    kind = reducer_class(core, seen)
    first_buckets.install(core, kind, notes.append)
    reducer = kind([Weight(1 << 20), Weight(1 << 19)])
    reducer.prepare_for_backward([])
    assert reducer._rebuild_buckets()
    assert seen == [3], "it was asked until it had seen all"
    assert len(notes) == 1 and "6.00MiB" in notes[0]
    reducer._rebuild_buckets()
    assert seen == [3, 3], "and never again"


def test_buckets_that_are_less_than_a_segment_are_not_told_of():
    core, notes = Core(), []
    kind = reducer_class(core, [])
    first_buckets.install(core, kind, notes.append)
    reducer = kind([Weight(1000)])
    reducer.prepare_for_backward([])
    assert reducer._rebuild_buckets() and not notes


def test_a_reducer_that_sent_nothing_waits_for_nothing():
    core, seen = Core(), []
    kind = reducer_class(core, seen)
    first_buckets.install(core, kind, lambda _: None)
    kind([Weight(8)])._rebuild_buckets()
    assert seen == [0]
