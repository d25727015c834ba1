import deepspeed
import torch


def training_function(model, loader, config, num_epochs):
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    for epoch in range(num_epochs):
        loss_sum = torch.tensor(0.0, device=engine.device)
        for step, batch in enumerate(loader):
            batch = {k: v.to(engine.device) for k, v in batch.items()}
            outputs = engine(**batch)
            loss = outputs.loss
            loss_sum += loss
            engine.backward(loss)
            engine.step()
            if engine.global_rank == 0 and step % 20 == 0:
                print(f"{epoch}/{step} {loss_sum.item() / (step + 1):.4f}")
