import torch
import torch.autograd as autograd

import sparse_ext


class SubmConv(autograd.Function):

    @staticmethod
    def forward(self, feats, weight, rules):
        self.rules = rules
        self.output_features = sparse_ext.forward(feats, weight, rules)
        self.save_for_backward(feats, weight)
        return self.output_features

    @staticmethod
    def backward(self, grad_out):
        feats, weight = self.saved_tensors
        gf, gw = sparse_ext.backward(feats, weight, self.output_features, grad_out, self.rules)
        return gf, gw, None
