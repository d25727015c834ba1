"""Of models in pieces, a plan says what is a parameter, a gradient and optimizer state, and when."""

HEAD = """
import os, torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
"""
LOOP = """
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(20):
    model(torch.randn(16, 4096, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TENSOR_PARALLEL = """
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
model = nn.Sequential(*[nn.Linear(4096, 4096, bias=False) for _ in range(8)]).cuda()
parallelize_module(model, mesh, {str(at): (RowwiseParallel if at % 2 else ColwiseParallel)() for at in range(8)})
"""
#: One layer of 4096 x 4096 numbers.
LAYER_BYTES = 1 << 26


def test_the_whole_model_before_it_is_cut_up_is_parameters(planned, script):
    """It is in no optimizer by the time one is made."""
    plan = planned("torchrun", "--nproc-per-node", "8", script(HEAD + TENSOR_PARALLEL + LOOP))
    assert plan["categories"]["parameters"] >= 7 * LAYER_BYTES, plan["categories"]
    assert plan["categories"]["other"] < LAYER_BYTES, plan["categories"]


def test_pieces_are_known_in_their_steps(planned, script):
    """The model is cut up on the host: the peak is in a step."""
    text = TENSOR_PARALLEL.replace(".cuda()", "") + "model.cuda()\n"
    plan = planned("torchrun", "--nproc-per-node", "8", script(HEAD + text + LOOP))
    assert plan["steps"] >= 3 and plan["peak_at"]["step"], plan["peak_at"]
    # Eight layers, of each an eighth.
    assert plan["categories"]["parameters"] == LAYER_BYTES
    assert plan["categories"]["gradients"] == LAYER_BYTES
    assert plan["categories"]["optimizer"] >= 2 * LAYER_BYTES
    # What the optimizer computes with for a moment.
    assert plan["categories"]["other"] <= LAYER_BYTES, plan["categories"]


def test_layers_that_fsdp_puts_together_are_parameters_and_gradients(planned, script):
    text = """
from torch.distributed.fsdp import fully_shard
model = nn.Sequential(*[nn.Linear(4096, 4096, bias=False) for _ in range(8)])
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
model.to("cuda")
"""
    plan = planned("torchrun", "--nproc-per-node", "8", "--nnodes", "8", script(HEAD + text + LOOP))
    # The piece of this process is an eighth of a layer. A whole layer, on its way and arrived, is much more, and so are
    # its gradients; inputs of 16 rows are next to nothing.
    categories = plan["categories"]
    assert categories["parameters"] >= 2 * LAYER_BYTES and categories["gradients"] >= LAYER_BYTES, categories
    assert categories["activations"] < LAYER_BYTES, categories
