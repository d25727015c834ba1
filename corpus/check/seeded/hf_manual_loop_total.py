from accelerate import Accelerator
import torch
from transformers import AutoModelForQuestionAnswering, get_scheduler


def finetune(args, train_dl):
    accelerator = Accelerator(mixed_precision="bf16")
    model = AutoModelForQuestionAnswering.from_pretrained(args.model, torch_dtype=torch.bfloat16)
    optim = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = get_scheduler("linear", optim, 0, args.steps)
    model, optim, train_dl, sched = accelerator.prepare(model, optim, train_dl, sched)
    train_loss = 0
    for step, data in enumerate(train_dl):
        output = model(**data)
        accelerator.backward(output.loss)
        optim.step()
        sched.step()
        optim.zero_grad()
        train_loss += output.loss
        if step and step % args.log_every == 0:
            accelerator.print(step, train_loss / args.log_every)
            train_loss = 0
