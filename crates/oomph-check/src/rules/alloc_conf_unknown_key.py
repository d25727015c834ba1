# --- bad
import os
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segment:True'
import torch
# --- good
import os
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'
import torch
# --- bad
import os
import torch
os.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'max_split_size_mb=128,garbage_collection_threshold:0.8')
# --- good
import os
import torch
os.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'max_split_size_mb:128,garbage_collection_threshold:0.8')
# --- silent
import os
import torch
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'roundup_power2_divisions:[256:1,512:2,>:4],backend:native'
# --- silent
import os
import torch
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = ''
# --- silent
import os
import torch
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = settings
os.environ['MY_OPTIONS'] = 'speed:9'
# --- silent
import os
import torch
os.environ['PYTORCH_ALLOC_CONF'] = ' max_split_size_mb : 64 , expandable_segments:False'
