"""A local server that implements both vendors' protocols, as far as kept, their libraries and their programs use them.

It supports messages (JSON and events), count_tokens and batches; chat completions, files, batches and responses (JSON and events).
Its answers match the requested schema. ``faults`` are applied in turn, one per question, before it answers properly.
"""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

SECRETS = {"authorization", "x-api-key"}


class Loopback:
    """The server. ``requests`` records all requests as (path, body)."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[Any] = []
        self.words = "likes figs"
        self.act: dict[str, Any] | None = None  # a tool call that the model makes
        self.pending_batches: dict[str, list[dict[str, Any]]] = {}
        self.done = False  # whether batches have ended
        self.files: dict[str, bytes] = {}
        self.context = 0  # the context length of the model, as the server reports it in every protocol
        self.closed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"loopback": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The bodies of the questions, without the other requests that programs make."""
        return [
            body
            for path, body in self.requests
            if path.endswith(("/messages", "/completions", "/responses", "/chat", "GenerateContent"))
        ]

    def close(self) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()


def fitting(schema: dict[str, Any], words: str) -> Any:
    """A value that matches a schema."""
    if "anyOf" in schema:
        return fitting(schema["anyOf"][0], words)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: fitting(each, words) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [fitting(schema["items"], words)]
        case "string":
            return words
        case "integer":
            return 1
        case "number":
            return 0.5
        case "boolean":
            return True
    return None


class Handler(BaseHTTPRequestHandler):
    """Answers one connection; ``loopback`` is its server."""

    protocol_version = "HTTP/1.1"
    loopback: Loopback

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client may leave before the end of the response
            super().handle()

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        parts = path.strip("/").split("/")
        match parts:
            case ["v1", "messages", "batches", batch]:
                self._send(self._batch(batch))
            case ["v1", "messages", "batches", batch, "results"]:
                rows = [
                    {"custom_id": each["custom_id"], "result": {"type": "succeeded", "message": self._message(each["params"])}}
                    for each in self.loopback.pending_batches[batch]
                ]
                self._send("".join(json.dumps(row) + "\n" for row in rows).encode(), kind="application/x-jsonl")
            case ["v1", "batches", batch]:
                self._send(self._openai_batch(batch))
            case ["v1", "files", file, "content"]:
                self._send(self.loopback.files[file], kind="application/octet-stream")
            case ["v1", "models"] if self.loopback.context:
                self._send({"data": [{"id": "small", "max_model_len": self.loopback.context}], "object": "list"})
            case _:
                self._send({"data": [], "object": "list", "has_more": False})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if path == "/v1/files":
            self._take_file(raw)
            return
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        self.loopback.requests.append((path, body))
        self.loopback.headers.append({name.lower(): value for name, value in self.headers.items() if name.lower() not in SECRETS})
        if path == "/v1/messages/count_tokens":
            self._send({"input_tokens": len(raw) // 4})
        elif path == "/v1/messages/batches":
            batch = f"msgbatch_{uuid4().hex[:12]}"
            self.loopback.pending_batches[batch] = body["requests"]
            self._send(self._batch(batch))
        elif path == "/v1/batches":
            batch = f"batch_{uuid4().hex[:12]}"
            rows = [json.loads(line) for line in self.loopback.files[body["input_file_id"]].splitlines()]
            self.loopback.pending_batches[batch] = rows
            self._send(self._openai_batch(batch))
        elif path == "/v1/messages":
            self._answer(body, self._message, self._message_events, "message")
        elif path.endswith("/chat/completions"):
            self._answer(body, self._completion, None, "completion")
        elif path == "/api/show":
            self._send({"model_info": {"general.architecture": "small", "small.context_length": self.loopback.context}})
        elif path == "/api/chat":
            self._answer(body, self._chat, None, "chat")
        elif path.endswith("/responses"):
            self._answer(body, self._response, self._response_events, "response")
        elif path.endswith(":streamGenerateContent"):
            self._send(f"data: {json.dumps(self._generated(body))}\n\n".encode(), kind="text/event-stream")
        elif path.endswith(":generateContent"):
            self._send(self._generated(body))
        else:
            self._send({"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)

    def _answer(self, body: dict[str, Any], made: Any, events: Any, kind: str) -> None:
        fault = self.loopback.faults.pop(0) if self.loopback.faults else None
        match fault:
            case int() as status:
                error = {"type": "error", "error": {"type": "some_error", "message": f"no, {status}"}}
                self._send(error, status, {"retry-after": "7"} if status == 429 else {})
                return
            case "cut":  # the connection breaks in the middle of the answer
                text = json.dumps(made(body)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text[: len(text) // 2])
                self.wfile.flush()
                self.connection.close()
                self.close_connection = True
                return
            case "slow":
                self.loopback.closed.wait()
            case "no json":
                self._send(b"<html>Bad gateway</html>", kind="text/html")
                return
            case "nested":
                self._send(b"[" * 100_000)
                return
            case "moved":
                self._send({}, 307, {"location": f"/elsewhere{self.path}"})
                return
            case "no http":
                self.wfile.write(b"hello\n\n")
                self.close_connection = True
                return
            case "drip" | "endless":
                self.send_response(200)
                self.end_headers()
                self.close_connection = True
                while not self.loopback.closed.wait(0.01):
                    self.wfile.write(b" " if fault == "drip" else b" " * 2**20)
                return
            case "other json":
                self._send({"hello": "world"})
                return
        answer = made(body)
        if isinstance(fault, dict):
            _patch(answer, fault, kind)
        if body.get("stream") and events:
            self._stream(events(answer))
        else:
            self._send(answer)

    def _text(self, schema: dict[str, Any] | None) -> str:
        return json.dumps(fitting(schema, self.loopback.words)) if schema else self.loopback.words

    def _message(self, body: dict[str, Any]) -> dict[str, Any]:
        tools = {each.get("name"): each for each in body.get("tools", [])}
        answered = any(
            isinstance(each.get("content"), list) and any(block.get("type") == "tool_result" for block in each["content"])
            for each in body["messages"]
        )
        schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
        stop = "end_turn"
        content: dict[str, Any] = {"type": "text", "text": self._text(schema)}
        if self.loopback.act and not answered:
            content, stop = {"type": "tool_use", "id": f"toolu_{uuid4().hex[:20]}"} | self.loopback.act, "tool_use"
        elif "StructuredOutput" in tools and not _done(body, "StructuredOutput"):
            made = fitting(tools["StructuredOutput"]["input_schema"], self.loopback.words)
            content = {"type": "tool_use", "id": f"toolu_{uuid4().hex[:20]}", "name": "StructuredOutput", "input": made}
            stop = "tool_use"
        usage = {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0}
        return {
            "id": f"msg_{uuid4().hex[:20]}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [content],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }

    def _message_events(self, message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        block = message["content"][0]
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        start = message | {"content": [], "stop_reason": None}
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": message["usage"]},
            {"type": "message_stop"},
        ]
        return [(each["type"], each) for each in events]

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        message = {"role": "assistant", "content": self._text(schema), "refusal": None}
        usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14, "prompt_tokens_details": {"cached_tokens": 4}}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body.get("model"),
            "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self._text(body.get("format"))}
        return {"message": message, "done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 5}

    def _response(self, body: dict[str, Any]) -> dict[str, Any]:
        schema = ((body.get("text") or {}).get("format") or {}).get("schema")
        answered = any(each.get("type", "").endswith("_output") for each in body.get("input", []) if isinstance(each, dict))
        content = [{"type": "output_text", "text": self._text(schema), "annotations": []}]
        item: dict[str, Any] = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content}
        if self.loopback.act and not answered:
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"} | self.loopback.act
        usage = {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 14,
        }
        return {
            "id": f"resp_{uuid4().hex[:12]}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": body.get("model"),
            "output": [item],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": usage,
        }

    def _response_events(self, response: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        item = response["output"][0]
        events = [
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": item | ({"content": []} if "content" in item else {}),
            },
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]
        return [(each["type"], each) for each in events]

    def _generated(self, body: dict[str, Any]) -> dict[str, Any]:
        schema = (body.get("generationConfig") or {}).get("responseJsonSchema")
        answered = any("functionResponse" in part for each in body.get("contents", []) for part in each.get("parts", []))
        part: dict[str, Any] = {"text": self._text(schema)}
        if self.loopback.act and not answered and not schema and body.get("tools"):
            part = {"functionCall": {"name": self.loopback.act["name"], "args": self.loopback.act["input"]}}
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
        answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return {"candidates": [answer], "usageMetadata": usage, "modelVersion": "none"}

    def _batch(self, batch: str) -> dict[str, Any]:
        count, done = len(self.loopback.pending_batches[batch]), self.loopback.done
        counts = {"processing": 0 if done else count, "succeeded": count if done else 0, "errored": 0, "canceled": 0, "expired": 0}
        return {
            "id": batch,
            "type": "message_batch",
            "processing_status": "ended" if done else "in_progress",
            "request_counts": counts,
            "ended_at": "2026-11-20T12:00:00Z" if done else None,
            "created_at": "2026-11-20T11:00:00Z",
            "expires_at": "2026-11-21T11:00:00Z",
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.loopback.url}/v1/messages/batches/{batch}/results" if done else None,
        }

    def _openai_batch(self, batch: str) -> dict[str, Any]:
        done = self.loopback.done
        if done:
            rows = [
                {
                    "custom_id": each["custom_id"],
                    "error": None,
                    "response": {"status_code": 200, "body": self._completion(each["body"])},
                }
                for each in self.loopback.pending_batches[batch]
            ]
            self.loopback.files[f"out-{batch}"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
        return {
            "id": batch,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": "file_1",
            "completion_window": "24h",
            "status": "completed" if done else "in_progress",
            "created_at": 1,
            "output_file_id": f"out-{batch}" if done else None,
        }

    def _take_file(self, raw: bytes) -> None:
        name = f"file_{uuid4().hex[:8]}"
        self.loopback.files[name] = b"\n".join(line for line in raw.splitlines() if line.startswith(b'{"custom_id"'))
        self._send({"id": name, "object": "file", "bytes": len(raw), "created_at": 1, "filename": "q.jsonl", "purpose": "batch"})

    def _send(self, body: Any, status: int = 200, headers: dict[str, str] | None = None, kind: str = "application/json") -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in events:
            self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.close_connection = True


def _done(body: dict[str, Any], tool: str) -> bool:
    blocks = [block for each in body["messages"] if isinstance(each.get("content"), list) for block in each["content"]]
    used = {block["id"] for block in blocks if block.get("type") == "tool_use" and block.get("name") == tool}
    return any(block.get("tool_use_id") in used for block in blocks)


def _patch(answer: dict[str, Any], fault: dict[str, Any], kind: str) -> None:
    """Replace the text (``text``), the stop reason (``stop``) or counts (``usage``) of an answer, or make it a refusal."""
    if "usage" in fault:
        answer["usage"] |= {name: fault["usage"] for name, count in answer["usage"].items() if isinstance(count, int)}
    if kind == "message":
        answer["content"][0] |= {"text": fault["text"]} if "text" in fault else {}
        answer["stop_reason"] = fault.get("stop", answer["stop_reason"])
    elif kind == "completion":
        choice = answer["choices"][0]
        choice["message"] |= {name: fault[key] for key, name in (("text", "content"), ("refusal", "refusal")) if key in fault}
        choice["finish_reason"] = fault.get("stop", choice["finish_reason"])
