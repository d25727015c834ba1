# --- bad
from torch.utils.checkpoint import checkpoint

def forward(self, x):
    for block in self.blocks:
        x = checkpoint(block, x)
    return x
# --- good
from torch.utils.checkpoint import checkpoint

def forward(self, x):
    for block in self.blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x
# --- bad
import torch.utils.checkpoint as cp

def forward(self, x):
    if self.with_cp and x.requires_grad:
        out = cp.checkpoint(self.inner, x)
    else:
        out = self.inner(x)
    return cp.checkpoint_sequential(self.tail, 4, out)
# --- good
import torch.utils.checkpoint as cp

def forward(self, x):
    if self.with_cp and x.requires_grad:
        out = cp.checkpoint(self.inner, x, use_reentrant=False)
    else:
        out = self.inner(x)
    return cp.checkpoint_sequential(self.tail, 4, out, use_reentrant=False)
# --- silent
from torch.utils.checkpoint import checkpoint

def forward(self, x, **options):
    return checkpoint(self.block, x, **options)
# --- silent
from my_parallel import checkpoint

def forward(self, x):
    return checkpoint(self.block, x)
# --- silent
from fairscale.nn.checkpoint import checkpoint_wrapper as checkpoint

layer = checkpoint(layer)
# --- silent
from torch.utils.checkpoint import checkpoint
from versions import is_torch_version

def forward(self, x):
    if is_torch_version('>=', '1.11.0'):
        return checkpoint(self.block, x, use_reentrant=False)
    else:
        return checkpoint(self.block, x)
