"""Check an unpacked Cutline fixture archive without Cutline: python3 verify.py [FOLDER]. It says "sound" or stops."""

import hashlib, json, pathlib, sys  # noqa: E401, I001

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
digest = lambda name: hashlib.sha256((root / name).read_bytes()).hexdigest()  # noqa: E731
check = lambda name, wanted: digest(name) == wanted or sys.exit(f"{name}: its bytes do not have the digest {wanted}")  # noqa: E731
[check(line[66:], line[:64]) for line in (root / "SHA256SUMS").read_text("utf-8").splitlines()]
told = json.loads((root / "set.json").read_bytes())
[check(f"canonical/{one['fixture_id']}.json", one["digest"]) for one in told["fixtures"]]
[check(f"sources/{one['digest']}", one["digest"]) for one in told["sources"] if (root / "sources").is_dir()]
print(f"sound: set {digest('set.json')}, {len(told['fixtures'])} fixtures, {len(told['sources'])} source versions")
