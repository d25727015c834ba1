import copy
import random

import torch

from boardgame import Game
from az import AlphaNet, self_play, train_epoch

net = AlphaNet(blocks=20, channels=256).cuda()
opponents = []


def play_match(a, b, games=40):
    a.eval(), b.eval()
    wins = 0
    for g in range(games):
        game, turn = Game(), 0
        players = (a, b) if g % 2 == 0 else (b, a)
        while not game.over():
            x = torch.from_numpy(game.planes()).float().unsqueeze(0).cuda()
            logits, value = players[turn](x)
            logits = logits[0].cpu()
            logits[~game.legal()] = -1e9
            game.push(int(logits.argmax()))
            turn ^= 1
        if game.winner() == (0 if g % 2 == 0 else 1):
            wins += 1
    return wins / games


for gen in range(500):
    data = self_play(net, n_games=200)
    net.train()
    train_epoch(net, data)
    if opponents:
        rival = random.choice(opponents)
        print(gen, "win rate vs pool", play_match(net, rival))
    # league: keep every past version
    opponents.append(copy.deepcopy(net))
