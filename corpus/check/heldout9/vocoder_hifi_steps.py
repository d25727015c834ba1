"""Vocoder training, two optimisers. Steps are functions so that the sweep script can call them."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class Upsampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Conv1d(80, 512, 7, padding=3)
        self.ups = nn.ModuleList(nn.ConvTranspose1d(512 >> i, 512 >> (i + 1), 16, 8, 4) for i in range(2))
        self.tail = nn.ConvTranspose1d(128, 1, 8, 4, 2)

    def forward(self, mel):
        h = self.pre(mel)
        for u in self.ups:
            h = u(F.leaky_relu(h, 0.1))
        return torch.tanh(self.tail(F.leaky_relu(h, 0.1)))


class ScaleJudge(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 128, 15, padding=7), nn.LeakyReLU(0.1),
                                 nn.Conv1d(128, 256, 41, 4, 20), nn.LeakyReLU(0.1), nn.Conv1d(256, 1, 3, padding=1))

    def forward(self, wav):
        return self.net(wav)


def judge_step(judge, opt_j, wav, synth):
    opt_j.zero_grad()
    r = judge(wav)
    s = judge(synth)
    loss = ((r - 1) ** 2).mean() + (s ** 2).mean()
    loss.backward(retain_graph=True)
    opt_j.step()
    return loss.item()


def voice_step(voice, judge, opt_v, wav, synth):
    opt_v.zero_grad()
    loss = ((judge(synth) - 1) ** 2).mean() + 45 * F.l1_loss(synth, wav)
    loss.backward()
    opt_v.step()
    return loss.item()


def run(pairs, steps=200_000):
    voice, judge = Upsampler().cuda(), ScaleJudge().cuda()
    opt_v = torch.optim.AdamW(voice.parameters(), 2e-4)
    opt_j = torch.optim.AdamW(judge.parameters(), 2e-4)
    done = 0
    while done < steps:
        for mel, wav in DataLoader(pairs, 16, shuffle=True, drop_last=True):
            mel, wav = mel.cuda(), wav.cuda()
            synth = voice(mel)
            j = judge_step(judge, opt_j, wav, synth)
            v = voice_step(voice, judge, opt_v, wav, synth)
            done += 1
            if done % 100 == 0:
                print(done, j, v, torch.cuda.max_memory_reserved() >> 20)


if __name__ == "__main__":
    run(torch.load("pairs.pt", map_location="cpu"))
