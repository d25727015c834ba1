from transformers import GPT2LMHeadModel, Trainer, TrainingArguments


def build(train, val, metrics):
    model = GPT2LMHeadModel.from_pretrained('gpt2-large')
    kw = dict(output_dir='x', eval_strategy='epoch', per_device_train_batch_size=4)
    args = TrainingArguments(**kw)
    return Trainer(model=model, args=args, train_dataset=train, eval_dataset=val, compute_metrics=metrics)  # <-
# ---
from transformers import Trainer, TrainingArguments, AutoModelForCausalLM
from peft import get_peft_model, LoraConfig


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        out = model(**inputs)
        return (out.loss, out) if return_outputs else out.loss


def train(ds, metrics):
    model = get_peft_model(AutoModelForCausalLM.from_pretrained('gpt2'), LoraConfig(r=8))
    trainer = MyTrainer(model=model, args=TrainingArguments(output_dir='o', eval_strategy='steps', eval_steps=50), train_dataset=ds['train'], eval_dataset=ds['val'], compute_metrics=metrics)  # <-
    trainer.train()
# ---
from transformers import AutoModelForMaskedLM, Trainer, TrainingArguments


def make_model(name):
    return AutoModelForMaskedLM.from_pretrained(name)


def main(train, dev, metric):
    model = make_model('roberta-base')
    args = TrainingArguments('out', evaluation_strategy='epoch')
    trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=dev, compute_metrics=metric)  # <-
    trainer.train()
# ---
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(train, dev, metric):
    trainer = Trainer(  # <-
        model_init=lambda: AutoModelForCausalLM.from_pretrained('gpt2'),
        args=TrainingArguments('out', eval_strategy='epoch'),
        train_dataset=train,
        eval_dataset=dev,
        compute_metrics=metric,
    )
    trainer.train()
