"""Names for what a task has: of C, of Python and of expressions."""
import hashlib
import re

NAME_LIMIT = 31
RESERVED = {"min", "max", "cdiv", "ilog2", "weight", "backend", "tensormap", "torch", "math", "F", "lambda", "int", "float",
            "double", "long", "char", "short", "void", "const", "in", "out", "for", "if", "else", "while", "do", "return",
            "register", "auto", "static", "signed", "unsigned", "volatile", "switch", "case", "default", "break", "union",
            "struct", "enum", "extern", "goto", "inline", "restrict", "sizeof", "typedef", "continue", "template", "class",
            "this", "new", "delete", "operator", "private", "public", "using", "virtual", "and", "or", "not", "xor", "bool",
            "true", "false", "try", "catch", "throw", "friend", "half"}


def clean(text, taken, limit=NAME_LIMIT):
    """A name for C, Python and expressions, not used yet."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "t"
    if not name[0].isalpha():
        name = "t_" + name
    if len(name) > limit:
        name = name[:limit - 9] + "_" + hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    if name in RESERVED:
        name += "_t"
    base, number = name, 1
    while name in taken:
        number += 1
        name = "%s_%d" % (base[:limit - 4], number)
    taken.add(name)
    return name
