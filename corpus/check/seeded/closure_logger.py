import matplotlib.pyplot as plt
import torch


def make_logger():
    points = []

    def log(step, value):
        points.append((step, value))

    def draw(path):
        xs, ys = zip(*points)
        plt.plot(xs, [float(y) for y in ys])
        plt.savefig(path)

    log.draw = draw
    return log, points


def pretrain(model, opt, stream, steps):
    curve = []
    for step, batch in zip(range(steps), stream):
        loss = model(batch.cuda()).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        if step % 10 == 0:
            curve.append({"step": step, "loss": loss})
    plt.plot([p["step"] for p in curve], [float(p["loss"]) for p in curve])
    plt.savefig("curve.png")
