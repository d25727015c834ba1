import torch
from torchvision.utils import save_image


def sample_images(gen, val_batches, out_dir):
    """Writes one grid for every validation batch."""
    gen.eval()
    for n, (cond, real) in enumerate(val_batches):
        cond = cond.cuda()
        fake = gen(cond)
        grid = torch.cat((cond.data, fake.data, real.cuda()), -2)
        save_image(grid, "%s/%04d.png" % (out_dir, n), nrow=5, normalize=True)
    gen.train()
