# SPDX-License-Identifier: MIT
"""The model and its tokens: a decoder of 7 million parameters, as transformers' Llama has it, and a vocabulary made from the lessons. Needs torch, transformers,
tokenizers."""
import json

import tokenizers
import torch
import transformers

from common import brief, rows

MARKS = ("<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>")
TEMPLATE = "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
# A value of the grammar (128x64x64, w2x2, s4) becomes one token, with the blank before it, and so does a mark of an edit or a block; a number of the problem one for each digit.
WORDS = r"<{5,9}|={5,9}|>{5,9}|`{3,}| ?[a-z]+\d+(?:x\d+)*(?:t\d+)?[a-z]?| ?\d+x\d+(?:x\d+)?| ?[A-Za-z]+| ?\d|\s+| ?[^A-Za-z0-9\s]"
CONTEXT = 8192
SIZES = {   # hidden, inner, layers, heads
    "7m":   (256, 704, 8, 4),
    "tiny": (64, 128, 2, 2),
}


def is_brief(words):
    """Whether the model of these words reads brief questions."""
    return bool(words.init_kwargs.get("brief"))


def shown(words, prompt):
    """The messages as the model of these words reads them."""
    return brief(prompt) if is_brief(words) else prompt


def text_of(words, prompt, answer=None):
    """As TEMPLATE writes it."""
    text = "".join(f"<|{one['role']}|>{one['content']}<|end|>" for one in shown(words, prompt)) + "<|assistant|>"
    return text if answer is None else text + answer + "<|end|>"


def train_tokenizer(paths, vocabulary=2048, most=4000, short=False):
    """short: of brief questions, which the words then say of their model."""
    def texts():
        left = most
        for path in paths:
            for row in rows(path):
                if left == 0:
                    return
                left -= 1
                yield from (one["content"] for one in (brief(row["prompt"]) if short else row["prompt"]) + row["completion"])
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.Split(tokenizers.Regex(WORDS), "isolated"),
                                                             tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=list(MARKS), initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(texts(), trainer)
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>", additional_special_tokens=list(MARKS[2:]),
                                                 clean_up_tokenization_spaces=False, padding_side="left", brief=short)
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
    """Of each question `count` answers with their log-probability at temperature 1; temperature 0: the most probable words, once. A question is read once for all of its
    answers."""
    device = next(model.parameters()).device
    count = count if temperature > 0 else 1
    asked = words([text_of(words, prompt) for prompt in prompts], return_tensors="pt", padding=True, add_special_tokens=False).to(device)
    mask, rows_ = asked["attention_mask"], len(prompts) * count
    written = torch.empty(rows_, 0, dtype=torch.long, device=device)
    total, open_ = torch.zeros(rows_, device=device), torch.ones(rows_, dtype=torch.bool, device=device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        got = model(input_ids=asked["input_ids"], attention_mask=mask, position_ids=(mask.cumsum(1) - 1).clamp(min=0), use_cache=True, logits_to_keep=1)
        kept, logits = got.past_key_values, got.logits[:, -1].repeat_interleave(count, 0)
        kept.batch_repeat_interleave(count)
        mask = mask.repeat_interleave(count, 0)
        place = mask.sum(1, keepdim=True)
        while True:
            known = torch.log_softmax(logits.float(), -1)
            chosen = torch.multinomial((known / temperature).softmax(-1), 1) if temperature > 0 else known.argmax(-1, keepdim=True)
            total += torch.where(open_, known.gather(1, chosen)[:, 0], 0.0)
            chosen = torch.where(open_[:, None], chosen, words.pad_token_id)
            written = torch.cat([written, chosen], 1)
            open_ &= chosen[:, 0] != words.eos_token_id
            if written.shape[1] == length or not open_.any():
                break
            mask = torch.cat([mask, mask.new_ones(rows_, 1)], 1)
            got = model(input_ids=chosen, attention_mask=mask, position_ids=place, past_key_values=kept, use_cache=True)
            logits, place = got.logits[:, -1], place + 1
    texts = words.batch_decode(written, skip_special_tokens=True)
    return [[(texts[i * count + j], total[i * count + j].item()) for j in range(count)] for i in range(len(prompts))]


class Log:
    """A line of JSON for each step, as trainers of transformers keep them (gemmsmith report reads it)."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def add(self, **entry):
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
        print(" ".join(f"{name} {value:.5g}" for name, value in entry.items()), flush=True)
