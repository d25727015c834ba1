# --- bad
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-2-7b-hf', device_map='auto')
# --- good
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-2-7b-hf', device_map='auto', dtype='auto')
# --- silent
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained('gpt2')
tokenizer = AutoTokenizer.from_pretrained('meta-llama/Llama-2-7b-hf')
# --- silent
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

model = AutoModelForCausalLM.from_pretrained('mistralai/Mistral-7B-v0.1', quantization_config=BitsAndBytesConfig(load_in_4bit=True))
other = AutoModelForCausalLM.from_pretrained('mistralai/Mistral-7B-v0.1', torch_dtype=torch.bfloat16)
third = AutoModelForCausalLM.from_pretrained('mistralai/Mistral-7B-v0.1', **options)
fourth = AutoModelForCausalLM.from_pretrained('mistralai/Mistral-7B-v0.1').half()
fifth = AutoModelForCausalLM.from_pretrained('TheBloke/Llama-2-7B-GPTQ')
# --- silent
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')
