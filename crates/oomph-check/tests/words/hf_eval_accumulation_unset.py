from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
args = TrainingArguments("out", eval_strategy="epoch")
trainer = Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), args, eval_dataset=held, compute_metrics=score)  # <-
trainer.train()
