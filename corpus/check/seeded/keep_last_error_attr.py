import torch


class Worker:
    def __init__(self, model):
        self.model = model.cuda()
        self.last_failure = None

    def handle(self, request):
        try:
            with torch.inference_mode():
                return self.model(request.tensor.cuda()).cpu()
        except RuntimeError as exc:
            self.last_failure = exc
            return None
