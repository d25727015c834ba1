"""Values on demand: a plan works out what the card would compute where the script decides by it, and nowhere else."""

import json

import pytest

#: Each gives tensors on a device, from the same random numbers of the host. Where a name ends in "close", the card's kernel
#: rounds otherwise than the host's.
AGREEING = """
import sys, torch, torch.nn as nn, torch.nn.functional as F

def mlp(d):
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).to(d)(torch.randn(8, 16).to(d))

def convolutions_and_running_statistics(d):
    m = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(392, 5)).to(d)
    x = torch.randn(4, 3, 16, 16).to(d)
    first = m(x), m(x + 1)
    m.eval()
    return first, m(x), m[1].running_var, m[1].num_batches_tracked

def attention(d):
    m = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True).to(d)
    x, padded = torch.randn(2, 10, 32).to(d), (torch.arange(10) > 6).expand(2, 10).to(d)
    q, k, v = (torch.randn(2, 4, 9, 16).to(d) for _ in range(3))
    return m(x), m(x, src_key_padding_mask=padded), F.scaled_dot_product_attention(q, k, v, is_causal=True)

def samples_between_corners_close(d):
    x, grid = torch.randn(2, 3, 8, 8), torch.rand(2, 5, 5, 2) * 2 - 1
    return [F.grid_sample(x.to(d), grid.to(d), align_corners=corners) for corners in (True, False)]

def embeddings(d):
    e, i = nn.Embedding(50, 8).to(d), torch.randint(0, 50, (4, 7)).to(d)
    return e(i).sum(1), F.embedding_bag(i, e.weight)

def writes_in_place(d):
    x = torch.randn(6, 6).to(d)
    y = x * 2
    z = y.clone()
    y[1:3] += 5; y[:, 0].zero_(); y.t()[2].mul_(3); z[z > 0] = -1; x.view(-1)[::7] = 9.0
    w = torch.empty(6, 6, device=d)
    w[:3] = x[:3]; w[3:] = 1; w.index_fill_(0, torch.tensor([4]).to(d), 2.0)
    return x, y, z, w, torch.addmm(w, x, y, out=torch.empty(6, 6, device=d))

def views(d):
    x = torch.randn(4, 6).to(d)
    a, b, c = x.t().contiguous(), x.view(2, 2, 6).permute(1, 0, 2).reshape(-1), x.unfold(1, 2, 2)
    x.add_(1)
    return a, b, c, x.expand(3, 4, 6).sum(0), torch.as_strided(x, (3, 3), (6, 2), 1), x.view(torch.int32)[0]

def complex_numbers(d):
    f = torch.fft.rfft(torch.randn(8).to(d))
    g = f.conj() * 2
    return torch.view_as_real(g), g.imag, torch.fft.irfft(f)

def choices(d):
    x = torch.randn(40, 4).to(d)
    v, i = x.softmax(-1).max(-1)
    keep = v > 0.5
    return (x[keep], i[keep.nonzero().squeeze(1)], torch.unique(i), torch.bincount(i), torch.repeat_interleave(i), torch.where(keep)[0],
            x.masked_select(x > 0), x.topk(2).indices, torch.repeat_interleave(x, i, dim=0), x.argsort(0), i.tolist())

def lists_of_tensors(d):
    a, s = [torch.randn(3).to(d) for _ in range(3)], torch.zeros(()).to(d)
    torch._foreach_add_(a, 1.5); torch._foreach_mul_(a, [2.0, 3.0, 4.0]); s += 1; s += 1
    return torch._foreach_norm(a), a, s.item(), 1 - 0.9**s

def cells(d):
    m, n, h = nn.GRUCell(4, 6).to(d), nn.LSTMCell(6, 6).to(d), torch.zeros(2, 6).to(d)
    for _ in range(3):
        h = m(torch.randn(2, 4).to(d), h)
    return h, n(h)

def losses(d):
    x, t = torch.randn(6, 4).to(d), torch.tensor([0, 1, 2, 3, 1, 1]).to(d)
    return (F.cross_entropy(x, t), F.mse_loss(x, x * 2), F.nll_loss(F.log_softmax(x, -1), t), F.group_norm(x.view(2, 4, 3), 2),
            F.interpolate(x.view(1, 1, 6, 4), scale_factor=2, mode="bilinear"), torch.einsum("ij,kj->ik", x, x), torch.cdist(x, x + 1))

def autocast_close(d):
    m, x = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(d), torch.randn(8, 16).to(d)
    with torch.autocast(d, torch.bfloat16):
        return m(x)

def flat(v):
    return [y for x in v for y in flat(x)] if isinstance(v, (list, tuple)) else [v]

def agrees(name, got, want):
    if not torch.is_tensor(want):
        return got == want
    got, want = got.detach().cpu(), want.detach()
    return got.shape == want.shape and (torch.allclose(got, want, atol=0.02) if name.endswith("close") else torch.equal(got, want))

wrong = []
for name, make in [(n, f) for n, f in list(globals().items()) if callable(f) and n not in ("flat", "agrees", "wrong") and getattr(f, "__module__", "") == "__main__"]:
    torch.manual_seed(1); got = flat(make("cuda"))
    torch.manual_seed(1); want = flat(make("cpu"))
    wrong += [f"{name} {at}" for at, pair in enumerate(zip(got, want, strict=True)) if not agrees(name, *pair)]
assert not wrong, wrong
"""


def test_values_agree_with_a_true_run_on_the_host(oomph, script):
    code, out, err = oomph("plan", "--json", "--steps", "0", script(AGREEING))
    assert code == 0, err
    plan = json.loads(out)
    assert plan["reads"] == [] and plan["values"]["answered"] > 30 and not plan["values"]["updates"]


def test_selections_have_their_true_size(planned, script):
    path = script("""
        import torch, torchvision
        torch.manual_seed(0)
        x = torch.randn(1000, 8)
        on_card = torch.nn.Linear(8, 8).cuda()(x.cuda()) * 0 + x.cuda()
        assert on_card[on_card[:, 0] > 1].shape == x[x[:, 0] > 1].shape
        boxes = torch.rand(200, 2); boxes = torch.cat([boxes, boxes + 0.3], 1)
        kept = torchvision.ops.nms((boxes.cuda() + on_card[:200, :1] * 0), boxes.cuda()[:, 0], 0.5)
        assert kept.tolist() == torchvision.ops.nms(boxes, boxes[:, 0], 0.5).tolist()
    """)
    plan = planned(path)
    assert plan["reads"] == [] and plan["values"]["worked_out"] > 0
    assert any("worked out on the host, with the weights as they were drawn" in said for said in plan["unknown"])


def test_what_is_collected_and_then_selects_is_worked_out(planned, script):
    """Masks of chunks, joined on the host: which rays hit the scene."""
    path = script("""
        import torch
        torch.manual_seed(0)
        rays = torch.randn(4096, 8)
        net = torch.nn.Linear(8, 8).cuda()
        hits = []
        for chunk in rays.split(1024):
            hits.append((net(chunk.cuda()).sum(1) * 0 + chunk.cuda()[:, 0] > 1).cpu())
        hits = torch.cat(hits)
        assert rays[hits].shape == rays[rays[:, 0] > 1].shape
    """)
    plan = planned(path)
    assert plan["reads"] == [] and plan["values"]["answered"] == 4


def test_what_an_object_keeps_is_worked_out_where_that_takes_little(planned, script):
    """A camera reads its angle when it is made and divides by what follows from it when it projects."""
    path = script("""
        import math, torch
        class Camera:
            def __init__(self, focal, noise):
                self.angle = 2 * math.atan(64 / (2 * focal))
                self.noise = noise.item()
            def project(self, points):
                right = math.tan(self.angle / 2)
                return points * 1.0 / (right - -right)
        focal = torch.linalg.inv(torch.diag(torch.full((4,), 1 / 80.0)).cuda())[0, 0]
        x = torch.randn(4096, 4096, device="cuda")
        noise = x
        for _ in range(8):
            noise = noise @ x
        camera = Camera(focal, noise[0, 0])
        points = camera.project(torch.linspace(-1, 1, 100).cuda().tanh())
        assert points[points > 0.5].numel() == 29, points[points > 0.5].numel()
    """)
    plan = planned("--values", "20", path)
    guessed = [read for read in plan["reads"] if read["assumed"] != "finite"]
    assert [(read["line"], read["assumed"], read["decides"]) for read in guessed] == [(6, "zeros", False)]


def test_a_mask_selects_as_many_in_the_backward_pass_as_before(planned, script):
    """What the mask was made from may be forgotten by then, here because a kernel of another maker could have written it."""
    plan = planned(script("""
        import torch
        torch.manual_seed(0)
        net = torch.nn.Linear(64, 64).cuda()
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(2):
            y = net(torch.randn(256, 64).cuda())
            mask = y[:, 0] > 0.1
            kept = y[mask]
            assert 0 < len(kept) < 256
            mask.data_ptr()
            kept.square().mean().backward()
            opt.step(); opt.zero_grad()
    """))
    assert plan["values"]["answered"] > 0


TRAINING = """
    import torch
    torch.manual_seed(0)
    m = torch.nn.Linear(64, 64).cuda()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    shown = []
    for step in range(4):
        loss = m(torch.randn(32, 64).cuda()).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
        shown.append(loss.item())
        print(f"{loss.item():.3f}", sum(shown) / len(shown), m.weight)
"""


def test_what_is_only_shown_costs_nothing(planned, script):
    plan = planned(script(TRAINING))
    assert plan["values"] is None and len(plan["reads"]) > 0


def test_weights_stay_as_drawn_and_gradients_are_not_worked_out(planned, script):
    plan = planned(
        script("""
        import torch
        torch.manual_seed(0)
        m = torch.nn.Linear(64, 8).cuda()
        opt = torch.optim.Adam(m.parameters(), 0.1)
        for step in range(3):
            y = m(torch.ones(16, 64).cuda())
            opt.zero_grad(); y.square().mean().backward(); opt.step()
            picked = y[y > 0]
        torch.manual_seed(0)
        assert (m.weight.cpu() == torch.nn.Linear(64, 8).weight).all()
    """)
    )
    assert plan["values"]["updates"] is False
    assert plan["values"]["worked_out"] < plan["values"]["records"] / 2


def test_the_backward_pass_gets_what_it_asks_of_the_forward_pass(planned, script):
    """The gradient of `cumprod` looks for zeros in its input, and takes more memory where there are any."""
    path = script("""
        import sys, torch
        torch.manual_seed(0)
        x = torch.nn.Linear(64, 4096).cuda()(torch.randn(256, 64).cuda()).sigmoid()
        if sys.argv[1] == "zeros":
            x = x * (torch.arange(4096) > 9).cuda()
        x.cumprod(-1).sum().backward()
    """)
    without, with_zeros = planned(path, "none"), planned(path, "zeros")
    assert without["reads"] == with_zeros["reads"] == []
    assert without["values"]["answered"] == 1 and not without["values"]["updates"]
    assert without["peak_allocated_bytes"] < with_zeros["peak_allocated_bytes"]


def test_what_fails_after_a_loop_that_was_ended_early_is_run_again_with_values(planned, script):
    """A quotient decides nothing, but zero for its divisor ends the script, and a plan would be of its first epoch only."""
    path = script("""
        import torch
        net = torch.nn.Linear(8, 8).cuda()
        opt = torch.optim.SGD(net.parameters(), 0.1)
        batches = torch.utils.data.DataLoader(torch.randn(400, 8), batch_size=4)
        for epoch in range(2):
            for batch in batches:
                opt.zero_grad(); net(batch.cuda()).square().mean().backward(); opt.step()
            with torch.no_grad():
                print(sum(1 / net(batch.cuda()).square().mean().item() for batch in batches))
        held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    """)
    plan = planned(path)
    assert "to the end of the script" in plan["seen"]["text"] and plan["peak_allocated_bytes"] >= 1 << 30
    assert plan["values"]["answered"] > 0 and not plan["values"]["updates"]
    # Nobody works anything out, and the end is not seen.
    plan = planned("--values", "0", path)
    assert "then the script failed" in plan["seen"]["text"] and plan["peak_allocated_bytes"] < 1 << 30


def test_steps_are_taken_where_they_must_be_true(planned, script):
    plan = planned(
        script("""
        import copy, torch
        torch.manual_seed(0)
        here = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)); there = copy.deepcopy(here).cuda()
        opts = [torch.optim.AdamW(m.parameters(), 0.1) for m in (here, there)]
        x = torch.randn(16, 4)
        for step in range(3):
            for m, opt, data in ((here, opts[0], x), (there, opts[1], x.cuda())):
                opt.zero_grad(); m(data).square().mean().backward(); opt.step()
        got, want = there[0].weight.detach().cpu(), here[0].weight.detach()
        assert torch.allclose(got, want, atol=1e-6), (got - want).abs().max()
    """)
    )
    assert plan["values"]["updates"] is True


def test_gradients_are_worked_out_where_something_is_decided_by_them(planned, script):
    """L-BFGS asks gradients whether it is done, and evaluates as often as they say."""
    text = """
        import torch
        torch.manual_seed(0)
        net = torch.nn.Linear(8, 1).cuda()
        opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
        x, y = torch.randn(64, 8).cuda(), torch.randn(64, 1).cuda()
        calls = []
        def closure():
            opt.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            calls.append(1)
            return loss
        opt.step(closure)
        kept = torch.zeros(len(calls) << 27, dtype=torch.uint8, device="cuda")
    """
    hollow, plan = planned("--values", "0", script(text)), planned(script(text))
    assert plan["values"]["updates"] and not any(read["decides"] for read in plan["reads"])
    assert hollow["peak_allocated_bytes"] < 4 << 27 < plan["peak_allocated_bytes"]


def test_what_lay_at_an_address_before_makes_nothing_unknown(planned, script):
    """Memory is given back and taken again for something shorter, which has nothing to do with what was there."""
    plan = planned(
        script("""
        import torch
        table, nowhere = torch.zeros(4, 1 << 19).cuda(), torch.tensor([9, 9, 9, 9]).cuda()
        shorter = torch.ones(3 << 19)
        half = shorter.half().cuda()
        # Not the method of tensors: who asks that may write there.
        address_of = torch._C.TensorBase.data_ptr
        for is_from_host in (True, False):
            big = table[nowhere]
            if big.sum() > 0:
                pass
            address = address_of(big)
            del big
            x = shorter.cuda() if is_from_host else half.float()
            assert address_of(x) == address
            assert x[x > 0].numel() == 3 << 19
            assert x[x < 0].numel() == 0
            del x
    """)
    )
    assert [read["line"] for read in plan["reads"]] == [10]


def test_without_time_the_most_there_can_be_is_taken_and_said(planned, script):
    path = script("""
        import torch
        x = torch.randn(1 << 16, device="cuda")
        y = x[x > 3]
        assert y.numel() == 1 << 16
    """)
    for options in (("--values", "0"), ()):
        plan = planned(*options, path)
        assert [(read["line"], read["assumed"], read["decides"]) for read in plan["reads"]] == [(4, "all", True)]
        assert plan["values"] is None


def test_loops_take_as_many_turns_as_before_once_values_take_too_long(planned, script):
    path = script("""
        import torch
        def solve(at):
            turns = 0
            while (at + turns).tanh() < 0.9:
                turns += 1
            assert turns == 2
        solve(torch.zeros(1).cuda())
        solve(torch.zeros(1).cuda())
        x = y = torch.randn(8192, 8192, device="cuda")
        for _ in range(60):
            y = y @ x
        solve(y[0, 0] * 0)
        solve(y[0, 1] * 0)
    """)
    plan = planned("--values", "1", path)
    assert [(read["line"], read["assumed"], read["count"]) for read in plan["reads"]] == [(5, "earlier", 6)]
    assert plan["values"]["failed"] == {"too much work": 1}, "it is given up once, with all that is made of it"
    assert plan["values"]["recording_seconds"] > 0


@pytest.mark.parametrize("job", ["checkpointed", "tied"])
def test_writing_down_changes_no_peak(planned, script, job):
    """The same training twice: once hollow, once with every operator written down."""
    text = """
        import sys, torch, torch.nn as nn
        from torch.utils.checkpoint import checkpoint
        torch.manual_seed(0)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(500, 64)
                self.layers = nn.ModuleList(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True) for _ in range(3))
            def forward(self, ids):
                x = self.table(ids)
                for layer in self.layers:
                    x = checkpoint(layer, x, use_reentrant=False) if KIND == "checkpointed" else layer(x)
                return x @ self.table.weight.T
        KIND = sys.argv[1]
        net = Net().cuda()
        opt = torch.optim.AdamW(net.parameters())
        for step in range(3):
            ids = torch.randint(0, 500, (8, 64)).cuda()
            nn.functional.cross_entropy(net(ids).flatten(0, 1), ids.flatten()).backward()
            opt.step(); opt.zero_grad()
        # Decides nothing that takes memory, but is worked out.
        x = torch.ones(4).cuda().tanh()
        assert float(x[0]) > 0.5 or sys.argv[2] == "hollow"
    """
    path = script(text)
    hollow = planned("--steps", "0", "--values", "0", path, job, "hollow")
    worked = planned("--steps", "0", path, job, "worked")
    assert worked["values"]["answered"] > 0
    for peak in ("peak_allocated_bytes", "peak_reserved_bytes"):
        assert worked[peak] == hollow[peak]
