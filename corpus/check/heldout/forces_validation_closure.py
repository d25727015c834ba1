import torch


def make_validator(model, loader, device):
    mae = torch.nn.L1Loss()

    def validate(epoch):
        model.eval()
        energy = 0.0
        seen = 0
        for batch in loader:
            batch = batch.to(device)
            e = model(batch.z, batch.pos, batch.batch)
            energy += mae(e, batch.y).item() * batch.num_graphs
            seen += batch.num_graphs
        model.train()
        print(f"[{epoch}] energy MAE {energy / seen:.5f}")
        return energy / seen

    return validate
