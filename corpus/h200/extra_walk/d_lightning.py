import torch, lightning as L
from torch.utils.data import DataLoader, TensorDataset
class M(L.LightningModule):
    def __init__(s):
        super().__init__(); s.net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10))
    def training_step(s, b, i): x, y = b; return torch.nn.functional.cross_entropy(s.net(x), y)
    def validation_step(s, b, i): x, y = b; s.log("v", torch.nn.functional.cross_entropy(s.net(x), y))
    def configure_optimizers(s): return torch.optim.Adam(s.parameters())
data = TensorDataset(torch.randn(2048, 1024), torch.randint(0, 10, (2048,)))
L.Trainer(max_epochs=3, accelerator="gpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False).fit(M(), DataLoader(data, 64), DataLoader(data, 512))
