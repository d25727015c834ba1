import torch


def document_step(model, chunks, labels, optimizer):
    """A document does not fit, so it goes through in chunks of 512 tokens."""
    losses = []
    for ids, lab in zip(chunks, labels):
        losses.append(model(input_ids=ids.cuda(), labels=lab.cuda()).loss)
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def train(model, documents, optimizer):
    model.train()
    for doc in documents:
        print(document_step(model, doc.chunks, doc.labels, optimizer))
