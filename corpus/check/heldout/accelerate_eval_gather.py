import torch
from accelerate import Accelerator
from tqdm.auto import tqdm


def run(model, optimizer, train_dl, eval_dl, scheduler, metric, epochs=3):
    accelerator = Accelerator()
    model, optimizer, train_dl, eval_dl = accelerator.prepare(model, optimizer, train_dl, eval_dl)
    for epoch in range(epochs):
        model.train()
        for batch in tqdm(train_dl, disable=not accelerator.is_local_main_process):
            optimizer.zero_grad()
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()

        model.eval()
        for batch in eval_dl:
            outputs = model(**batch)
            preds = outputs.logits.argmax(dim=-1)
            preds, refs = accelerator.gather_for_metrics((preds, batch["labels"]))
            metric.add_batch(predictions=preds, references=refs)
        accelerator.print(epoch, metric.compute())
