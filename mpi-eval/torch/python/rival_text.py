"""A rival's Python text as a function of tensors: one expression, or lines of which the last is one.

Names it may use: the task's tensors and dims, torch, F (torch.nn.functional), math."""
import ast
import keyword
import linecache
import math
import textwrap

import torch

from atoll.refusal import Refusal

FILE = "the rival's text"


def function_of(text, names, dims):
    """A plain function of the tensors in the order of names; errors name the text's own lines."""
    for name in names:
        if keyword.iskeyword(name):
            raise Refusal("problem", "a tensor is called %s, which no Python text can name" % name)
    text = textwrap.dedent(text.strip("\n")).strip() + "\n"
    try:
        body = ast.parse(text, FILE).body
    except SyntaxError as error:
        raise Refusal("problem", "%s:%d: %s" % (FILE, error.lineno or 1, error.msg), error.lineno or 1)
    if not body or not isinstance(body[-1], ast.Expr):
        raise Refusal("problem", "the last line of a rival's text must be an expression: its value is the answer")
    body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    tree = ast.parse("def rival(%s):\n    pass\n" % ", ".join(names), FILE)
    tree.body[0].body = body
    linecache.cache[FILE] = (len(text), None, text.splitlines(True), FILE)  # for tracebacks
    scope = {"torch": torch, "F": torch.nn.functional, "math": math}
    scope.update(dims)
    exec(compile(tree, FILE, "exec"), scope)
    return scope["rival"]
