#!/usr/bin/env bash
# The views of the report are well formed whatever the texts in it hold: formats.sh PLUMB
set -euo pipefail
plumb=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The folder's name reaches every view: markup, a control character, a byte that is not UTF-8.
folder="$work/"$'a<b>&"c\'d\x1b\xff é'
mkdir "$folder"
cp tests/golden/check/scale.mlir tests/golden/check/scale.ptx "$folder"
sed 's/0f3F800000/0f3F800001/' "$folder/scale.ptx" >"$folder/off.ptx"
sed 's/fma.rn.f32.*/frobnicate.f32 %f1, %f0;/' "$folder/scale.ptx" >"$folder/unknown.ptx"
task() { # task NAME CANDIDATE SIZE-ARGUMENT
  cat >"$folder/$1.yaml" <<YAML
plumb: 1
name: "$1 <i>&amp;\\e ]]> \\x85 \\"q\\""
reference: {source: scale.mlir}
candidate: {source: $2, arguments: [x, y, $3], launch: {grid: [2], block: [32]}}
sizes: {N: 33}
tensors:
  x: {type: f32, shape: [N], fill: exact}
  y: {type: f32, shape: [N], role: output}
YAML
}
task good scale.ptx N
task trapped scale.ptx N+1
task diverged off.ptx N
task undecided unknown.ptx N
printf 'plumb: 1\nnmae: x\n' >"$folder/bad.yaml"

check() { # check FORMAT EXIT TASK...
  local format=$1 expected=$2 code=0 files=()
  shift 2
  for name in "$@"; do files+=("$folder/$name.yaml"); done
  "$plumb" check "${files[@]}" --quiet --format "$format" -o "$work/$format" --save "$work/stages" \
    2>"$work/stderr" || code=$?
  if [ "$code" != "$expected" ]; then
    echo "FAIL $format: exit $code, not $expected: $(cat "$work/stderr")"
    exit 1
  fi
}
for format in json junit sarif html; do check "$format" 3 good trapped diverged undecided bad; done

python3 - "$work" <<'PYTHON'
import html.parser, json, sys, urllib.parse, xml.dom.minidom, xml.etree.ElementTree as tree

work = sys.argv[1]
read = lambda name: open(f"{work}/{name}", encoding="utf-8").read()  # strict: not UTF-8 fails
names = ["good", "trapped", "diverged", "undecided"]

# JSON Lines: the tasks that have a report.
reports = [json.loads(line) for line in read("json").strip().split("\n")]
assert [r["name"].split()[0] for r in reports] == names, reports
assert reports[0]["name"] == 'good <i>&amp;\x1b ]]> \x85 "q"', reports[0]["name"]
assert [r["verdict"] for r in reports] == ["identical", "trapped", "diverged", "undecided"]
print("ok json")

# JUnit: a suite a task, a case a stage, the numbers those of the elements.
root = tree.fromstring(read("junit"))
suites = root.findall("testsuite")
assert root.tag == "testsuites" and len(suites) == 5
for suite, report in zip(suites, reports):
    cases = suite.findall("testcase")
    assert len(cases) == len(report["stages"]) == int(suite.get("tests"))
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures"))
    assert len(suite.findall("testcase/error")) == int(suite.get("errors"))
    assert suite.get("name") == report["name"].replace("\x1b", "\\x1b").replace("\x85", "\\u0085")
assert [int(s.get("failures")) for s in suites] == [0, 1, 1, 0, 0]
assert [int(s.get("errors")) for s in suites] == [0, 0, 0, 1, 1]
failure = suites[1].find("testcase/failure")
assert failure.get("type") == "trapped" and "out-of-bounds" in failure.get("message")
assert "in scale, block (1, 0, 0), lane 1" in failure.text, failure.text
assert "frobnicate" in suites[3].find("testcase/error").get("message")
assert "unknown key 'nmae'" in suites[4].find("testcase/error").get("message")
print("ok junit")

# SARIF 2.1.0: the properties that section 3 requires, rules that exist, places that exist.
sarif = json.loads(read("sarif"))
assert sarif["version"] == "2.1.0" and len(sarif["runs"]) == 1
run = sarif["runs"][0]
rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
assert rules == ["trapped/out-of-bounds", "diverged", "undecided"], rules
assert [r["ruleId"] for r in run["results"]] == rules
assert [r["level"] for r in run["results"]] == ["error", "error", "warning"]
for result in run["results"]:
    assert result["message"]["text"] and result["properties"]["side"] == "candidate"
    for location in result["locations"]:
        place = location["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        assert uri.startswith("file:///") and uri.isascii(), uri
        assert open(urllib.parse.unquote_to_bytes(uri[len("file://"):]), "rb").read()
        assert place.get("region", {"startLine": 1})["startLine"] > 0
trap, worst, _ = [r["locations"][0] for r in run["results"]]
text = open(urllib.parse.unquote_to_bytes(trap["physicalLocation"]["artifactLocation"]["uri"][7:]), "rb")
line = text.read().splitlines()[trap["physicalLocation"]["region"]["startLine"] - 1]
assert b"ld.global.f32" in line, line
assert trap["logicalLocations"][0]["fullyQualifiedName"] == "scale"
assert worst["logicalLocations"][0]["fullyQualifiedName"].startswith("y["), worst
invocation = run["invocations"][0]
assert invocation["executionSuccessful"] is False
notification = invocation["toolExecutionNotifications"][0]
assert "unknown key 'nmae'" in notification["message"]["text"]
assert notification["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
print("ok sarif")

# HTML: tags balance, nothing is loaded or run, texts arrive as they were.
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.rows = [], [], 0
    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe", "i", "b"), tag
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attributes)
        self.rows += tag == "tr"
        if tag != "meta":
            self.open.append(tag)
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
    def handle_data(self, data):
        self.text.append(data)
page = Page()
page.feed(read("html"))
page.close()
text = "".join(page.text)
assert not page.open and page.rows == 4 + sum(len(r["stages"]) for r in reports)
assert "undecided <i>&amp;\\x1b ]]> \\u0085 \"q\"" in text and "a<b>&\"c'd\\x1b\\xff é" in text
assert "frobnicate" in text and "ld.global.f32" in text and "unknown key 'nmae'" in text
assert not any(ord(c) < 32 and c not in "\n\t" for c in read("html"))
print("ok html")
PYTHON

# A step that loses the sign of a zero: what it changed is shown, removed and added.
printf '%s\n' 'func.func @f(%x: memref<1xf32>) {' '  %z = arith.constant 0 : index' \
  '  %a = memref.load %x[%z] : memref<1xf32>' '  %b = math.ceil %a : f32' \
  '  memref.store %b, %x[%z] : memref<1xf32>' '  return' '}' >"$work/ceil.mlir"
code=0
"$plumb" lower "$work/ceil.mlir" --pipeline math-expand-ops --arg '[-0.25]' --format html \
  -o "$work/html" || code=$?
if [ "$code" != 1 ] || ! grep -q '^<del>- .*math.ceil' "$work/html" ||
  ! grep -q '^<ins>+ .*arith.fptosi' "$work/html"; then
  echo "FAIL difference: exit $code"
  grep -A9 'What this step' "$work/html"
  exit 1
fi
echo "ok difference"

# One accepted task: nothing to say in any of them.
for format in junit sarif html; do check "$format" 0 good; done
python3 - "$work" <<'PYTHON'
import json, sys, xml.etree.ElementTree as tree
work = sys.argv[1]
run = json.load(open(f"{work}/sarif"))["runs"][0]
assert run["results"] == [] and run["invocations"][0]["executionSuccessful"] is True
assert not tree.parse(f"{work}/junit").findall(".//failure")
assert "First to fall" not in open(f"{work}/html").read()
print("ok accepted")
PYTHON
