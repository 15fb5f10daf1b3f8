#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model of this folder behind the chat endpoint that `gemmsmith tune --policy llm` asks.

    endpoint.py MODEL [--port 8000]
    gemmsmith tune PROBLEM --policy llm --llm-url http://127.0.0.1:8000/v1 --llm-model trained

POST /v1/chat/completions (messages, max_tokens, temperature), GET /v1/models. One question at a time, on loopback only, on the GPU if there is one. --port 0 takes a free one;
the first line that is printed has it.
"""
import argparse
import http.server
import json
import threading
import time

import torch

from model import CONTEXT, device_of, load, text_of

LONGEST, ANSWER = 1 << 20, 1024   # bytes of a request, tokens of an answer


class Model:
    def __init__(self, path, device, temperature):
        self.model, self.words = load(path, device)
        self.temperature, self.lock = temperature, threading.Lock()

    @torch.no_grad()
    def answer(self, messages, most, temperature):
        """Text, tokens of the question and of the answer, whether it came to its end."""
        ids = self.words(text_of(self.words, messages), return_tensors="pt", add_special_tokens=False)["input_ids"].to(self.model.device)
        asked = ids.shape[1]
        most = min(most, ANSWER, CONTEXT - asked)
        if most < 1:
            raise ValueError(f"the messages have {asked} tokens, and {CONTEXT} is all that the model reads")
        temperature = self.temperature if temperature is None else temperature
        how = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
        with self.lock:
            got = self.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **how, top_k=0, top_p=1.0, max_new_tokens=most, eos_token_id=self.words.eos_token_id,
                                      pad_token_id=self.words.pad_token_id)[0, asked:]
        ended = bool((got == self.words.eos_token_id).any())
        return self.words.decode(got, skip_special_tokens=True), asked, len(got), ended


def read_messages(body):
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages: a list is expected")
    for one in messages:
        if not isinstance(one, dict) or one.get("role") not in ("system", "user", "assistant") or not isinstance(one.get("content"), str):
            raise ValueError("messages: each has a role (system, user, assistant) and a text as content")
    return messages


def completion(model, name, body):
    most = body.get("max_completion_tokens") or body.get("max_tokens") or ANSWER
    temperature = body.get("temperature")
    if not isinstance(most, int) or most < 1:
        raise ValueError("max_tokens: a number over 0 is expected")
    if temperature is not None and not (isinstance(temperature, (int, float)) and 0 <= temperature <= 2):
        raise ValueError("temperature: a number from 0 to 2 is expected")
    if body.get("stream"):
        raise ValueError("stream: answers come whole here")
    text, asked, written, ended = model.answer(read_messages(body), most, temperature)
    return {"id": f"{time.time_ns():x}", "object": "chat.completion", "created": int(time.time()), "model": name,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop" if ended else "length"}],
            "usage": {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}}


def handler(model, name):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def fail(self, status, text):
            self.close_connection = True
            self.reply(status, {"error": {"message": text, "type": "invalid_request_error"}})

        def do_GET(self):
            if self.path.rstrip("/") != "/v1/models":
                return self.fail(404, "no such path")
            return self.reply(200, {"object": "list", "data": [{"id": name, "object": "model"}]})

        def do_POST(self):
            if self.path != "/v1/chat/completions":
                return self.fail(404, "no such path")
            try:
                size = int(self.headers.get("Content-Length", ""))
                if not 0 < size <= LONGEST:
                    return self.fail(413, f"a request has {LONGEST} bytes at most")
                body = json.loads(self.rfile.read(size))
                if not isinstance(body, dict):
                    raise ValueError("an object is expected")
                return self.reply(200, completion(model, name, body))
            except ValueError as error:
                return self.fail(400, str(error))
    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--name", default="trained")
    parser.add_argument("--temperature", type=float, default=1.0, help="where a request has none")
    parser.add_argument("--device")
    asked = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", asked.port), handler(Model(asked.model, device_of(asked.device), asked.temperature), asked.name))
    server.daemon_threads = True
    print(f"answering at http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
