from torch import nn
from torch.utils.checkpoint import checkpoint


class Decoder(nn.Module):
    def __init__(self, blocks, remat):
        super().__init__()
        self.blocks, self.remat = nn.ModuleList(blocks), remat

    def forward(self, h, mask):
        for blk in self.blocks:
            def custom(*inputs):
                return blk(*inputs)

            h = checkpoint(custom, h, mask, preserve_rng_state=False) if self.remat else blk(h, mask)
        return h
