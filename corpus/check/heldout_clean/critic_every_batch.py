import torch


def train(gen, critic, loader, n_critic=5, z=128):
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
    opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
    for step, (real, _) in enumerate(loader):
        real = real.cuda()
        noise = torch.randn(len(real), z, device="cuda")
        with torch.no_grad():
            fake = gen(noise)
        opt_c.zero_grad()
        (critic(fake).mean() - critic(real).mean()).backward()
        opt_c.step()
        for p in critic.parameters():
            p.data.clamp_(-0.01, 0.01)
        if step % n_critic == 0:
            opt_g.zero_grad()
            (-critic(gen(noise)).mean()).backward()
            opt_g.step()
