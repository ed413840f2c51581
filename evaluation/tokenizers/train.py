"""Train the tokenizer that ships: a byte-level BPE of 4,096 tokens on this project's own text.

Run from the repository's root: `python -m evaluation.tokenizers.train` (writes `cutline-bpe-4k.json` and its digest
beside this file; `--check` only compares). The text is the demo corpus, in sorted order of path; the documentation is
left out because it changes more often than a tokenizer may. Training is deterministic: merges depend on counts, ties
on the pair itself. Train again only on purpose, since every result that used the file names its digest.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NAME = "cutline-bpe-4k"
SIZE = 4096

#: Letters with their marks, up to three digits, other signs, line ends and blanks apart: as byte-level models split
#: today.
SPLIT = r"\p{N}{1,3}| ?[\p{L}\p{M}]+| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def text_files() -> list[Path]:
    """Files trained on: the demo's sources, sorted by their path in the repository."""
    files = [path for path in (ROOT / "evaluation" / "demo" / "corpus").rglob("*") if path.is_file()]
    return sorted(
        (path for path in files if path.suffix in {".md", ".txt", ".html", ".csv"}),
        key=lambda path: path.relative_to(ROOT).as_posix(),
    )


def train(files: list[Path]) -> bytes:
    """A tokenizer.json trained on `files`, as bytes. Equal files give equal bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        min_frequency=2,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[],
    )
    tokenizer.train_from_iterator(_texts(files), trainer)
    return tokenizer.to_str(pretty=False).encode("utf-8")


def _texts(files: list[Path]) -> Iterator[str]:
    for path in files:
        yield path.read_bytes().decode("utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Train and write, or with `--check` compare with what is there. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Train the shipped tokenizer on this project's own text.")
    parser.add_argument("--check", action="store_true", help="only say whether training again gives the shipped file")
    options = parser.parse_args(arguments)
    files = text_files()
    definition = train(files)
    digest = hashlib.sha256(definition).hexdigest()
    target = HERE / f"{NAME}.json"
    if options.check:
        same = target.exists() and target.read_bytes() == definition
        print(f"{digest} from {len(files)} files: {'equal to' if same else 'not'} the shipped {target.name}")
        return 0 if same else 1
    target.write_bytes(definition)
    target.with_suffix(".sha256").write_text(f"{digest}  {target.name}\n", encoding="ascii")
    print(f"{target.name}: {digest} from {len(files)} files, {sum(path.stat().st_size for path in files)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
