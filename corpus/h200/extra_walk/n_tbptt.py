import torch
from torch import nn
class LM(nn.Module):
    def __init__(s): super().__init__(); s.e = nn.Embedding(5000, 512); s.r = nn.LSTM(512, 1024, 2, batch_first=True); s.o = nn.Linear(1024, 5000)
    def forward(s, x, h): y, h = s.r(s.e(x), h); return s.o(y), h
m = LM().cuda(); opt = torch.optim.Adam(m.parameters())
text = torch.randint(0, 5000, (16, 35 * 40 + 1), device="cuda")
for epoch in range(3):
    h = None
    for i in range(0, text.size(1) - 1, 35):
        logits, h = m(text[:, i:i + 35], h)
        h = tuple(t.detach() for t in h)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, i + 1:i + 36].flatten())
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(m.parameters(), 0.25); opt.step()
    m.eval()
    with torch.no_grad():
        m(text, None)
    m.train()
