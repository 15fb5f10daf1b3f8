#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 2, imitation: the model learns the answers of the lessons from nothing.

    imitate.py DATA OUT [--steps 6000] [--batch 32] [--seconds S] [--seed 1] [--arm rl-no-examples]

OUT gets the model as transformers load it, log.jsonl, and state.pt: the same command goes on where it was stopped. bf16 on a GPU, f32 on a CPU.
"""
import argparse
import math
import random
import time
from pathlib import Path

import numpy
import torch

from common import ARMS, rows
from model import SIZES, Log, create, device_of, load, text_of, train_tokenizer

IGNORED = -100
RATE, WARM, DECAY, CLIP = 1e-3, 200, 0.1, 1.0


class Examples:
    """Token numbers of all lessons in one array, with where each begins and where its answer does."""

    def __init__(self, paths, words, arm, most=None, longest=6000):
        flat, starts, answers = [], [0], []
        for batch in self.batches(paths, arm, most):
            asked = words([text_of(prompt) for prompt, _ in batch], add_special_tokens=False)["input_ids"]
            answered = words([text_of([], answer).removeprefix("<|assistant|>") for _, answer in batch], add_special_tokens=False)["input_ids"]
            for question, answer in zip(asked, answered, strict=True):   # a mark ends the question, so no token crosses it
                if len(question) + len(answer) <= longest:
                    flat.append(numpy.array(question + answer, dtype=numpy.uint16))
                    starts.append(starts[-1] + len(flat[-1]))
                    answers.append(len(question))
        self.flat, self.starts, self.answers = numpy.concatenate(flat) if flat else None, starts, answers

    @staticmethod
    def batches(paths, arm, most):
        edit, batch, left = ARMS[arm] or (lambda prompt: prompt), [], most
        for path in paths:
            for row in rows(path):
                if left == 0:
                    break
                left = left and left - 1
                batch.append((edit(row["prompt"]), row["completion"][0]["content"]))
                if len(batch) == 1000:
                    yield batch
                    batch = []
        if batch:
            yield batch

    def __len__(self):
        return len(self.answers)

    def length(self, i):
        return self.starts[i + 1] - self.starts[i]

    def batch(self, chosen, device):
        longest = max(map(self.length, chosen))
        ids = numpy.ones((len(chosen), longest), dtype=numpy.int64)            # 1: padding
        labels = numpy.full((len(chosen), longest), IGNORED, dtype=numpy.int64)
        for row, i in enumerate(chosen):
            own = self.flat[self.starts[i]:self.starts[i + 1]]
            ids[row, :len(own)] = own
            labels[row, self.answers[i]:len(own)] = own[self.answers[i]:]
        return torch.from_numpy(ids).to(device), torch.from_numpy(labels).to(device)


def order(examples, batch, steps, seed):
    """Batches of like length, drawn anew in every pass; the same seed gives the same."""
    source = random.Random(seed)
    done = 0
    while done < steps:
        left = list(range(len(examples)))
        source.shuffle(left)
        made = []
        for at in range(0, len(left), 64 * batch):
            part = sorted(left[at:at + 64 * batch], key=examples.length)
            made += [part[i:i + batch] for i in range(0, len(part), batch)]
        source.shuffle(made)
        yield from made[:steps - done]
        done += len(made)


def loss_of(model, examples, chosen, device):
    """Of the answers' tokens alone. Padding stands on the right, so no token sees it. Logits are made only where an answer is."""
    ids, labels = examples.batch(chosen, device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        hidden = model.model(input_ids=ids).last_hidden_state[:, :-1]
        wanted = labels[:, 1:] != IGNORED
        logits = model.lm_head(hidden[wanted])
    return torch.nn.functional.cross_entropy(logits.float(), labels[:, 1:][wanted])


@torch.no_grad()
def check(model, examples, batch, device):
    model.eval()
    losses = [loss_of(model, examples, list(range(at, min(at + batch, len(examples)))), device).item() for at in range(0, len(examples), batch)]
    model.train()
    return sum(losses) / len(losses)


def rate_of(step, steps, rate):
    warm = min(WARM, max(steps // 10, 1))
    if step < warm:
        return rate * (step + 1) / warm
    return rate * (0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm) / max(steps - warm, 1))))


def save(out, model, words, optimizer, step):
    model.save_pretrained(out)
    words.save_pretrained(out)
    torch.save({"step": step, "optimizer": optimizer.state_dict()}, out / "state.new")
    (out / "state.new").replace(out / "state.pt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arm", choices=ARMS, default="imitation", help="what the questions show")
    parser.add_argument("--size", choices=SIZES, default="7m")
    parser.add_argument("--vocabulary", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--most", type=int, help="lessons at most")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop then, to be continued")
    parser.add_argument("--every", type=int, default=50, help="steps between lines of the log")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device")
    asked = parser.parse_args()
    began, device, out = time.monotonic(), device_of(asked.device), asked.out
    out.mkdir(parents=True, exist_ok=True)
    paths = sorted(asked.data.glob("lessons.*.jsonl.gz"))
    state = torch.load(out / "state.pt", map_location=device) if (out / "state.pt").exists() else None
    if state:
        model, words = load(out, device)
    else:
        words = train_tokenizer(paths, asked.vocabulary)
        model = create(asked.size, len(words), asked.seed).to(device)
    model.train()
    examples, checked = Examples(paths, words, asked.arm, asked.most), Examples([asked.data / "check.jsonl.gz"], words, asked.arm, 512)
    if not len(examples):
        raise SystemExit("imitate.py: there are no lessons")
    optimizer = torch.optim.AdamW(model.parameters(), lr=asked.rate, betas=(0.9, 0.95), weight_decay=DECAY)
    if state:
        optimizer.load_state_dict(state["optimizer"])
    log, first, last = Log(out / "log.jsonl"), state["step"] if state else 0, None
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(words)} words, {len(examples)} lessons of {len(examples.flat) / len(examples):.0f} tokens, {device}", flush=True)
    step = first
    for step, chosen in enumerate(order(examples, asked.batch, asked.steps, asked.seed)):
        if step < first:
            continue
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step, asked.steps, asked.rate)
        loss = loss_of(model, examples, chosen, device)
        if not torch.isfinite(loss):
            raise SystemExit(f"imitate.py: the loss of step {step} is not finite; the model of the last save stays")
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last = loss.item() if last is None else 0.98 * last + 0.02 * loss.item()
        if (step + 1) % asked.every == 0:
            log.add(step=step + 1, loss=last, grad_norm=norm.item(), learning_rate=optimizer.param_groups[0]["lr"], seconds=time.monotonic() - began)
        if (step + 1) % (20 * asked.every) == 0:
            if len(checked):
                log.add(step=step + 1, eval_loss=check(model, checked, asked.batch, device))
            save(out, model, words, optimizer, step + 1)
        if time.monotonic() - began > asked.seconds:
            break
    save(out, model, words, optimizer, step + 1)
    if len(checked):
        log.add(step=step + 1, eval_loss=check(model, checked, asked.batch, device))


if __name__ == "__main__":
    main()
