import itertools

from accelerate import Accelerator


def main(model, opt, loader, steps):
    acc = Accelerator(gradient_accumulation_steps=4)
    model, opt, loader = acc.prepare(model, opt, loader)
    for step, batch in zip(range(steps), itertools.chain.from_iterable(itertools.repeat(loader))):
        with acc.accumulate(model):
            acc.backward(model(**batch).loss)
            opt.step()
            opt.zero_grad()
    eval_iter = itertools.cycle(iter(loader))
    return next(eval_iter)
