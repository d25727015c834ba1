import copy, timm, torch
net = timm.create_model("vit_tiny_patch16_224", num_classes=100).cuda()
ema = copy.deepcopy(net).eval()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for it in range(200):
    x, y = torch.randn(48, 3, 224, 224, device="cuda"), torch.randint(0, 100, (48,), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(set_to_none=True); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in zip(ema.state_dict().values(), net.state_dict().values()): a.lerp_(b, 0.01)
    if (it + 1) % 100 == 0:
        with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
            ema(torch.randn(256, 3, 224, 224, device="cuda"))
