import torch


class Imagen(torch.nn.Module):
    def __init__(self, unets):
        super().__init__()
        self.unets = torch.nn.ModuleList(unets)

    def load(self, path, only_model=False):
        loaded = torch.load(str(path))
        self.load_state_dict(loaded["model"])
        return loaded.get("version")
