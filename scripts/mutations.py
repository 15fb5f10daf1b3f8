# SPDX-License-Identifier: MIT
"""Small changes of C and CUDA sources: where one could be made, a random order of all, and what is known of those without effect. For mutate.py."""
import collections
import difflib
import fnmatch
import random
import re
import sys

# kinds of changes of an operator
COMPARISONS = {"==": "!=", "!=": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
EDGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
SUMS = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
LOGIC = {"&&": "||", "||": "&&"}

Mutant = collections.namedtuple("Mutant", "path room kind start end old new line")   # start, end: in the file's text


# ---- places ----

def matching(text, at):
    """Where the bracket at `at` closes; -1: nowhere."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return -1


def flat(text):
    """The text with what comments, strings and preprocessor lines contain made blank; every character stays where it is."""
    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + "s" * (len(found) - 2) + found[-1]
        return re.sub(r"[^\n]", " ", found)
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.M)


def operators(code, table):
    signs = "|".join(sorted((re.escape(sign) for sign in table), key=len, reverse=True))
    for match in re.finditer(rf"(?<= )({signs})(?= )", code):
        yield match.start(), match.end(), table[match.group(1)]


def statements(code, start):
    """Statements on one line that begin with what `start` matches, without the semicolon."""
    for match in re.finditer(rf"(?:(?<=[;{{}})] )|(?<=else )|(?:^[ \t]+))({start})[^;\n]*;", code, re.M):
        body = code[match.start(1):match.end() - 1]
        if body.count("(") == body.count(")") and body.count("{") == body.count("}"):
            yield match.start(1), match.end() - 1, body


def calls(code, text):
    for start, end, body in statements(code, r"[A-Za-z_]\w*\("):
        name = body[:body.index("(")]
        if name not in ("if", "while", "for", "switch", "return", "sizeof", "_Static_assert", "static_assert") and \
                matching(body, len(name)) == len(body) - 1:
            yield start, end, "(void)0"


def constants(code, text):
    for match in re.finditer(r"(?<![\w.#])(\d+)([uUlL]*)(?![\w.])", code):
        value = int(match.group(1))
        for change in (value + 1, value - 1):
            if change >= 0:
                yield match.start(1), match.end(1), str(change)


def conditions(code, text):
    for match in re.finditer(r"\b(?:if|while) \(", code):
        at = match.end() - 1
        end = matching(code, at)
        if end > 0:
            yield at + 1, end, f"!({text[at + 1:end]})"


def arguments(code, text):
    """Two arguments beside each other. The compiler refuses most that differ in type."""
    for match in re.finditer(r"(?<![\w.])[A-Za-z_]\w*\(", code):
        if match.group(0)[:-1] in ("if", "while", "for", "switch", "return", "sizeof", "defined"):
            continue
        at = match.end() - 1
        end = matching(code, at)
        if end < 0 or code[end + 1:end + 3] == " {" or re.match(r"[ \t]*\n\{", code[end + 1:end + 40]):   # a definition
            continue
        parts, depth, begin = [], 0, at + 1
        for i in range(at + 1, end + 1):
            if code[i] in "([{":
                depth += 1
            elif code[i] in ")]}" and i < end:
                depth -= 1
            elif i == end or (code[i] == "," and depth == 0):
                parts.append((begin, i))
                begin = i + 1
        plain = re.compile(r"\s*[&*]?[A-Za-z_][\w.\[\]>-]*\s*$")
        for (a, b), (c, d) in zip(parts, parts[1:]):
            one, two = text[a:b], text[c:d]
            if plain.match(code[a:b]) and plain.match(code[c:d]) and one.strip() != two.strip():
                yield a, d, one.replace(one.strip(), two.strip()) + "," + two.replace(two.strip(), one.strip())


def returns(code, text):
    """A return behind an if or deeper than the function's own block; that at the function's end stays."""
    for start, end, body in statements(code, r"return\b"):
        line = code[code.rindex("\n", 0, start) + 1:start]
        if line.strip() or len(line) > 4:
            value = text[start + 6:end].strip()
            yield start, end, f"(void)({value})" if value else "(void)0"


KINDS = {
    "comparison": lambda code, text: operators(code, COMPARISONS),
    "edge":       lambda code, text: operators(code, EDGES),
    "sum":        lambda code, text: operators(code, SUMS),
    "logic":      lambda code, text: operators(code, LOGIC),
    "call":       calls,
    "constant":   constants,
    "condition":  conditions,
    "arguments":  arguments,
    "return":     returns,
}


def places(path, name, room):
    text = path.read_text(encoding="utf-8")
    code = flat(text)
    for kind, find in KINDS.items():
        for start, end, new in find(code, text):
            yield kind, Mutant(name, room, kind, start, end, text[start:end], new, text.count("\n", 0, start) + 1)


def survey(root, folders, rooms, kinds):
    """{kind: mutants}, of all that could be made, in an order that depends on the sources alone."""
    found = {kind: [] for kind in kinds}
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".c", ".h", ".cu", ".cuh"):
                continue
            name = path.relative_to(root).as_posix()
            parts = name[len(folder) + 1:].split("/")
            room = folder if folder == "kernels" or len(parts) == 1 else parts[0]
            if not rooms or room in rooms:
                for kind, mutant in places(path, name, room):
                    if kind in found:
                        found[kind].append(mutant)
    return {kind: mutants for kind, mutants in found.items() if mutants}


def draws(found, seed):
    """Mutants without end: each kind is as likely as another, and no mutant comes twice."""
    dice = random.Random(str(seed))
    left = {kind: list(mutants) for kind, mutants in sorted(found.items())}
    while left:
        kind = dice.choice(sorted(left))
        pool = left[kind]
        at = dice.randrange(len(pool))
        pool[at], pool[-1] = pool[-1], pool[at]
        yield pool.pop()
        if not pool:
            del left[kind]


def applied(mutant, text):
    return text[:mutant.start] + mutant.new + text[mutant.end:]


def diff(mutant, text):
    lines = difflib.unified_diff(text.splitlines(), applied(mutant, text).splitlines(), "a/" + mutant.path, "b/" + mutant.path, n=1, lineterm="")
    return "\n".join(lines)


# ---- mutants without effect ----

def read_equivalent(path):
    """{(file, old line, new line): reason}. A record is a line with the file's name, `- ` and the line, `+ ` and what it became, and the reason. The name may have `*` in it, and the
    lines $1, $2 and so on, which are any text and the same in both."""
    known = {}
    if not path or not path.exists():
        return known
    text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    for record in re.split(r"\n\s*\n", text.strip()):
        lines = record.split("\n")
        if lines == [""]:
            continue
        if len(lines) < 4 or not lines[1].startswith("- ") or not lines[2].startswith("+ "):
            sys.exit(f"{path}: not a name, a line with '- ', one with '+ ' and a reason: {lines[0]}")
        known[lines[0].strip(), lines[1][2:].strip(), lines[2][2:].strip()] = " ".join(lines[3:])
    return known


def reason_of(mutant, text, known):
    old = text[text.rfind("\n", 0, mutant.start) + 1:].split("\n")[0].strip()
    changed = applied(mutant, text)
    new = changed[changed.rfind("\n", 0, mutant.start) + 1:].split("\n")[0].strip()
    return known.get((mutant.path, old, new)) or next((reason for (name, before, after), reason in known.items()
                                                       if ("$1" in before or "*" in name) and fnmatch.fnmatch(mutant.path, name) and fits(before, after, old, new)), None)


def fits(before, after, old, new):
    """Whether two lines are as a record's lines with $1 and so on."""
    pattern, named = "", set()
    for part in re.split(r"(\$\d)", before):
        number = part[1:]
        pattern += (f"(?P=of{number})" if number in named else f"(?P<of{number}>.*?)") if re.fullmatch(r"\$\d", part) else re.escape(part)
        named |= {number} if re.fullmatch(r"\$\d", part) else set()
    texts = re.fullmatch(pattern, old)
    return texts is not None and re.sub(r"\$(\d)", lambda place: texts[f"of{place[1]}"] if place[1] in named else place[0], after) == new
