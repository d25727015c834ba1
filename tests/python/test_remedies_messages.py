"""Messages of a graph network in parts of its edges: the same numbers, on the CPU."""

from __future__ import annotations

import pytest
import torch

geometric = pytest.importorskip("torch_geometric.nn")

from oomph.remedies.desk import Desk  # noqa: E402
from oomph.remedies.message_parts import install, message_parts  # noqa: E402

NODES, EDGES = 40, 301


def kinds() -> dict[str, torch.nn.Module]:
    """Layers of classes of their own: a class that was told once stays so."""
    bases = {
        "gcn": (geometric.GCNConv, (6, 5)),
        "gat": (geometric.GATConv, (6, 5, 2)),
        "mean": (geometric.SAGEConv, (6, 5)),
    }
    return {name: type(name, (base,), {})(*args).double() for name, (base, args) in bases.items()}


def results(layer: torch.nn.Module, x: torch.Tensor, edges: torch.Tensor) -> list[torch.Tensor]:
    """The output, and the gradients of it with respect to everything."""
    x = x.clone().requires_grad_()
    layer.zero_grad()
    out = layer(x, edges)
    out.sin().sum().backward()
    return [out.detach(), x.grad, *(parameter.grad.clone() for parameter in layer.parameters())]


@pytest.mark.parametrize("name", list(kinds()))
@pytest.mark.parametrize("parts", [2, 7])
def test_parts_come_to_the_same(name: str, parts: int) -> None:
    """Outputs and gradients of three kinds of layers, and without gradients."""
    torch.manual_seed(0)
    layer = kinds()[name]
    x, edges = torch.randn(NODES, 6, dtype=torch.double), torch.randint(0, NODES, (2, EDGES))
    with torch.no_grad():
        plain_output = layer(x, edges)
    plain = results(layer, x, edges)
    assert message_parts(layer, parts) == [""]
    for one, other in zip(plain, results(layer, x, edges), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    with torch.no_grad():
        torch.testing.assert_close(plain_output, layer(x, edges), rtol=1e-12, atol=1e-12)


def test_messages_are_made_in_parts() -> None:
    """No message tensor has more rows than a part has edges, in either pass."""
    seen: list[int] = []

    class Layer(geometric.MessagePassing):
        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            return self.propagate(edge_index, x=x)

        def message(self, x_j: torch.Tensor) -> torch.Tensor:
            seen.append(len(x_j))
            return x_j * 2

    layer = Layer(aggr="sum")
    message_parts(layer, 4)
    layer(torch.randn(NODES, 3, requires_grad=True), torch.randint(0, NODES, (2, EDGES))).sum().backward()
    assert sum(seen) == 2 * EDGES and max(seen) <= -(-EDGES // 4)


def test_what_depends_on_other_edges_stays_whole_and_says_so() -> None:
    """A softmax over a node's edges inside a message, and a maximum."""
    told: list[tuple[str, str]] = []
    desk = Desk(lambda name, kind, what: told.append((kind, str(what))), "message_parts")
    install(torch, desk, parts=3)
    kind = type("Attentive", (geometric.TransformerConv,), {})
    greatest = type("Greatest", (geometric.SAGEConv,), {})
    x, edges = torch.randn(NODES, 6), torch.randint(0, NODES, (2, EDGES))
    for layer in (kind(6, 5), greatest(6, 5, aggr="max")):
        desk.calls.about_to_call(layer, (x, edges), {})
        layer(x, edges).sum().backward()
    assert [kind for kind, _ in told] == ["refused", "refused"]
    assert "other edges" in told[0][1] and "sum or a mean" in told[1][1]
