"""One Triton source to PTX, by Triton's own compiler and for the classes of arguments that its own launcher would make.

Runs where the source runs, so nothing of what it says is believed: ptxas makes the image of the PTX elsewhere, rules judge both, and
what the rest claims is held against the image.

Request, JSON: {"name", "source", "launches": [{"kernel", "args": [{"text", "type", "to"}], "classes": ["DD1", ...],
"constexprs": {NAME: VALUE}, "params": {NAME: VALUE}, "num_warps", "num_stages"}]}.  A type is i32, i64, fp32, fp64 or "*" and what
the pointer points to; a class has a letter for each argument: "D" a multiple of 16, "1" the integer 1, "-" anything else.

A request may go to several children, parts of 0, 1, ...: each compiles the images whose number is its own modulo the parts.

Answer: {"ok": true, "ptx": [text of each image], "images": [{"name", "warps", "shared", "scratch", "scratch_align", "profile_scratch", "passed"}],
"launches": [[image of each class]]}; texts and images of other parts are null.  The texts, one after the other, are one module, in which each image is an entry with a
name of its own; passed: the arguments that the image takes, by number.  Or {"ok": false, "kind": "plan" (what the plan says does not fit) or "source", "error"}."""
import json
import linecache
import os
import re
import sys
import traceback
import types

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import ASTSource, make_backend
from triton.runtime import jit

ERROR_BYTES = 6000
IMAGE_LIMIT = 24
WARM = """import triton
import triton.language as tl

@triton.jit
def warm(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, tl.exp(value) / tl.sum(value, 0), mask=at < n)
"""


class Unfit(Exception):
    """What the plan says and what the source says do not go together."""


class Pointer:
    """What Triton's launcher takes for a tensor, whose address is a multiple of 16."""

    def __init__(self, dtype):
        self.dtype = dtype

    @staticmethod
    def data_ptr():
        return 0


class Compiler:
    def __init__(self, arch):
        self.target = GPUTarget("cuda", arch, 32)
        self.backend = make_backend(self.target)
        from triton.backends.nvidia import compiler as nvidia
        tool = nvidia.get_ptxas(arch) if nvidia.get_ptxas.__code__.co_argcount else nvidia.get_ptxas()
        self.ptxas, self.cuda = os.path.realpath(tool.path), tool.version
        self.ptx_version = nvidia.ptx_get_version(tool.version)

    def warm_up(self):
        answer(self, json.dumps({"name": "warm.py", "source": WARM, "launches": [
            {"kernel": "warm", "args": [{"text": "x", "type": "*fp32"}, {"text": "y", "type": "*fp32"}, {"text": "n", "type": "i32"}],
             "classes": ["DDD"], "constexprs": {}, "params": {"BLOCK": 1024}, "num_warps": 4, "num_stages": 3}]}).encode())
        sys.modules.pop("warm", None)

    def ptx_of(self, function, signature, constants, attributes, options):
        """The PTX and what Triton says of it; the stages that triton.compile has before ptxas."""
        options = self.backend.parse_options({**options, "debug": False, "ptx_version": self.ptx_version})
        source = ASTSource(function, signature, constants, attributes)
        stages, metadata = {}, {}
        self.backend.add_stages(stages, options, Language.TRITON)
        context = ir.context()
        ir.load_dialects(context)
        self.backend.load_dialects(context)
        module = source.make_ir(self.target, options, self.backend.get_codegen_implementation(options),
                                self.backend.get_module_map(), context)
        for stage in ("ttir", "ttgir", "llir", "ptx"):
            module = stages[stage](module, metadata)
        return module, {"num_warps": options.num_warps, "num_ctas": options.num_ctas, **metadata}


def piece_of(text, number, name):
    """Of a module with one entry, which gets this name, the part of one module of all images that is its.  What it declares gets an ending of
    its own; lines of debugging, which refer to labels of one module, go.  ptxas makes of each entry what it makes of it alone."""
    text = re.sub(r"^[ \t]*\.section\s+\S+\s*\{[^}]*\}", "", text, flags=re.M)
    text = re.sub(r"^[ \t]*\.(loc|file)\b.*$", "", text, flags=re.M)
    text = re.sub(r"[ \t]*//.*$", "", text, flags=re.M)
    if number:
        text = re.sub(r"^[ \t]*\.(version|target|address_size)\b.*$", "", text, flags=re.M)
    declared = re.findall(r"^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)?\.(?:global|const|shared)\b[^;={]*?([\w$]+)\s*"
                          r"(?:\[[^\]]*\]\s*)*[;=]", text, flags=re.M)
    declared += re.findall(r"^[ \t]*(?:\.(?:visible|weak)\s+)?\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", text, flags=re.M)
    for other in set(declared):
        text = re.sub(r"(?<![\w$.%%])%s(?![\w$])" % re.escape(other), "%s__a%d" % (other, number), text)
    text = re.sub(r"(\.entry\s+)[\w$]+", r"\g<1>" + name, text)
    return re.sub(r"\n\s*\n+", "\n", text)


def module_of(name, source):
    module = types.ModuleType(name.rsplit(".", 1)[0])
    module.__file__ = name
    lines = source.splitlines(True)
    linecache.cache[name] = (len(source), None, lines, name)  # where inspect finds the text of a function
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec"), module.__dict__)
    return module


def kernel_of(module, name):
    found = module.__dict__.get(name)
    if isinstance(found, jit.JITFunction):
        return found
    kernels = [key for key, value in module.__dict__.items() if isinstance(value, jit.JITFunction)]
    raise Unfit("the source has no @triton.jit function \"%s\" that the plan launches; it has %s"
                % (name, ", ".join('"%s"' % key for key in kernels) or "none"))


def example(kind, letter):
    """A value of an argument of that class, as a caller in Python has it."""
    if kind.startswith("*"):
        return Pointer(triton.language.dtype(kind[1:]))
    if kind.startswith("fp"):
        return 0.5
    return {"1": 1, "D": 16, "-": 17}[letter]


def specialised(backend, parameter, kind, letter):
    """(type, attribute) of a parameter, by the function that Triton's launcher asks."""
    found = jit.native_specialize_impl(type(backend), example(kind, letter), parameter.is_const,
                                       not parameter.do_not_specialize, not parameter.do_not_specialize_on_alignment)
    if parameter.annotation_type:  # as create_function_from_signature has it
        is_plain = parameter.annotation_type == "u1" or parameter.annotation_type[:2] in ("fp", "bf")
        return (parameter.annotation_type, None) if is_plain else (parameter.annotation_type, found[1])
    if found[0] in ("i32", "fp32") and not kind.startswith("*"):
        return (kind, found[1])  # the plan states the width
    return found


def check_width(launch, parameter, argument):
    wanted = parameter.annotation_type
    if not wanted:
        return
    if argument["type"].startswith("*") or wanted.startswith("*"):
        wanted = wanted.replace("*k", "*")
    if wanted != argument["type"]:
        raise Unfit("kernel %s: parameter \"%s\" is annotated %s, the plan's argument \"%s\" is %s"
                    % (launch["kernel"], parameter.name, wanted, argument["text"], argument["type"]))


def constant_of(launch, parameter):
    for table in ("constexprs", "params"):
        if parameter.name in launch[table]:
            return launch[table][parameter.name]
    if parameter.has_default:
        return parameter.default
    raise Unfit("kernel %s: the tl.constexpr \"%s\" has no value: name it in constexprs, make it a param of the plan, or give "
                "it a default" % (launch["kernel"], parameter.name))


def bound(backend, function, launch, letters):
    """Signature, constants and attributes of a class, and which arguments are passed when it is launched."""
    arguments = [p for p in function.params if not p.is_constexpr]
    if len(arguments) != len(launch["args"]):
        raise Unfit("kernel %s takes %d arguments (%s), the plan's launch has %d"
                    % (launch["kernel"], len(arguments), ", ".join(p.name for p in arguments), len(launch["args"])))
    unknown = [name for name in launch["constexprs"] if not any(p.is_constexpr and p.name == name for p in function.params)]
    if unknown:
        raise Unfit("kernel %s has no tl.constexpr \"%s\" that the plan's constexprs name" % (launch["kernel"], unknown[0]))
    signature, constants, attributes, passed, next_argument = {}, {}, {}, [], 0
    for number, parameter in enumerate(function.params):
        if parameter.is_constexpr:
            signature[parameter.name] = "constexpr"
            constants[(number,)] = constant_of(launch, parameter)
            continue
        argument, letter = launch["args"][next_argument], letters[next_argument]
        check_width(launch, parameter, argument)
        kind, attribute = specialised(backend, parameter, argument["type"], letter)
        signature[parameter.name] = kind
        if kind == "constexpr":
            constants[(number,)] = attribute
        else:
            passed.append(next_argument)
            if isinstance(attribute, str):
                attributes[(number,)] = backend.parse_attr(attribute)
        next_argument += 1
    return signature, constants, attributes, passed


def image_of(compiler, function, launch, letters):
    signature, constants, attributes, passed = bound(compiler.backend, function, launch, letters)
    options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
    ptx, says = compiler.ptx_of(function, signature, constants, attributes, options)
    if says.get("tensordesc_meta") or any(str(kind).startswith("tensordesc") for kind in signature.values()):
        raise Unfit("kernel %s takes a tensor descriptor, which only a caller in Python makes; make it on the device with "
                    "tl.make_tensor_descriptor" % launch["kernel"])
    if says["num_ctas"] != 1:
        raise Unfit("kernel %s wants %d blocks in a cluster; the launcher has one" % (launch["kernel"], says["num_ctas"]))
    if says.get("tmem_size"):
        raise Unfit("kernel %s wants tensor memory, which this launcher does not give" % launch["kernel"])
    return ptx, {"name": says["name"], "warps": says["num_warps"], "shared": says["shared"],
                 "scratch": says.get("global_scratch_size") or 0, "scratch_align": says.get("global_scratch_align") or 1,
                 "profile_scratch": says.get("profile_scratch_size") or 0, "passed": passed}


def images_of(compiler, request, part, parts):
    module = module_of(request["name"], request["source"])
    images, texts, known, launches = [], [], {}, []
    for launch in request["launches"]:
        function, numbers = kernel_of(module, launch["kernel"]), []
        for letters in launch["classes"]:
            signature, constants, attributes, passed = bound(compiler.backend, function, launch, letters)
            key = repr((launch["kernel"], launch["num_warps"], launch["num_stages"], sorted(signature.items()),
                        sorted(constants.items(), key=lambda item: item[0]), sorted(attributes.items()), passed))
            if key not in known:
                if len(images) == IMAGE_LIMIT:
                    raise Unfit("the plan's launches come to more than %d classes of arguments over the task's variants; pass "
                                "fewer integers, or name them in do_not_specialize" % IMAGE_LIMIT)
                known[key] = number = len(images)
                text, image = None, None
                if number % parts == part:
                    text, image = image_of(compiler, function, launch, letters)
                    image["name"] = "%.100s__a%d" % (image["name"], number)
                    text = piece_of(text, number, image["name"])
                texts.append(text)
                images.append(image)
            numbers.append(known[key])
        launches.append(numbers)
    return {"ok": True, "ptx": texts, "images": images, "launches": launches}


def words(error, name):
    """What Triton or Python says is wrong, without places of this machine."""
    causes, last = [], error
    while last is not None and len(causes) < 4:
        causes.append(last)
        last = last.__cause__
    lines = ["".join(traceback.format_exception_only(type(e), e)).strip() for e in causes]
    at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    text = "\n".join(lines)
    if at and "line %d" % at[-1] not in text:
        text = "line %d of the source: %s" % (at[-1], text)
    text = re.sub(r"(/[^\s:\"']+)?/(site-packages|dist-packages)/", "", text)
    return text[:ERROR_BYTES]


def answer(compiler, body, part=0, parts=1):
    request = json.loads(body)
    try:
        return images_of(compiler, request, part, parts)
    except Unfit as unfit:
        return {"ok": False, "kind": "plan", "error": str(unfit)}
    except MemoryError:
        raise
    except Exception as error:
        return {"ok": False, "kind": "source", "error": words(error, request["name"])}
