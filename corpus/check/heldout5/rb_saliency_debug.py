import torch


class ActivationProbe:
    """Attach to every conv of the policy to see dead units."""

    def __init__(self, model):
        self.log = {}
        self.handles = []
        for name, m in model.named_modules():
            if isinstance(m, torch.nn.Conv2d):
                self.log[name] = []
                self.handles.append(m.register_forward_hook(self.make(name)))

    def make(self, name):
        def hook(module, args, output):
            self.log[name].append(output)
        return hook

    def dead(self):
        return {n: (torch.cat([o.flatten(2).amax(2) for o in outs]) <= 0).all(0).sum().item()
                for n, outs in self.log.items()}


def train(policy, demos, opt, steps):
    probe = ActivationProbe(policy)
    it = iter(demos)
    for s in range(steps):
        img, act = next(it)
        loss = (policy(img.cuda()) - act.cuda()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(probe.dead())
