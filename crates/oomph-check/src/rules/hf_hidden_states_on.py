# --- bad
import torch
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
with torch.no_grad():
    pooled = model(**batch, output_hidden_states=True).pooler_output
# --- good
import torch
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
with torch.no_grad():
    pooled = model(**batch).pooler_output
# --- bad
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-uncased', output_hidden_states=True)

def encode(ids):
    return model(ids).last_hidden_state.mean(1)
# --- good
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-uncased')

def encode(ids):
    return model(ids).last_hidden_state.mean(1)
# --- silent
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
out = model(**batch, output_hidden_states=True)
print(out.last_hidden_state, out.hidden_states[-2])
# --- silent
from transformers import AutoModel

model = AutoModel.from_pretrained('bert-base-cased')
out = model(**batch, output_attentions=True)
print(out[0], out[-1])
