from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
args = TrainingArguments("out", eval_strategy="epoch")
trainer = Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), args, eval_dataset=held, compute_metrics=score)  # <-
trainer.train()
# ---
from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments
def m(p):
    return {}
model = AutoModelForSeq2SeqLM.from_pretrained("t5-base")
args = Seq2SeqTrainingArguments("out", eval_strategy="steps", eval_steps=500)
t = Seq2SeqTrainer(model, args, train_dataset=None, eval_dataset=None, compute_metrics=m)  # <-
t.train()
# ---
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
def m(p):
    return {"ppl": 0}
def build(ds):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    args = TrainingArguments(output_dir="o", evaluation_strategy="epoch")
    return Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"], compute_metrics=m)  # <-
build(None).train()
# ---
from transformers import AutoModelForSemanticSegmentation, Trainer, TrainingArguments
def miou(p):
    return {}
model = AutoModelForSemanticSegmentation.from_pretrained("nvidia/mit-b0", num_labels=150)
args = TrainingArguments("o", eval_strategy="steps", eval_steps=100)
tr = Trainer(model=model, args=args, train_dataset=None, eval_dataset=None, compute_metrics=miou)  # <-
tr.train()
