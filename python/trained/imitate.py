#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stage 2, imitation: the model learns the answers of the lessons from nothing.

    imitate.py DATA OUT [--steps 6000] [--batch 32] [--seconds S] [--within S] [--even] [--brief] [--seed 1] [--arm rl-no-examples]

OUT gets the model whose loss on held-out sizes was the lowest, as transformers load it, log.jsonl, and state.pt: the same command goes on where it was stopped. bf16 on a GPU,
f32 on a CPU. With --within the rate falls with the time, and training ends with it: as many steps as there is time for.
"""
import argparse
import math
import os
import random
import time
import zlib
from pathlib import Path

import numpy
import torch

from common import ARMS, alignment, rows
from model import SIZES, Log, create, device_of, is_brief, load, load_words, text_of, train_tokenizer

RATE, WARM, DECAY, CLIP = 1e-3, 200, 0.1, 1.0
GRAIN = 128   # tokens: few shapes, or the allocator of a GPU begins anew at each step


class Examples:
    """Token numbers of all lessons in one array, with where each begins and where its answer does."""

    def __init__(self, flat, starts, answers, classes):
        self.flat, self.starts, self.answers, self.classes = flat, starts.tolist(), answers.tolist(), classes.tolist()   # classes: of alignment

    @classmethod
    def made(cls, paths, words, arm, most=None, longest=6000):
        flat, starts, answers, classes = [], [0], [], []
        for batch in cls.batches(paths, arm, most):
            asked = words([text_of(words, prompt) for prompt, _, _ in batch], add_special_tokens=False)["input_ids"]
            answered = words([text_of(words, [], answer).removeprefix("<|assistant|>") for _, answer, _ in batch], add_special_tokens=False)["input_ids"]
            for question, answer, (_, _, own) in zip(asked, answered, batch, strict=True):   # a mark ends the question, so no token crosses it
                if len(question) + len(answer) <= longest:
                    flat.append(numpy.array(question + answer, dtype=numpy.uint16))
                    starts.append(starts[-1] + len(flat[-1]))
                    answers.append(len(question))
                    classes.append(own)
        return cls(numpy.concatenate(flat) if flat else numpy.array([], dtype=numpy.uint16), numpy.array(starts), numpy.array(answers, dtype=numpy.int64), numpy.array(classes, dtype=numpy.uint8))

    @classmethod
    def read(cls, path):
        with numpy.load(path) as file:
            return cls(file["flat"], file["starts"], file["answers"], file["classes"])

    def write(self, path):
        new = Path(f"{path}.{os.getpid()}")   # several seeds may begin at the same time
        with open(new, "wb") as file:
            numpy.savez_compressed(file, flat=self.flat, starts=numpy.array(self.starts), answers=numpy.array(self.answers), classes=numpy.array(self.classes, dtype=numpy.uint8))
        new.replace(path)

    @staticmethod
    def batches(paths, arm, most):
        edit, batch, left = ARMS[arm] or (lambda prompt: prompt), [], most
        for path in paths:
            for row in rows(path):
                if left == 0:
                    break
                left = left and left - 1
                batch.append((edit(row["prompt"]), row["completion"][0]["content"], alignment(row["problem"])))
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
        """Token numbers, padded on the right; where those stand that are followed by one of an answer; and these."""
        longest = (max(map(self.length, chosen)) + GRAIN - 1) // GRAIN * GRAIN
        ids = numpy.ones((len(chosen), longest), dtype=numpy.int64)            # 1: padding
        places, wanted = [], []
        for row, i in enumerate(chosen):
            own = self.flat[self.starts[i]:self.starts[i + 1]]
            ids[row, :len(own)] = own
            places.append(row * longest + numpy.arange(self.answers[i] - 1, len(own) - 1))
            wanted.append(own[self.answers[i]:].astype(numpy.int64))
        return tuple(torch.from_numpy(one).to(device) for one in (ids, numpy.concatenate(places), numpy.concatenate(wanted)))


def tokens(data, words, arm, most, paths, name):
    """The examples of an arm; kept in DATA/tokens, which data.py removes, for the other seeds."""
    kept = data / "tokens" / f"{name}.{arm}.{'brief.' if is_brief(words) else ''}{zlib.crc32(words.backend_tokenizer.to_str().encode()):08x}.{most or 'all'}.npz"
    if kept.exists():
        return Examples.read(kept)
    made = Examples.made(paths, words, arm, most)
    kept.parent.mkdir(exist_ok=True)
    made.write(kept)
    return made


def words_of(data, paths, vocabulary, brief):
    kept = data / "tokens" / f"words.{vocabulary}{'.brief' if brief else ''}"
    if not kept.exists():
        train_tokenizer(paths, vocabulary, short=brief).save_pretrained(kept)
    return load_words(kept)


def one_pass(examples, source, even):
    """The numbers of all examples in any order. even: as many of each class of alignment, which together are as many as there are: some twice, some not."""
    left = list(range(len(examples)))
    source.shuffle(left)
    if not even:
        return left
    classes = {}
    for i in left:
        classes.setdefault(examples.classes[i], []).append(i)
    share = len(left) // len(classes)
    left = [i for mine in classes.values() for i in (mine * -(-share // len(mine)))[:share]]
    source.shuffle(left)
    return left


def order(examples, batch, steps, seed, even=False):
    """Batches of like length, drawn anew in every pass; the same seed gives the same."""
    source = random.Random(seed)
    done = 0
    while done < steps:
        left = one_pass(examples, source, even)
        made = []
        for at in range(0, len(left), 64 * batch):
            part = sorted(left[at:at + 64 * batch], key=examples.length)
            made += [part[i:i + batch] for i in range(0, len(part), batch)]
        source.shuffle(made)
        yield from made[:steps - done]
        done += len(made)


def loss_of(model, examples, chosen, device):
    """Of the answers' tokens alone. Padding stands on the right, so no token sees it. Logits are made only where an answer is."""
    ids, places, wanted = examples.batch(chosen, device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        logits = model.lm_head(hidden.flatten(0, 1)[places])
    return torch.nn.functional.cross_entropy(logits.float(), wanted)


@torch.no_grad()
def check(model, examples, batch, device):
    model.eval()
    losses = [loss_of(model, examples, list(range(at, min(at + batch, len(examples)))), device).item() for at in range(0, len(examples), batch)]
    model.train()
    return sum(losses) / len(losses)


def finite(loss, step):
    if loss is not None and not torch.isfinite(loss):
        raise SystemExit(f"imitate.py: a loss up to step {step} is not finite; the model of the last save stays")
    return None if loss is None else loss.item()


def rate_of(step, steps, rate, done=None):
    """done: the part of the time that is over, where time says when training ends."""
    warm = min(WARM, max(steps // 10, 1))
    if step < warm:
        return rate * (step + 1) / warm
    return rate * (0.1 + 0.45 * (1 + math.cos(math.pi * ((step - warm) / max(steps - warm, 1) if done is None else min(done, 1)))))


class Kept:
    """OUT: the model whose loss on held-out sizes was the lowest, and where training stands."""

    def __init__(self, out, words, state):
        self.out, self.words, self.lowest = out, words, state["lowest"] if state else math.inf

    def save(self, model, optimizer, step, loss):
        """loss: on held-out sizes; None: there are none to check with, and the last model is kept."""
        if loss is None or loss < self.lowest:
            self.lowest = math.inf if loss is None else loss
            model.save_pretrained(self.out)
            self.words.save_pretrained(self.out)
        torch.save({"step": step, "lowest": self.lowest, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, self.out / "state.new")
        (self.out / "state.new").replace(self.out / "state.pt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--arm", choices=ARMS, default="imitation", help="what the questions show")
    parser.add_argument("--start", type=Path, help="begin with this model and its words; default: from nothing")
    parser.add_argument("--size", choices=SIZES, default="7m")
    parser.add_argument("--vocabulary", type=int, default=2048)
    parser.add_argument("--brief", action="store_true", help="the model reads questions without the device and the grammar, a sixth as long, with the number of tiles of some sizes in their place")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--most", type=int, help="lessons at most")
    parser.add_argument("--even", action="store_true", help="as many lessons of each class of alignment (N and K multiples of 64, of 8, anything) in a pass")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop then, to be continued")
    parser.add_argument("--within", type=float, help="seconds of training, however many steps they are (then of --steps: the most)")
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
        model.load_state_dict(state["model"])
    elif asked.start:
        model, words = load(asked.start, device)
    else:
        words = words_of(asked.data, paths, asked.vocabulary, asked.brief)
        model = create(asked.size, len(words), asked.seed).to(device)
    model.train()
    examples = tokens(asked.data, words, asked.arm, asked.most, paths, "lessons")
    checked = tokens(asked.data, words, asked.arm, 512, [asked.data / "check.jsonl.gz"], "check")
    if not len(examples):
        raise SystemExit("imitate.py: there are no lessons")
    optimizer = torch.optim.AdamW(model.parameters(), lr=asked.rate, betas=(0.9, 0.95), weight_decay=DECAY, fused=device.type == "cuda")
    if state:
        optimizer.load_state_dict(state["optimizer"])
    kept = Kept(out, words, state)
    log, first, last = Log(out / "log.jsonl"), state["step"] if state else 0, None   # last: a mean, on the device: to read it takes the time of a step
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(words)} words, {len(examples)} lessons of {len(examples.flat) / len(examples):.0f} tokens, {device}", flush=True)

    def checked_at(step):
        loss = check(model, checked, asked.batch, device) if len(checked) else None
        if loss is not None:
            log.add(step=step, eval_loss=loss)
        kept.save(model, optimizer, step, loss)
    step, trained = first, time.monotonic()
    for step, chosen in enumerate(order(examples, asked.batch, asked.steps, asked.seed, asked.even)):
        if step < first:
            continue
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step, asked.steps, asked.rate, asked.within and (time.monotonic() - trained) / asked.within)
        loss = loss_of(model, examples, chosen, device)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        last = loss.detach() if last is None else 0.98 * last + 0.02 * loss.detach()
        if (step + 1) % asked.every == 0:
            log.add(step=step + 1, loss=finite(last, step), grad_norm=norm.item(), learning_rate=optimizer.param_groups[0]["lr"], seconds=time.monotonic() - began)
        if (step + 1) % (20 * asked.every) == 0:
            checked_at(step + 1)
        if time.monotonic() - began > asked.seconds or asked.within and time.monotonic() - trained > asked.within:
            break
    finite(last, step)
    checked_at(step + 1)


if __name__ == "__main__":
    main()
