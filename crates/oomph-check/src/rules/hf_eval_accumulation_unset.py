# --- bad
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained('gpt2')
args = TrainingArguments(output_dir='out', per_device_eval_batch_size=8)
trainer = Trainer(model=model, args=args, eval_dataset=data, compute_metrics=metrics)
# --- good
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained('gpt2')
args = TrainingArguments(output_dir='out', per_device_eval_batch_size=8, eval_accumulation_steps=4)
trainer = Trainer(
    model=model,
    args=args,
    eval_dataset=data,
    compute_metrics=metrics,
    preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1),
)
# --- silent
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

model = AutoModelForSequenceClassification.from_pretrained('bert-base-cased')
args = TrainingArguments(output_dir='out')
trainer = Trainer(model=model, args=args, compute_metrics=metrics)
# --- silent
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained('gpt2')
trainer = Trainer(model=model, args=args, compute_metrics=metrics)
# --- silent
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained('gpt2')
args = TrainingArguments(output_dir='out', prediction_loss_only=True)
trainer = Trainer(model=model, args=args, compute_metrics=metrics)
