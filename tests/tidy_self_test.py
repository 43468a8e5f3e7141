"""Shows each fence of tests/tidy catching what it is there for, and letting its neighbour pass."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("tidy", str(Path(__file__).with_name("tidy")))
sys.dont_write_bytecode = True
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)


def lines(count: int) -> str:
    return "".join(f"  call({number});\n" for number in range(count))


def function(body_lines: int, head: str = "void f() {") -> str:
    return head + "\n" + lines(body_lines) + "}\n"


LONG = tidy.MOST_LINES_A_FUNCTION
LATER = "TO" "DO"
MACHINE = "/ho" "me/somebody/venv"

# (what it shows, fence, tree, caught: True or False)
CASES = [
    ("a room may not include config's neighbours", tidy.fence_include_arrows,
     {"master/pool/a.h": '#include "master/launch/b.h"\n'}, True),
    ("report may include control", tidy.fence_include_arrows,
     {"master/report/a.h": '#include "master/control/b.h"\n'}, False),
    ("control may not include report", tidy.fence_include_arrows,
     {"master/control/a.h": '#include "master/report/b.h"\n'}, True),
    ("base includes nothing above it", tidy.fence_include_arrows, {"base/a.h": '#include "worker/b.h"\n'}, True),
    ("instance may include every room", tidy.fence_include_arrows,
     {"master/instance.cc": '#include "master/report/a.h"\n#include "master/config/config.h"\n'}, False),
    ("an include without its folder is no arrow", tidy.fence_include_arrows, {"base/a.h": '#include "b.h"\n'}, True),
    ("headers in a circle", tidy.fence_include_cycles,
     {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/a.h"\n'}, True),
    ("headers in a line", tidy.fence_include_cycles, {"base/a.h": '#include "base/b.h"\n', "base/b.h": "\n"}, False),
    ("config.h in a test of another room", tidy.fence_config_stays_home,
     {"tests/unit/pool/a_test.cc": '#include "master/config/config.h"\n'}, True),
    ("config.h in main", tidy.fence_config_stays_home, {"master/main.cc": '#include "master/config/config.h"\n'},
     False),
    ("libuv in a pure file", tidy.fence_purity, {"master/pool/reconcile.cc": "#include <uv.h>\n"}, True),
    ("libuv in a shell", tidy.fence_purity, {"master/pool/supervisor.cc": "#include <uv.h>\n"}, False),
    ("a clock in a pure file", tidy.fence_purity,
     {"recycler/decide.cc": "auto now = std::chrono::steady_clock::now();\n"}, True),
    ("a clock in a comment", tidy.fence_purity, {"recycler/decide.cc": "// never steady_clock::now()\n"}, False),
    ("a system call's header in a pure file", tidy.fence_purity,
     {"lease/ledger.cc": "#include <sys/socket.h>\n"}, True),
    ("a pure file leans on one that is not", tidy.fence_purity,
     {"base/random.h": '#include "base/uv_handle.h"\n'}, True),
    ("a timer without a budget in lease/", tidy.fence_timers_from_a_budget,
     {"lease/a.cc": "void f() { uv_timer_start(timer, again, 50, 0); }\n"}, True),
    ("a timer of its own in sleep/", tidy.fence_timers_from_a_budget,
     {"master/sleep/a.h": "UvHandle<uv_timer_t> timer = make_timer(loop, this);\n"}, True),
    ("a sleep in lease/", tidy.fence_timers_from_a_budget,
     {"lease/a.cc": "void f() { std::this_thread::sleep_for(pause); }\n"}, True),
    ("a timer from a budget in lease/, and one in a comment", tidy.fence_timers_from_a_budget,
     {"lease/a.cc": "// not uv_timer_start\nvoid f() { timer.at_end_of(budget); }\n"}, False),
    ("a timer elsewhere", tidy.fence_timers_from_a_budget,
     {"master/pool/a.cc": "void f() { uv_timer_start(timer, again, 50, 0); }\n"}, False),
    ("a choice in instance.cc", tidy.fence_instance_is_a_list,
     {"master/instance.cc": "Instance::Instance() {\n  if (a) b();\n}\n"}, True),
    ("a loop in instance.cc", tidy.fence_instance_is_a_list,
     {"master/instance.cc": "void f() {\n  for (auto& part : parts) part.start();\n}\n"}, True),
    ("the word if in a comment of instance.cc", tidy.fence_instance_is_a_list,
     {"master/instance.cc": "// if and for\nint x = 1;\n"}, False),
    ("a file of 401 lines", tidy.fence_sizes, {"base/a.h": "\n" * 401}, True),
    ("a file of 400 lines", tidy.fence_sizes, {"base/a.h": "\n" * 400}, False),
    ("a Python script of 401 lines without a suffix", tidy.fence_sizes,
     {"tools/a": "#!/usr/bin/python3\n" + "\n" * 400}, True),
    ("13 project includes", tidy.fence_sizes,
     {"base/a.cc": "".join(f'#include "base/{n}.h"\n' for n in range(13))}, True),
    ("12 project includes and many others", tidy.fence_sizes,
     {"base/a.cc": "".join(f'#include "base/{n}.h"\n#include <a{n}>\n' for n in range(12))}, False),
    ("a function of 61 lines", tidy.fence_sizes, {"base/a.cc": function(LONG - 1)}, True),
    ("a function of 60 lines", tidy.fence_sizes, {"base/a.cc": function(LONG - 2)}, False),
    ("a long function in a namespace and a class", tidy.fence_sizes,
     {"base/a.h": "namespace n {\ntemplate <class T>\nclass C {\n public:\n" + function(LONG) + "};\n}\n"}, True),
    ("a long constructor with members in braces", tidy.fence_sizes,
     {"base/a.cc": function(LONG, "C::C(int x) : a_{x}, b_{x} {")}, True),
    ("a long method with a trailing return type", tidy.fence_sizes,
     {"base/a.cc": function(LONG, "auto f(int x) const -> int {")}, True),
    ("two short functions in a row", tidy.fence_sizes, {"base/a.cc": function(LONG - 2) + function(LONG - 2)}, False),
    ("a long table", tidy.fence_sizes, {"base/a.cc": "const int table[] = {\n" + "  1,\n" * 100 + "};\n"}, False),
    ("a long class of short methods", tidy.fence_sizes,
     {"base/a.h": "class C {\n" + "  void f() { g(); }\n" * 100 + "};\n"}, False),
    ("a brace in a string", tidy.fence_sizes, {"base/a.cc": 'void f() { g("{"); }\n' + function(LONG - 2)}, False),
    ("a Python line of 121 columns", tidy.fence_python, {"a.py": "x = '" + "y" * 115 + "'\n"}, True),
    ("a Python function of 61 lines", tidy.fence_python, {"a.py": "def f():\n" + "    g()\n" * LONG}, True),
    ("a Python file that does not parse", tidy.fence_python, {"a.py": "def f(:\n"}, True),
    ("a calm Python file", tidy.fence_python, {"a.py": "def f():\n    pass\n"}, False),
    ("something put off", tidy.fence_words, {"base/a.h": f"// {LATER}: later\n"}, True),
    ("a path of one machine", tidy.fence_words, {"README.md": f"run {MACHINE}/bin/python\n"}, True),
    ("a path that every machine has", tidy.fence_words, {"README.md": "/usr/bin/python3, ./work/a, mkdtemp XXXXXX\n"},
     False),
]


def format_cases() -> list:
    text = {"ugly.cc": "int  f( ) {return 1;}\n", "calm.cc": "int f() { return 1; }\n"}
    for name, content in text.items():
        Path(name).write_text(content, encoding="utf-8")
    return [("badly set C++", tidy.fence_format, {"ugly.cc": text["ugly.cc"]}, True),
            ("well set C++", tidy.fence_format, {"calm.cc": text["calm.cc"]}, False)]


def main() -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        cases = CASES + format_cases()
        for shows, fence, tree, caught in cases:
            found = list(fence(tree))
            if bool(found) != caught:
                wrong += 1
                print(f"{fence.__name__}: {shows}: expected {'a violation' if caught else 'none'}, got {found}")
        os.chdir("/")
    unshown = {fence.__name__ for fence in tidy.FENCES} - {fence.__name__ for _, fence, _, caught in cases if caught}
    for name in sorted(unshown):
        wrong += 1
        print(f"{name}: no case shows that it catches anything")
    print(f"tidy self-test: {len(cases) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
