import torch


def train(writer, editor, loader, opt, crit, rounds=2):
    for title, text in loader:
        title, text = title.cuda(), text.cuda()
        draft = writer(title)
        for _ in range(rounds):
            draft = editor(title, draft)
        loss = crit(draft.transpose(1, 2), text)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        torch.nn.utils.clip_grad_norm_(editor.parameters(), 1.0)
        opt.step()
        print(loss.item())
