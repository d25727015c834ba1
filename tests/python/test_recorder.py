"""The recorder in real programs: PyTorch's own CUDA code and allocator on a hollow card."""

import pytest
from hollow_card import card
from recorder_harness import Recorded

#: A job with everything that moves memory about: autograd, several streams, a cache that is emptied.
TRAIN = '''
    import gc, json
    torch = start_on_card(own_folder=b"/nowhere") if os.environ["RECORD"] == "yes" else __import__("torch")
    torch.manual_seed(0)

    def train(steps):
        model = torch.nn.Sequential(torch.nn.Linear(500, 900), torch.nn.ReLU(), torch.nn.Linear(900, 10)).cuda()
        optimizer = torch.optim.AdamW(model.parameters())
        side = torch.cuda.Stream()
        for step in range(steps):
            batch = torch.randn(32 + 57 * (step % 5), 500, device="cuda")
            with torch.cuda.stream(side):
                torch.empty(step * 1000 + 1, device="cuda")
            held = torch.empty(3_000_000 * (step % 3) + 8, device="cuda")
            held.record_stream(side)
            loss = model(batch).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            del held
            if step % 7 == 6:
                gc.collect()
                torch.cuda.empty_cache()
        return model, optimizer

    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        in_pool = [torch.empty(5_000_000, device="cuda") for _ in range(3)]
    del in_pool[0]
    static = torch.zeros(1000, 500, device="cuda")
    layer = torch.nn.Linear(500, 500).cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        layer(static)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        result = layer(static) + layer(static)
    graph.replay()
    kept = train(20)
    snapshot = torch.cuda.memory_snapshot(include_traces=False)
    if os.environ["RECORD"] == "yes":
        recorder.end(1, 0)
    leave([torch.cuda.memory_stats(), snapshot])
'''

SETTINGS = {
    "native": "",
    "expandable": "expandable_segments:True",
    "rounded": "roundup_power2_divisions:4,max_split_size_mb:64,garbage_collection_threshold:0.6",
}


@pytest.fixture(scope="module", params=SETTINGS)
def settings(request):
    return request.param


@pytest.fixture(scope="module")
def trained(settings, tmp_path_factory):
    """The job with these settings, recorded."""
    return Recorded(tmp_path_factory.mktemp("job"), TRAIN, PYTORCH_CUDA_ALLOC_CONF=SETTINGS[settings], RECORD="yes")


def held(snapshot):
    """Blocks that are in use, by address."""
    blocks = [(block, segment) for segment in snapshot for block in segment["blocks"]]
    in_use = ("active_allocated", "active_pending_free", "active_awaiting_free")
    return {block["address"]: block["requested_size"] for block, _ in blocks if block["state"] in in_use}


def test_the_box_says_what_pytorch_says(trained, settings):
    stats, snapshot = trained.printed()
    box = trained.box()
    [device] = box["devices"]
    assert device["requested_bytes"] == stats["requested_bytes.all.current"]
    assert device["requested_peak_bytes"] == stats["requested_bytes.all.peak"]
    assert device["reserved_bytes"] == stats["reserved_bytes.all.current"]
    assert device["reserved_peak_bytes"] == stats["reserved_bytes.all.peak"]
    assert device["counts"][0] == stats["allocation.all.allocated"]
    assert device["counts"][1] == stats["allocation.all.freed"]
    assert device["counts"][2] == stats["active.all.freed"]
    assert {block["address"]: block["bytes"] for block in box["blocks"]} == held(snapshot)
    assert sum(it["bytes"] for it in box["segments"]) == stats["reserved_bytes.all.current"]
    if "expandable" not in settings:
        segments = {(it["address"], it["total_size"]) for it in snapshot}
        assert {(it["address"], it["bytes"]) for it in box["segments"]} == segments
    pools = {tuple(segment["segment_pool_id"]) for segment in snapshot}
    assert {tuple(block["lane"][1]) for block in box["blocks"]} <= pools
    assert all(block["stack"] for block in box["blocks"])


def test_pytorch_says_the_same_with_and_without(trained, settings, tmp_path):
    plain = Recorded(tmp_path, TRAIN, PYTORCH_CUDA_ALLOC_CONF=SETTINGS[settings], RECORD="no")
    with_stats, with_snapshot = trained.printed()
    stats, snapshot = plain.printed()
    assert with_stats == stats

    def shape(segments):
        blocks = [[(block["size"], block["requested_size"], block["state"]) for block in it["blocks"]] for it in segments]
        return sorted(zip([it["total_size"] for it in segments], [it["segment_type"] for it in segments], blocks))

    assert shape(with_snapshot) == shape(snapshot)


def test_the_ring_holds_what_pytorch_traced(tmp_path):
    history = "    torch.cuda.memory._record_memory_history(max_entries=10**6, stacks='python')\n"
    program = TRAIN.replace("    torch.manual_seed(0)\n", history)
    program = program.replace("snapshot = torch.cuda.memory_snapshot(include_traces=False)", "snapshot = None")
    program = program.replace("leave([", "traced = torch.cuda.memory._snapshot()['device_traces'][0]\n    leave([traced, ")
    recorded = Recorded(tmp_path, program, RECORD="yes")
    traced, *_ = recorded.printed()
    events = [event["what"] for event in recorded.box()["events"] if "action" in event["what"]]
    # The snapshot at the end is an entry of its own in one of them.
    names = {"alloc": "Alloc", "free_requested": "FreeRequested", "free_completed": "FreeCompleted"}
    names |= {"segment_alloc": "SegmentAlloc", "segment_free": "SegmentFree", "snapshot": "Snapshot"}
    said = [(names[it["action"]], it.get("addr"), it["size"], it["stream"]) for it in traced if it["action"] != "snapshot"]
    seen = [(it["action"], it["address"], it["bytes"], it["lane"][0]) for it in events if it["action"] != "Snapshot"]
    assert seen == said
    assert len(seen) > 1000
    for it, event in zip([it for it in traced if it["action"] == "alloc"], [it for it in events if it["action"] == "Alloc"]):
        frames = [[frame["filename"], frame["name"], frame["line"]] for frame in it["frames"]]
        if frames:
            assert [frame[:3] for frame in event["stack"]] == frames


def test_lines_modules_and_callers_of_backward(tmp_path):
    program = '''
        import json
        torch = start_on_card()

        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = torch.nn.Linear(400, 400)

            def forward(self, x):
                return self.inner(x).relu()  # forward

        model = Block().cuda()
        x = torch.randn(64, 400, device="cuda", requires_grad=True)  # input
        y = model(x)
        y.sum().backward()  # backward
        addresses = [it.untyped_storage().data_ptr() for it in (x, y, model.inner.weight.grad)]
        leave([addresses, id(model), id(model.inner)])
    '''
    recorded = Recorded(tmp_path, program)
    addresses, model, inner = recorded.printed()
    blocks = {block["address"]: block for block in recorded.box()["blocks"]}
    of_input, of_output, of_gradient = (blocks[address]["stack"] for address in addresses)
    assert of_input[0][2] == recorded.line("# input")
    [forward] = [frame for frame in of_output if frame[1] == "forward"]
    assert forward[2] == recorded.line("# forward")
    assert [frame[3] for frame in of_output if frame[3]] == [model]
    calls = [[frame[3] for frame in block["stack"] if frame[3]] for block in blocks.values()]
    assert all(modules in ([], [model], [inner, model]) for modules in calls)
    lines = [frame[2] for frame in of_gradient if frame[0] == str(recorded.script)]
    assert lines[0] == recorded.line("# backward")


def test_checkpoints_run_on_autograds_threads_with_frames_of_their_own(tmp_path):
    program = '''
        import json
        torch = start_on_card()
        from torch.utils.checkpoint import checkpoint

        def run(x):
            y = torch.sin(x)  # recomputed
            seen.append(recorder.stack())
            return torch.cos(y)

        seen = []
        x = torch.randn(1000, device="cuda", requires_grad=True)
        y = checkpoint(run, x, use_reentrant=False).sum()
        y.backward()  # caller
        leave(seen)
    '''
    recorded = Recorded(tmp_path, program)
    first, again = recorded.box(*recorded.printed())["stacks"]
    assert [frame[1] for frame in again][0] == "run"
    assert [frame[2] for frame in again if frame[1] == "<module>"] == [recorded.line("# caller")]
    assert "unpack_hook" in {frame[1] for frame in again} - {frame[1] for frame in first}


def test_out_of_memory_is_seen_with_its_line(tmp_path):
    program = '''
        import json
        torch = start_on_card()
        held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        try:
            torch.empty(1 << 44, dtype=torch.uint8, device="cuda")  # too much
        except torch.OutOfMemoryError:
            pass
        leave(torch.cuda.memory_stats()["num_ooms"])
    '''
    recorded = Recorded(tmp_path, program)
    assert recorded.printed() == 1
    box = recorded.box()
    [failed] = [event["what"] for event in box["events"] if event["what"].get("action") == "Oom"]
    assert failed["bytes"] == 1 << 44
    assert failed["stack"][0][2] == recorded.line("# too much")
    assert box["devices"][0]["counts"][8] == 1


@pytest.mark.parametrize("when", ["async", "early", "no torch"])
def test_in_doubt_nothing_is_attached(when, tmp_path):
    program = '''
        import json
        if os.environ["WHEN"] != "no torch":
            import torch
            if os.environ["WHEN"] == "async":
                torch.cuda.init()
        start()
        problem = failing(recorder.attach)
        if os.environ["WHEN"] != "no torch":
            torch.empty(5000, device="cuda")
        leave(problem)
    '''
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"} if when == "async" else {}
    recorded = Recorded(tmp_path, program, WHEN=when, **settings)
    problem = recorded.printed()
    assert {"early": "not set up yet", "no torch": "not loaded", "async": "another allocator"}[when] in problem
    assert recorded.box()["devices"] == []


def test_several_devices_and_threads(tmp_path):
    program = '''
        import json, threading
        torch = start_on_card()

        def work(device):
            kept = []
            for step in range(300):
                kept.append(torch.empty(1000 + step, device=device))
                if step % 2:
                    kept.pop(0)
            results[device] = kept

        results = {}
        threads = [threading.Thread(target=work, args=(f"cuda:{index}",)) for index in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        stats = [torch.cuda.memory_stats(device) for device in range(2)]
        snapshot = torch.cuda.memory_snapshot(include_traces=False)
        leave([stats, snapshot])
    '''
    recorded = Recorded(tmp_path, program, cards=[card(), card("l4")])
    stats, snapshot = recorded.printed()
    box = recorded.box()
    for device, said in zip(box["devices"], stats, strict=True):
        assert device["requested_peak_bytes"] == said["requested_bytes.all.peak"]
        assert device["counts"][0] == said["allocation.all.allocated"]
    assert {block["address"]: block["bytes"] for block in box["blocks"]} == held(snapshot)
