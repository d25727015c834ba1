import torch
from ignite.engine import Engine, Events


def make_trainer(model, optimizer, criterion, device, accumulation_steps=4):
    def update(engine, batch):
        model.train()
        optimizer.zero_grad()
        x, y = (t.to(device) for t in batch)
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if engine.state.iteration % accumulation_steps == 0:
            optimizer.step()
        return loss.item()

    trainer = Engine(update)

    @trainer.on(Events.EPOCH_COMPLETED)
    def report(engine):
        print(f"epoch {engine.state.epoch}: {engine.state.output:.4f}")

    return trainer
