import torch


def predict(model, images, batch_size=64):
    try:
        with torch.inference_mode():
            return torch.cat([model(b.cuda()).cpu() for b in images.split(batch_size)])
    except RuntimeError as err:
        if "out of memory" not in str(err) or batch_size == 1:
            raise
        torch.cuda.empty_cache()
        return predict(model, images, batch_size // 2)


def main(model, images):
    scores = predict(model.cuda().eval(), images)
    print(scores.shape)
