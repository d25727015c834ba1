import torch
from torch.utils.data import DataLoader, RandomSampler
from transformers import AutoModelForQuestionAnswering, get_linear_schedule_with_warmup


def train(args, train_dataset):
    model = AutoModelForQuestionAnswering.from_pretrained(args.model).to(args.device)
    loader = DataLoader(train_dataset, sampler=RandomSampler(train_dataset), batch_size=args.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = get_linear_schedule_with_warmup(optimizer, 100, len(loader) // args.accum * args.epochs)
    model.zero_grad()
    for _ in range(args.epochs):
        for step, batch in enumerate(loader, start=1):
            model.train()
            batch = {k: v.to(args.device) for k, v in batch.items()}
            loss = model(**batch).loss / args.accum
            loss.backward()
            if step % args.accum != 0:
                continue
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            optimizer.step()
            scheduler.step()
            model.zero_grad()
    return model
