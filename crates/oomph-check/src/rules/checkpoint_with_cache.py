# --- bad
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('gpt2', use_cache=True)
model.gradient_checkpointing_enable()
# --- good
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('gpt2', use_cache=False)
model.gradient_checkpointing_enable()
# --- bad
from transformers import AutoModelForCausalLM, Trainer

def finetune(rows):
    model = AutoModelForCausalLM.from_pretrained('gpt2')
    model.gradient_checkpointing_enable()
    model.config.use_cache = True
    Trainer(model, train_dataset=rows).train()
# --- good
from transformers import AutoModelForCausalLM, Trainer

def finetune(rows):
    model = AutoModelForCausalLM.from_pretrained('gpt2')
    model.gradient_checkpointing_enable()
    model.config.use_cache = False
    Trainer(model, train_dataset=rows).train()
# --- silent
from transformers import AutoModelForCausalLM

def train(model, trainer):
    model.gradient_checkpointing_enable()
    trainer.train()
    model.config.use_cache = True
    model.save_pretrained('out')
# --- silent
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('gpt2', use_cache=True)
print(model.generate(**inputs))
# --- silent
from transformers import AutoModelForCausalLM, Trainer

model = AutoModelForCausalLM.from_pretrained('gpt2')
model.gradient_checkpointing_enable()
model.config.use_cache = False
Trainer(model).train()
model.config.use_cache = True
