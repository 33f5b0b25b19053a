#!/usr/bin/env python3
"""Instructions beyond x86-64's baseline stand only where the CPU has been asked for them.

    target_code.py LIBRARY OBJECT…

LIBRARY is the linked library. OBJECTs are the files it is made of, among them avx2.cpp.o,
avx512.cpp.o and, for the engine, vnni.cpp.o. In the library every function that has such an
instruction must be local to the file of a target that supports it, or must be named by the table of
another such file. The objects of these files must have no weak symbols, since the linker may take a
weak function from any file for all of them, and no code that runs at start.
"""

import re
import subprocess
import sys
from collections import defaultdict

# The instruction sets that each file may use; each level includes the ones before.
LEVELS = {"baseline": 0, "avx2": 1, "avx512": 2, "vnni": 3}
FILES = {"avx2.cpp": "avx2", "avx512.cpp": "avx512", "vnni.cpp": "vnni"}
# Functions that are not local to their file, because the table of another file names them.
SHARED = {name: "vnni" for name in ("vnni_dots_of_plane", "vnni_dots_of_planes", "vnni_dot_listed")}

VNNI = re.compile(r"vpdp(bus|wss)ds?\b")
EVEX = re.compile(r"%zmm|%k[0-7]\b|%[xy]mm(1[6-9]|2\d|3[01])\b|\{1to\d+\}|\{r[nduz]-sae\}")
# AVX and its extensions, all of which begin with v; then SSE3 to SSE4.2, BMI, ABM and MOVBE. tzcnt
# is not among them: compilers write it for the baseline too, where older CPUs read it as bsf with
# the same result.
VEX = re.compile(r"v[a-z0-9]+$")
SINCE_SSE3 = re.compile(
    r"(addsub[ps][sd]|h(add|sub)p[sd]|lddqu|mov(ddup|s[hl]dup)|fisttpl?l?|pshufb|ph(add|sub)s?[wd]|pabs[bwd]"
    r"|psign[bwd]|palignr|pmaddubsw|pmulhrsw|pblend(vb|w)|blendv?p[sd]|dpp[sd]|extractps|insertps|mpsadbw|packusdw"
    r"|p(extr|insr)[bdq]|pm(ax|in)(s[bd]|u[wd])|pmov[sz]x\w+|pmul(dq|ld)|ptest|round[ps][sd]|pcmp(eqq|gtq)"
    r"|pcmp[ei]str[im]|movntdqa|crc32[bwlq]?|popcnt[wlq]?|lzcnt[wlq]?|movbe[wlq]?|andn|bextr|bls(i|r|msk)"
    r"|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|adcx|adox|aes\w+|pclmul\w+|sha\d\w+)$"
)
NOT_VECTORS = {"verr", "verw", "vmcall", "vmfunc"}


def level_needed(mnemonic, operands):
    if mnemonic in NOT_VECTORS:
        return 0
    if VNNI.match(mnemonic):
        return LEVELS["vnni"]
    if EVEX.search(operands):
        return LEVELS["avx512"]
    return LEVELS["avx2"] if VEX.match(mnemonic) or SINCE_SSE3.match(mnemonic) else 0


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def functions_of(library):
    """Maps addresses to (name, file); the file is known if the function was compiled local."""
    functions, file = {}, ""
    for line in output_of("readelf", "-sW", library).splitlines():
        fields = line.split()
        if len(fields) < 7 or not fields[0].rstrip(":").isdigit():
            continue
        name = fields[7] if len(fields) > 7 else ""
        if fields[3] == "FILE":
            file = name
        elif fields[3] in ("FUNC", "IFUNC") and fields[6] != "UND":
            functions[int(fields[1], 16)] = (name, file if fields[4] == "LOCAL" else "")
    return functions


def allowed(name, file):
    for word, level in SHARED.items():
        if word in name:
            return LEVELS[level]
    return LEVELS[FILES.get(file, "baseline")]


def check_library(library, files):
    functions = functions_of(library)
    wrong, seen = {}, defaultdict(int)
    name, file = "?", ""
    for line in output_of("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        heading = re.match(r"([0-9a-f]+) <(.*)>:$", line)
        if heading:
            name, file = functions.get(int(heading[1], 16), (heading[2], ""))
            continue
        instruction = re.match(
            r"\s+([0-9a-f]+):\s+(?:(?:lock|rep\w*|notrack|bnd|data16|cs|ds) )*(\S+)\s*(.*)", line
        )
        if not instruction:
            continue
        at, mnemonic, operands = instruction.groups()
        name, file = functions.get(int(at, 16), (name, file))
        level = level_needed(mnemonic, operands)
        if level:
            seen[file] += 1
        if level > allowed(name, file):
            wrong.setdefault((name, file), f"{mnemonic} {operands}")
    for (name, file), text in wrong.items():
        yield f"{name} ({file or 'of no one file'}) holds: {text}"
    # With fewer, the files were renamed or the symbols stripped, and nothing was checked.
    for file in files:
        if seen[file] < 100:
            yield f"{library} has no vector instructions that are known to come from {file}"


def check_object(path):
    for line in output_of("readelf", "-sW", path).splitlines():
        fields = line.split()
        if (
            len(fields) > 7
            and fields[3] in ("FUNC", "OBJECT")
            and fields[4] in ("WEAK", "UNIQUE")
            and fields[6] != "UND"
        ):
            yield f"{path} defines {fields[7]} for every file that has it"
    for section in (".init_array", ".ctors", ".preinit_array"):
        if section in output_of("readelf", "-SW", path):
            yield f"{path} has code that runs when the library is loaded ({section})"


def main(library, *objects):
    of_targets = {name: path for path in objects for name in FILES if path.endswith(f"/{name}.o")}
    complaints = list(check_library(library, of_targets))
    if not {"avx2.cpp", "avx512.cpp"} <= of_targets.keys():
        complaints.append(f"of the targets' objects only these were given: {sorted(of_targets)}")
    for path in of_targets.values():
        complaints += check_object(path)
    print("\n".join(complaints) or "target_code: as it should be")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
