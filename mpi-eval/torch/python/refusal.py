"""What an answer says instead of a result."""

TRACE_LIMIT = 4000


class Refusal(Exception):
    """kind: "problem" (the doing of the module or expression), "memory", "unsupported" (this torch cannot), "internal" (of
    ours); line: of problem.py, 0 unknown; cause: a word that an import counts by."""

    def __init__(self, kind, text, line=0, trace="", cause=""):
        super().__init__(text)
        self.kind, self.text, self.line, self.trace, self.cause = kind, text, line, trace, cause

    def reply(self):
        return {"ok": False, "kind": self.kind, "error": " ".join(self.text.split())[:1000],
                "trace": self.trace[-TRACE_LIMIT:], "line": int(self.line)}
