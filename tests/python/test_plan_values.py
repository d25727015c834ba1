"""Values in a plan: those that can be known are known, the others are taken for what costs most, and said.

That they can be worked out where something is decided by them is tested in `test_values.py`.
"""

import json
import textwrap

import pytest


@pytest.fixture
def planned(oomph, tmp_path):
    """Plans a script given as text; returns exit code, JSON and stderr."""

    def plan(text, *options):
        path = tmp_path / "job.py"
        path.write_text(textwrap.dedent(text))
        code, out, err = oomph("plan", "--json", "--values", "0", *options, path)
        return code, json.loads(out) if out else None, err

    return plan


def reads(plan):
    """Line, count and what was assumed of each read."""
    return sorted((read["line"], read["count"], read["assumed"]) for read in plan["reads"])


KNOWN = {
    "copies": "m.tolist() == [1, 0, 1, 1, 0] and m.cpu().sum() == 3",
    "views": "m[1:4].tolist() == [0, 1, 1] and m.view(5, 1).t()[0, 3].item() == 1",
    "reductions": "m.sum().item() == 3 and m.max().item() == 1 and int(m.argmin()) == 1 and bool((m >= 0).all())",
    "arithmetic": "(m * 3 - 1).cumsum(0).tolist() == [2, 1, 3, 5, 4] and (7 - m).div(2).tolist()[1] == 3.5",
    "comparisons": "(m == 1).nonzero().flatten().tolist() == [0, 2, 3] and (m < m.flip(0)).tolist()[4]",
    "masks": "x[m.bool()].shape == (3, 4) and x.masked_select(m.bool()[:, None]).numel() == 12",
    "wheres": "torch.where(m == 1)[0].tolist() == [0, 2, 3] and torch.where(m == 1, m, -1).tolist()[1] == -1",
    "uniques": "torch.unique(m).tolist() == [0, 1] and torch.unique_consecutive(m).tolist() == [0 + 1, 0, 1, 0]",
    "counts": "torch.bincount(m).tolist() == [2, 3] and m.count_nonzero().item() == 3",
    "repeats": "torch.repeat_interleave(torch.arange(5, device='cuda'), m + 1).tolist() == [0, 0, 1, 2, 2, 3, 3, 4]",
    "made": "torch.arange(3, device='cuda').tolist() == [0, 1, 2] and torch.full((2,), 7, device='cuda').tolist() == [7, 7]",
    "joined": "torch.cat([m, m]).sum() == 6 and torch.stack([m, m]).shape == (2, 5)",
    "sorted": "m.sort().values.tolist() == [0, 0, 1, 1, 1] and m.topk(2).values.tolist() == [1, 1]",
    "gathered": "m.gather(0, m).tolist() == [0, 1, 0, 0, 1] and m[m].tolist() == [0, 1, 0, 0, 1]",
    "floats": "(m.float() / 2).ceil().long().tolist() == [1, 0, 1, 1, 0]",
    "cast": "m.to(torch.int32).to(torch.uint8).tolist() == [1, 0, 1, 1, 0]",
}


@pytest.mark.parametrize("mode", ["enable_grad", "inference_mode"])
def test_values_from_the_host_are_known(planned, mode):
    code, plan, err = planned(f"""
        import torch
        with torch.{mode}():
            m = torch.tensor([1, 0, 1, 1, 0]).cuda()
            x = torch.randn(5, 4, device="cuda")
            wrong = [name for name, truth in {KNOWN!r}.items() if not eval(truth)]
        assert not wrong, wrong
    """)
    assert code == 0, err
    assert plan["reads"] == []


WRITTEN = {
    "fill": ("m[0] = 9", [9, 0, 1]),
    "add": ("m += 2", [3, 2, 3]),
    "masked": ("m[m == 1] = 5", [5, 0, 5]),
    "scattered": ("m.scatter_(0, torch.tensor([2]).cuda(), 4)", [1, 0, 4]),
    "zeroed": ("m.zero_()", [0, 0, 0]),
    "through a view": ("m.view(3, 1)[1:].add_(1)", [1, 1, 2]),
    "through data": ("m.data.fill_(3)", [3, 3, 3]),
}


def test_writes_are_followed(planned):
    code, plan, err = planned(f"""
        import torch
        for name, (statement, values) in {WRITTEN!r}.items():
            m = torch.tensor([1, 0, 1]).cuda()
            exec(statement)
            assert m.tolist() == values, (name, m.tolist())
    """)
    assert code == 0, err
    assert plan["reads"] == []


def test_what_the_card_wrote_is_no_longer_known(planned):
    _, plan, _ = planned("""
        import torch
        x = torch.randn(3, device="cuda")
        for statement in ("m.mul_(x.long())", "m[0] = x.argmax()", "m.copy_(x)", "m.bitwise_xor_(x.long())", "torch._foreach_mul_([m], [x.long()])"):
            m = torch.tensor([1, 0, 1]).cuda()
            assert m.tolist() == [1, 0, 1]
            exec(statement)
            m.tolist()
        m = torch.tensor([1, 0, 1]).cuda()
        torch._foreach_add_([m], 1)
        assert m.tolist() == [2, 1, 2]
    """)
    assert reads(plan) == [(8, 5, "zeros")]


def test_unknown_masks_pick_everything(planned):
    _, plan, _ = planned("""
        import torch
        x = torch.randn(1 << 20, 4, device="cuda")
        assert x[x[:, 0] > 3].shape == (1 << 20, 4)
        assert torch.unique(x[:, 0]).shape == (1 << 20,)
        assert (x > 3).sum().item() == 4 << 20
        found = [(x > 3).any().item(), (x > 3).all().item()]; assert found == [True, False]
        assert not x.isnan().any() and x.isfinite().all() and not torch.isinf(x).any() and (x == x).all()
    """)
    assert reads(plan) == [(4, 1, "all"), (5, 1, "all"), (6, 1, "all"), (7, 2, "some"), (8, 4, "finite")]


def test_there_are_no_more_distinct_indices_than_the_dimension_is_long(planned):
    code, _, err = planned("""
        import torch
        scores = torch.randn(5000, 10, device="cuda")
        best = scores.argmax(1)
        found = [best, best.view(50, 100), scores.max(-1).indices, scores.topk(3, 1).indices, scores.sort().indices]
        assert [len(torch.unique(indices)) for indices in found] == [10] * 5
        assert len(torch.unique(scores.argmax())) == 1 and len(torch.unique(scores.argmax(0))) == 10
        assert len(torch.unique(scores > 0)) == 2 and len(torch.unique(scores.to(torch.uint8))) == 256
        best += scores[:, 0].long()
        assert len(torch.unique(best)) == 5000
    """)
    assert code == 0, err


def test_random_indices_have_the_right_odds(planned):
    code, _, err = planned("""
        import torch
        edges = torch.randint(0, 100, (2, 100_000), device="cuda")
        assert 98_000 < edges[:, edges[0] != edges[1]].shape[1] < 99_500
        assert 0.13 < (torch.rand(100_000, device="cuda") < 0.15).sum().item() / 100_000 < 0.17
        assert torch.randperm(50, device="cuda").sort().values.tolist() == list(range(50))
    """)
    assert code == 0, err


def test_a_loop_ends_at_its_limit_whatever_the_values(planned):
    code, plan, err = planned("""
        import torch
        embedding = torch.nn.Embedding(100, 64).cuda()
        ids, unfinished = torch.zeros(4, 1, dtype=torch.long, device="cuda"), torch.ones(4, dtype=torch.long, device="cuda")
        while unfinished.max() != 0:
            logits = embedding(ids[:, -1]) @ embedding.weight.T
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
            is_done = torch.full((4,), ids.shape[1] >= 30, device="cuda") | torch.isin(ids[:, -1], torch.tensor([7]).cuda())
            unfinished = unfinished & ~is_done
        assert ids.shape == (4, 30)
    """)
    assert code == 0, err
    assert plan["reads"]


def test_a_loop_without_a_limit_is_left(planned):
    code, _, err = planned("""
        import torch
        x = torch.randn(8, device="cuda")
        while not (x.norm() < 1e-3):
            x = x * 0.5
    """)
    assert code == 2
    assert "job.py:4 loops, waiting for what a hollow card never gives" in err and "hint: give the loop a limit" in err


def test_episodes_that_read_are_no_loop_without_a_limit(planned):
    """Neither an episode that is begun again and again nor a loop that counts waits for anything."""
    code, plan, err = planned(
        """
        import torch
        net = torch.nn.Linear(4, 1).cuda()
        opt = torch.optim.SGD(net.parameters(), 0.1)
        class World:
            def reset(self):
                self.left = 50
            def step(self, action):
                self.left -= 1
                return self.left == 0
        world, turns = World(), 0
        def act():
            return net(torch.ones(1, 4, device="cuda")).detach().cpu().numpy()[0]
        while turns < 4_000:
            world.reset()
            done = False
            while not done:
                done = world.step(act())
                turns += 1
        net(torch.ones(1, 4, device="cuda")).sum().backward()
        opt.step()
    """,
        "--steps",
        "0",
    )
    assert code == 0, err
    assert plan["steps"] == 1


def test_a_failure_names_the_value_that_may_have_led_there(planned):
    code, _, err = planned("""
        import torch
        is_large = (torch.randn(8, device="cuda") > 9).any()
        if is_large:
            raise ValueError("too large")
    """)
    assert code == 2
    assert "job.py:4 read values from the card, which a plan cannot know and took to be: some" in err


def test_what_steps_have_shown_is_kept_when_a_later_loop_never_ends(planned):
    code, plan, err = planned("""
        import torch
        net = torch.nn.Linear(8, 8).cuda()
        opt = torch.optim.SGD(net.parameters(), 0.1)
        net(torch.randn(4, 8, device="cuda")).sum().backward()
        opt.step()
        while not net.weight.sum() > 1e9:
            pass
    """)
    assert (code, plan["steps"]) == (0, 1), err
    assert any("the run was ended" in note for note in plan["notes"])


def test_sampling_and_checks_inside_operators_pass(planned):
    code, _, err = planned("""
        import torch
        probabilities = torch.randn(4, 100, device="cuda").softmax(-1)
        assert torch.multinomial(probabilities, 1).shape == (4, 1)
        assert torch.distributions.Categorical(probs=probabilities).sample().shape == (4,)
        assert torch.distributions.Normal(torch.randn(3, device="cuda"), torch.rand(3, device="cuda")).sample().shape == (3,)
        assert torch.repeat_interleave(torch.randn(5, device="cuda").long(), torch.randn(5, device="cuda").long()).ndim == 1
    """)
    assert code == 0, err


def test_the_scale_of_gradients_is_known(planned):
    code, plan, err = planned("""
        import torch
        net = torch.nn.Linear(8, 8).cuda()
        opt = torch.optim.SGD(net.parameters(), 0.1)
        scaler = torch.amp.GradScaler("cuda", growth_interval=2)
        for step in range(2):
            scaler.scale(net(torch.randn(4, 8, device="cuda")).sum()).backward()
            scaler.step(opt)
            scaler.update()
        assert scaler.get_scale() == 131072.0, scaler.get_scale()
    """)
    assert code == 0, err
    assert plan["steps"] == 2


def test_what_a_card_holds_while_a_scaler_skips_steps_is_said(planned):
    _, plan, _ = planned("""
        import torch
        net = torch.nn.Linear(2048, 2048, bias=False).cuda()
        opt = torch.optim.Adam(net.parameters(), foreach=False)
        scaler = torch.amp.GradScaler("cuda")
        for step in range(3):
            scaler.scale(net(torch.randn(4, 2048, device="cuda")).sum()).backward()
            scaler.step(opt)
            scaler.update()
    """)
    skipped, weight_bytes = plan["while_steps_are_skipped"], 4 * 2048 * 2048
    assert skipped["line"] == 8
    assert plan["peak_allocated_bytes"] - skipped["peak_allocated_bytes"] >= 2 * weight_bytes


def test_numbers_keep_types_and_errors_keep_their_words(planned):
    code, _, err = planned("""
        import torch
        half, whole = torch.randn(3, device="cuda").half(), torch.arange(3, device="cuda")
        assert (half * 2.5).dtype == half[0].mul(2.5).dtype == torch.where(half > 0, half, 0.0).dtype == torch.float16
        assert (whole * 2.5).dtype == whole.clamp(max=2.5).dtype == torch.float32
        assert torch.maximum(whole, whole.new_tensor(2)).dtype == whole.remainder(2).dtype == torch.int64
        torch.cat([half[None], whole])
    """)
    assert code == 2
    assert "RuntimeError: Tensors must have same number of dimensions" in err
    assert "site-packages/oomph/" not in err


def test_factorizations_are_taken_to_succeed(planned):
    code, plan, err = planned("""
        import torch
        x = torch.randn(8, 32, 32, device="cuda", requires_grad=True)
        y = torch.linalg.cholesky(x @ x.mT + 32 * torch.eye(32, device="cuda"))
        (torch.linalg.solve(x, y).sum() + torch.linalg.inv(y[0]).sum()).backward()
        assert x.grad.shape == x.shape
    """)
    assert code == 0, err
    assert {read["assumed"] for read in plan["reads"]} == {"finite"}


def test_transforms_of_functions_run(planned):
    code, _, err = planned("""
        import torch
        import torch.nn.functional as F
        from torch.func import functional_call, grad, hessian, vmap

        model = torch.nn.Linear(16, 4).cuda()
        params = {name: p.detach() for name, p in model.named_parameters()}
        x, y = torch.randn(8, 16, device="cuda"), torch.randint(4, (8,), device="cuda")
        loss = lambda p, x, y: -F.cross_entropy(functional_call(model, p, (x[None],)), y[None]) * 2
        grads = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
        assert grads["weight"].shape == (8, 4, 16)
        count = torch.zeros(8, device="cuda", dtype=torch.long)
        assert vmap(lambda n: n.clone().add_(1) + 1)(count).shape == (8,)
        assert hessian(lambda w: (x @ w).square().sum())(params["weight"][0]).shape == (16, 16)
    """)
    assert code == 0, err


def test_sparse_gradients_have_an_entry_for_each_place(planned):
    code, plan, err = planned("""
        import torch
        table = torch.nn.Embedding(1000, 8, sparse=True).cuda()
        ids = torch.tensor([3, 5, 3, 7, 5, 3], device="cuda")
        table(ids).sum().backward()
        known = table.weight.grad.coalesce()
        assert known._nnz() == 3 and known.indices().tolist() == [[3, 5, 7]]
        places = torch.randn(2, 40, device="cuda").long()
        assert torch.sparse_coo_tensor(places, torch.ones(40, device="cuda"), (9, 9), check_invariants=False).coalesce()._nnz() == 40
    """)
    assert code == 0, err
    assert "all" in {read["assumed"] for read in plan["reads"]}
