import torch
from common.loss import mpjpe


def train(model_pos, generator, optimizer, receptive_field, device="cuda"):
    model_pos.train()
    epoch_loss, n = 0.0, 0
    for cameras, batch_3d, batch_2d in generator.next_epoch():
        inputs_3d = torch.from_numpy(batch_3d.astype("float32")).to(device)
        inputs_2d = torch.from_numpy(batch_2d.astype("float32")).to(device)
        inputs_3d[:, :, 0] = 0
        predicted = model_pos(inputs_2d)
        loss = mpjpe(predicted, inputs_3d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += inputs_3d.shape[0] * loss.item()
        n += inputs_3d.shape[0]
        del inputs_3d, inputs_2d, predicted, loss
        torch.cuda.empty_cache()
    return epoch_loss / n
