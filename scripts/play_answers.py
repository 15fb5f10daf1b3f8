# SPDX-License-Identifier: MIT
"""An endpoint that speaks as OpenAI's and answers from files: somebody who is no model plays its part, or a run is repeated.

    python3 scripts/play_answers.py DIR [--port 7812] > port &
    GEMMSMITH_LLM_URL=http://127.0.0.1:7812 GEMMSMITH_LLM_MODEL=files gemmsmith tune PROBLEM --policy llm --mode source --islands 1 --turns N

DIR/list.csv has the columns file and problem: which answers are given to questions about which problem, one after the other. A question about
another problem, or behind the last answer, gets a refusal. Prints the port on standard output once it listens (--port 0: a free one)."""
import argparse
import csv
import http.server
import json
import os
import re
import threading

PROBLEM = re.compile(r'\b(?:f16|bf16):\d+x\d+x\d+:(?:nn|tn|nt|tt)(?::[a-z]+=[\w.,-]+)*')


class Answers:
    def __init__(self, folder):
        self.lock = threading.Lock()
        self.left = {}
        with open(os.path.join(folder, 'list.csv'), newline='') as rows:
            for row in csv.DictReader(rows):
                with open(os.path.join(folder, row['file'])) as text:
                    self.left.setdefault(row['problem'], []).append(text.read())

    def next(self, question):
        """The next answer for the first problem named in the question that there are answers for; None: none."""
        with self.lock:
            for problem in dict.fromkeys(PROBLEM.findall(question)):
                if problem in self.left:
                    return self.left[problem].pop(0) if self.left[problem] else None
        return None


class Endpoint(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        try:
            asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
            question = '\n'.join(m['content'] for m in asked['messages'] if m['role'] == 'user')
        except (KeyError, TypeError, ValueError):
            self.send_error(400)
            return
        text = self.server.answers.next(question)
        message = {'role': 'assistant', 'content': text, **({} if text else {'refusal': 'There is no further answer.'})}
        size = len(text or '') // 4
        body = json.dumps({'id': 'file', 'object': 'chat.completion', 'model': asked.get('model', ''),
                           'choices': [{'index': 0, 'finish_reason': 'stop', 'message': message}],
                           'usage': {'prompt_tokens': len(question) // 4, 'completion_tokens': size, 'total_tokens': len(question) // 4 + size}}).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('folder')
    options.add_argument('--port', type=int, default=7812)
    said = options.parse_args()
    server = http.server.ThreadingHTTPServer(('127.0.0.1', said.port), Endpoint)
    server.answers = Answers(said.folder)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()
