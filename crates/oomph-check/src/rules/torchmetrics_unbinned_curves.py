# --- bad
import torch
from torchmetrics import AUROC

auroc = AUROC(task='binary').cuda()
for x, y in loader:
    auroc.update(scores(x), y)
print(auroc.compute())
# --- good
import torch
from torchmetrics import AUROC

auroc = AUROC(task='binary', thresholds=200).cuda()
for x, y in loader:
    auroc.update(scores(x), y)
print(auroc.compute())
# --- silent
from torchmetrics import Accuracy, AUROC

accuracy = Accuracy(task='binary')
auroc = AUROC(task='binary', compute_on_cpu=True)
other = AUROC(**options)
# --- silent
from torchmetrics.functional import auroc
from sklearn.metrics import PrecisionRecallDisplay

print(auroc(scores, targets, task='binary'))
