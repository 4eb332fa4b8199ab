#!/usr/bin/env python3
"""The report in a real browser: it renders, holds what it should, and asks the network for nothing."""
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
browser = next((b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None)
if not browser:
    print("skipped: no chromium on this machine (./setup test installs it)")
    sys.exit(77)
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-web-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
campaign = root / "campaign"
subprocess.run([f"{build}/atoll", "run", f"{source}/suites/starter", "--only", "softmax_rows", "--only", "matmul", "--backend", "null", "-o",
                str(campaign), "--evaluations", "60", "--seed", "5", "-q"], check=True, stdout=subprocess.DEVNULL)
page = campaign / "report.html"
text = page.read_text()
outside = re.findall(r'(?:src|href)\s*=\s*["\']?(?!#|data:)([^"\'\s>]+)', text)
if outside:
    sys.exit(f"the report refers to {outside[:5]}")
base = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={root}/profile"]
shot = root / "report.png"
subprocess.run([*base, "--window-size=1280,2400", f"--screenshot={shot}", page.as_uri()], check=True, timeout=240,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if shot.stat().st_size < 20000:
    sys.exit(f"the screenshot has {shot.stat().st_size} bytes: an empty page")
dom = subprocess.run([*base, "--dump-dom", page.as_uri()], check=True, timeout=240, capture_output=True, text=True).stdout
for part in ("softmax_rows", "matmul", "<svg", "<table"):
    if part not in dom:
        sys.exit(f"the rendered page lacks {part}")
if os.environ.get("ATOLL_KEEP_SCREENSHOT"):
    shutil.copy(shot, os.environ["ATOLL_KEEP_SCREENSHOT"])
print(f"{len(text)} bytes of report rendered")
