import torch


class PPOLearner:
    def __init__(self, policy, cfg):
        self.policy, self.cfg = policy, cfg
        self.opt = torch.optim.Adam(policy.parameters(), cfg["lr"])
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt, lambda s: max(0.0, 1 - s / self.cfg["total"]))

    def update(self, buffer):
        for _ in range(self.cfg["epochs"]):
            for mb in buffer.minibatches(self.cfg["mb"]):
                scaler = torch.amp.GradScaler("cuda")
                self.opt.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.policy.ppo_loss(mb)
                scaler.scale(loss).backward()
                scaler.step(self.opt)
                scaler.update()
        self.sched.step()


def sweep(policies, cfgs, buffers):
    scores = {}
    for name, cfg in cfgs.items():
        learner = PPOLearner(policies[name].cuda(), cfg)
        for b in buffers:
            learner.update(b)
        scores[name] = learner.policy.score()
    return scores
