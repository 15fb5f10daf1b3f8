# SPDX-License-Identifier: MIT
"""The model and its tokens: a decoder of 7 million parameters, as transformers' Llama has it, and a vocabulary made from the lessons. Needs torch, transformers,
tokenizers."""
import json

import tokenizers
import torch
import transformers

from common import rows

MARKS = ("<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
# A value of the grammar (128x64x64, w2x2, s4) becomes one token, with the blank before it; a number of the problem one for each digit.
WORDS = r" ?[a-z]+\d+(?:x\d+)*(?:t\d+)?[a-z]?| ?\d+x\d+(?:x\d+)?| ?[A-Za-z]+| ?\d|\s+| ?[^A-Za-z0-9\s]"
CONTEXT = 8192
SIZES = {   # hidden, inner, layers, heads
    "7m":   (256, 704, 8, 4),
    "tiny": (64, 128, 2, 2),
}


def text_of(prompt, answer=None):
    """As TEMPLATE writes it."""
    text = "".join(f"<|{one['role']}|>{one['content']}<|end|>" for one in prompt) + "<|assistant|>"
    return text if answer is None else text + answer + "<|end|>"


def train_tokenizer(paths, vocabulary=2048, most=4000):
    def texts():
        left = most
        for path in paths:
            for row in rows(path):
                if left == 0:
                    return
                left -= 1
                yield from (one["content"] for one in row["prompt"] + row["completion"])
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Split(tokenizers.Regex(WORDS), "isolated"),
                                                             tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=list(MARKS), initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(texts(), trainer)
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>", additional_special_tokens=list(MARKS[2:]),
                                                 clean_up_tokenization_spaces=False, padding_side="left")
    words.chat_template = TEMPLATE
    return words


def create(size, vocabulary, seed):
    torch.manual_seed(seed)
    hidden, inner, layers, heads = SIZES[size]
    config = transformers.LlamaConfig(vocab_size=vocabulary, hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads,
                                      max_position_embeddings=CONTEXT, tie_word_embeddings=True, initializer_range=0.02, eos_token_id=0, pad_token_id=1, bos_token_id=None)
    model = transformers.LlamaForCausalLM(config)
    model.generation_config = transformers.GenerationConfig(eos_token_id=0, pad_token_id=1, do_sample=True, top_k=0, top_p=1.0, temperature=1.0)
    return model


def device_of(name=None):
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def load_words(path):
    """By what the file says. AutoTokenizer goes by the kind of model instead, and of some kinds (Qwen2) splits texts in its own way; of Llama it does not."""
    words = transformers.PreTrainedTokenizerFast.from_pretrained(path, padding_side="left")
    words.chat_template = TEMPLATE
    return words


def load(path, device):
    words = load_words(path)
    model = transformers.LlamaForCausalLM.from_pretrained(path, dtype=torch.float32)
    return model.to(device).eval(), words


@torch.no_grad()
def answers(model, words, prompts, count=1, temperature=1.0, length=48):
    """Of each question `count` answers with their log-probability at temperature 1; temperature 0: the most probable words, once."""
    device = next(model.parameters()).device
    inputs = words([text_of(prompt) for prompt in prompts], return_tensors="pt", padding=True, add_special_tokens=False).to(device)
    how = {"do_sample": True, "temperature": temperature, "num_return_sequences": count} if temperature > 0 else {"do_sample": False}
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        got = model.generate(**inputs, **how, top_k=0, top_p=1.0, max_new_tokens=length, output_logits=True, return_dict_in_generate=True, eos_token_id=words.eos_token_id,
                             pad_token_id=words.pad_token_id)
    written = got.sequences[:, inputs["input_ids"].shape[1]:]
    total = torch.zeros(len(written), device=device)
    open_ = torch.ones(len(written), dtype=torch.bool, device=device)
    for at, logits in enumerate(got.logits):
        chosen = torch.log_softmax(logits.float(), -1).gather(1, written[:, at:at + 1])[:, 0]
        total += torch.where(open_, chosen, 0.0)
        open_ &= written[:, at] != words.eos_token_id
    texts = words.batch_decode(written, skip_special_tokens=True)
    each = len(texts) // len(prompts)
    return [[(texts[i * each + j], total[i * each + j].item()) for j in range(each)] for i in range(len(prompts))]


class Log:
    """A line of JSON for each step, as trainers of transformers keep them (gemmsmith report reads it)."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def add(self, **entry):
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
        print(" ".join(f"{name} {value:.5g}" for name, value in entry.items()), flush=True)
