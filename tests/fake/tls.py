#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A language model over TLS with a certificate that a private authority has made: tls.py FOLDER ANSWER writes ca.pem, url and requests.log there, and says the
answer to everybody, as events where they are asked for, until it is killed or a minute is over. Needs openssl."""
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading

FOLDER, ANSWER = sys.argv[1], sys.argv[2]


def made(name):
    return os.path.join(FOLDER, name)


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(made("requests.log"), "a", encoding="utf-8") as log:
            log.write(f"stream={asked['stream']} {' '.join(f'{k}={v}' for k, v in self.headers.items() if k not in ('Host', 'Content-Length'))}\n")
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        if asked["stream"]:
            kind = "text/event-stream"
            pieces = [{"choices": [{"delta": {"content": part}}]} for part in ANSWER] + [{"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}]
            body = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
        else:
            kind = "application/json"
            body = json.dumps({"choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gemmsmith test authority", "-keyout", made("ca.key"), "-out", made("ca.pem"))
openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", made("key.pem"), "-out", made("request.pem"))
with open(made("extensions"), "w", encoding="ascii") as file:
    file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
openssl("x509", "-req", "-in", made("request.pem"), "-CA", made("ca.pem"), "-CAkey", made("ca.key"), "-CAcreateserial", "-days", "2", "-extfile", made("extensions"),
        "-out", made("cert.pem"))
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(made("cert.pem"), made("key.pem"))
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(made("url.new"), "w", encoding="ascii") as file:
    file.write(f"https://127.0.0.1:{server.server_port}\n")
os.rename(made("url.new"), made("url"))
threading.Timer(60, lambda: os._exit(0)).start()
server.serve_forever()
