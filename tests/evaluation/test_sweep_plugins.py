"""Every plug-in a plan may name, from its text to sealed results; and plans whose arms cannot run here."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.domain.errors import BadInput
from annotate.domain.vocabulary import Role
from annotate.permissions import OPERATOR
from evaluation.domain.outcomes import STAGES
from evaluation.domain.sweep_limits import Prices
from evaluation.models import Attempt, Cell, Plan, Sweep
from evaluation.selectors.question_trace import question_trace
from evaluation.services.arm_phases import arm_phases
from evaluation.services.estimate_plan import estimate_text
from evaluation.services.frozen_world import load_world
from evaluation.services.outcome_table import table_of_results
from evaluation.services.pipeline_of import arm_settings
from evaluation.services.population import block_of
from evaluation.services.results import SweepResults, sweep_results
from evaluation.services.run_cell import index_build
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from ledger.models import Record, Result
from ledger.services.verify import verify
from tests.evaluation.retrieval_server import Reply, serving
from tests.evaluation.sweeps import THINGS, _text, locked, plan_toml, small_study, started
from tests.factories import make_member

pytestmark = pytest.mark.django_db
PLAIN = 'segmenter = "token-window"\ncapacity = 40\noverlap = 0\nfactor = "overlap"\n'

SEGMENTERS = {
    "characters": 'capacity = 180\noverlap = 40\nunit = "characters"\nfactor = "combined"',
    "words": 'capacity = 30\noverlap = 12\nunit = "words"\nfactor = "combined"',
    "sentences": 'capacity = 40\noverlap = 12\nfactor = "segmenter"',
    "recursive": 'capacity = 40\noverlap = 12\nseparators = ["\\n\\n", ". ", " "]\nfactor = "segmenter"',
    "headings": 'capacity = 40\noverlap = 12\noptions = \'{"secondary": "tokens"}\'\nfactor = "segmenter"',
    "tables": 'capacity = 40\noverlap = 12\nfactor = "segmenter"',
    "code": 'capacity = 40\noverlap = 12\nfactor = "segmenter"',
}


def arm_plan(settings: str, *, unit: str = "splitter", grid: int = 4) -> str:
    """Return the small plan whose candidate has these settings; the baseline stays the window of 40/12."""
    return plan_toml({PLAIN: settings + "\n", '"splitter"': f'"{unit}"'}, grid=grid)


def sealed(toml: str) -> Sweep:
    """Return the sweep of a plan, every cell computed at the first try."""
    sweep = started(toml=toml)
    drain("w")
    sweep.refresh_from_db()
    assert set(Attempt.objects.values_list("outcome", "problem")) == {("done", "")}
    assert (sweep.state, sweep.problem) == (Sweep.State.SEALED, "")
    return sweep


def supported(results: SweepResults, arm: str) -> int:
    """Return the runs of `arm` whose prompt held complete support, over its phases, samples and views."""
    rows = results.rows("figures", arm=arm, metric="complete-support", stage="packed", segment="overall")
    return sum(row["numerator"] for row in rows)


def manifests(sweep: Sweep, arm: str = "plain") -> list[dict[str, object]]:
    return [one.value for one in Result.objects.filter(scope=sweep.scope, kind="manifest") if one.value["arm"] == arm]


@pytest.mark.parametrize("name", SEGMENTERS)
def test_segmenter_runs_from_plan_to_sealed_results(name: str) -> None:
    toml = arm_plan(f'segmenter = "{name}"\n{SEGMENTERS[name]}')
    sweep = sealed(toml)
    found = manifests(sweep)
    assert {one["segmenter"]["segmenter"] for one in found} == {name}
    size = estimate_text(OPERATOR, sweep.plan.fixture_set, toml, Prices()).size
    arm = next(one for one in size.arms if one.arm == "plain")
    assert arm.phases == len(found)
    assert arm.chunkings == len({one["chunk_ids"] for one in found})
    assert arm.chunks == sum(one["chunk_count"] for one in found)
    assert sweep_results(sweep).data["pairs"]


FOREIGN = {
    "langchain": ("langchain_text_splitters:RecursiveCharacterTextSplitter", {"chunk_size": 160, "chunk_overlap": 0}),
    "llama-index": (
        "llama_index.core.node_parser:SentenceSplitter",
        {"chunk_size": 40, "chunk_overlap": 8, "cutline": {"tokenizer": "cutline-bpe-4k"}},
    ),
    "chonkie": ("chonkie:SentenceChunker", {"chunk_size": 160, "chunk_overlap": 0}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_splitter_is_one_observation_under_every_label(name: str) -> None:
    splitter, options = FOREIGN[name]
    given = f'segmenter = "{name}"\nsplitter = "{splitter}"\noptions = \'{json.dumps(options)}\''
    toml = arm_plan(f'{given}\nfactor = "segmenter"')
    sweep = sealed(toml)
    (manifest,) = manifests(sweep)
    assert (manifest["control"], manifest["segmenter"]["splitter"]) == ("unshifted control", splitter)
    assert manifest["labels"] == ["1/4", "1/2", "3/4", "1/1"]
    assert manifest["chunk_count"] > len(THINGS)
    assert set(Cell.objects.filter(arm="plain").values_list("phase", flat=True)) == {0}
    results = sweep_results(sweep)
    (arm,) = results.rows("arms", arm="plain")
    assert (arm["stride"], set(arm["phases"].values())) == (0, {0})
    assert supported(results, "plain") > 0
    size = estimate_text(OPERATOR, sweep.plan.fixture_set, toml, Prices()).size
    assert [(one.phases, one.chunkings) for one in size.arms] == [(4, 4), (1, 1)]


def dump_arm(folder: Path) -> str:
    """Return an arm that scores a dump of two chunks for each document."""
    dump = folder / "chunks.jsonl"
    rows = []
    for thing in THINGS:
        text = _text(thing)
        half = text.index(" Broken")
        rows += [{"text": text[:half], "document": thing}, {"text": text[half:], "document": thing}]
    dump.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    digest = hashlib.sha256(dump.read_bytes()).hexdigest()
    return f'segmenter = "chunk-dump"\nchunks = "{dump}"\nchunks_digest = "{digest}"'


def test_chunk_dump_is_scored_as_it_was_exported(tmp_path: Path) -> None:
    sweep = sealed(arm_plan(f'{dump_arm(tmp_path)}\nfactor = "segmenter"'))
    (manifest,) = manifests(sweep)
    assert manifest["chunk_count"] == 2 * len(THINGS)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('segmenter = "langchain"\nsplitter = "no_such_package:Splitter"\nfactor = "segmenter"', "no_such_package"),
        ('segmenter = "langchain"\nsplitter = "json:JSONDecoder"\nfactor = "segmenter"', "json:JSONDecoder"),
        (
            f'segmenter = "chunk-dump"\nchunks = "no/such.jsonl"\nchunks_digest = "{"a" * 64}"\nfactor = "segmenter"',
            "no/such.jsonl",
        ),
        ('segmenter = "sentences"\ncapacity = 40\noverlap = 12\nlanguage = "xx"\nfactor = "segmenter"', "'xx'"),
    ],
)
def test_plan_whose_arm_cannot_run_here_is_not_locked_and_says_why(settings: str, says: str) -> None:
    fixture_set = small_study()
    with pytest.raises(BadInput, match="arms") as refused:
        locked(fixture_set, arm_plan(settings))
    assert refused.value.where.startswith("plan, arms[1]")
    assert says in refused.value.mend
    assert Plan.objects.get().locked_at is None
    with pytest.raises(BadInput, match="arms"):
        estimate_text(OPERATOR, fixture_set, arm_plan(settings), Prices())


def test_targeted_phases_are_listed_apart_and_in_no_figure() -> None:
    sweep = sealed(plan_toml({"grid = 2": "grid = 2\ntargeted = true"}, grid=2))
    data = sweep_results(sweep).data
    shared = {phase for arm in data["arms"] for phase in arm["phases"].values()}
    aimed = {row["phase"] for row in data["targeted"]}
    assert aimed - shared
    assert {row["position"] for row in data["targeted"]} == {"before", "between", "after"}
    assert {row["phase"] for row in data["figures"]} <= shared


def test_every_phase_of_equal_strides_is_shared() -> None:
    toml = plan_toml({PLAIN: 'segmenter = "token-window"\ncapacity = 10\noverlap = 4\nfactor = "combined"\n'})
    toml = toml.replace("capacity = 40\noverlap = 12", "capacity = 8\noverlap = 2").replace("grid = 4", "every = true")
    sweep = started(toml=toml)
    assert set(Cell.objects.filter(sweep=sweep, arm="plain").values_list("phase", flat=True)) == set(range(1, 7))


POLICIES = {
    "lsa": ("retrieval", 'retriever = "lsa"\ncandidates = 10\ndimensions = 8'),
    "hybrid": ("retrieval", 'retriever = "hybrid"\ncandidates = 10\nfuse = ["bm25", "lsa"]\ndimensions = 8'),
    "mmr": ("reranking", 'reranker = "mmr"\nrelevance = 0.4'),
    "sentence-window": ("recovery", 'policy = "sentence-window"'),
    "neighbours": ("recovery", 'policy = "neighbours"\nmoment = "before-reranking"'),
    "section": ("recovery", 'policy = "parent"'),
    "larger-chunk": ("recovery", 'policy = "parent"\nparent = "larger-chunk"\nparent_capacity = 90'),
    "document": ("recovery", 'policy = "parent"\nparent = "document"'),
    "auto-merge": ("recovery", 'policy = "auto-merge"\nparent_capacity = 90\nmerge_share = 0.4'),
}


def policy_arm(section: str, table: str) -> str:
    window = f'segmenter = "token-window"\ncapacity = 40\noverlap = 12\nfactor = "{section}"'
    return arm_plan(f"{window}\n[arms.{section}]\n{table}", unit="indexing-policy", grid=2)


@pytest.mark.parametrize("name", POLICIES)
def test_policy_of_an_arm_runs_from_plan_to_sealed_results(name: str) -> None:
    section, table = POLICIES[name]
    sweep = sealed(policy_arm(section, table))
    records = {one.value["arm"]: one.value for one in Result.objects.filter(scope=sweep.scope, kind="retrieval")}
    changed = {key for key in records["plain"] if records["plain"][key] != records["overlap"].get(key)}
    assert changed - {"arm", "phase", "build"}, "the record says what was done, or did something else"
    assert sweep_results(sweep).data["pairs"]


def test_system_over_http_is_asked_and_its_failures_are_labelled(settings: Any) -> None:
    def no_use(path: str, request: dict[str, Any]) -> Reply:
        return Reply(status=500)

    with serving(no_use) as server:
        settings.RETRIEVAL_HOSTS_ALLOWED = [f"127.0.0.1:{server.port}", "127.0.0.1"]
        table = f'retriever = "http"\ncandidates = 10\nendpoint = "{server.address()}"\nattempts = 1'
        sweep = started(toml=policy_arm("retrieval", table))
        drain("w")
        assert server.requests
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    assert Cell.objects.filter(sweep=sweep, arm="plain").values_list("phase", flat=True).distinct().count() == 1
    rows = [one for one in sweep_results(sweep).data["figures"] if one["arm"] == "plain" and "numerator" in one]
    assert {row["numerator"] for row in rows if row["metric"] == "complete-support" and row["stage"] == "packed"} == {0}
    table_of = table_of_results(sweep).cells
    failed = {one.failed for place, at in table_of.items() if place[0] == "plain" for one in at.values()}
    assert failed
    assert "" not in failed


class WordSearch:
    """A retrieval system of somebody else's: it indexes what it is told, by build, and ranks by words in common."""

    def __init__(self) -> None:
        self.indexes: dict[str, dict[str, dict[str, Any]]] = {}
        self.own: list[tuple[str, int, int]] = []

    def __call__(self, path: str, request: dict[str, Any]) -> Reply:
        if path == "/reindex":
            known = self.indexes.setdefault(request["build"], {})
            known.update({one["id"]: one for one in request["chunks"]})
            return Reply({})
        return Reply({"results": [self._answer(one, request) for one in request["queries"]]})

    def _answer(self, query: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        if self.own:
            texts = {thing: _text(thing).encode() for thing in THINGS}
            places = [({"document": d, "start": a, "end": b}, texts[d][a:b].decode()) for d, a, b in self.own]
        else:
            held = set(query["filters"]["labels"])
            mine = [one for one in self.indexes[request["build"]].values() if set(one["labels"]) <= held]
            places = [({"id": one["id"]}, one["text"]) for one in mine]
        words = set(re.findall(r"[a-z]+", query["text"].lower()))
        ranked = [{**place, "score": len(words & set(re.findall(r"[a-z]+", text.lower())))} for place, text in places]
        return {"id": query["id"], "hits": sorted(ranked, key=lambda hit: -hit["score"])[: request["k"]]}


WINDOW = 'segmenter = "token-window"\ncapacity = 40\noverlap = 12'


def http_arm(
    address: str, *, hook: str = "", segmenter: str = WINDOW, factor: str = "retrieval", more: str = ""
) -> str:
    """Return an arm whose chunks are found by the system at `address`."""
    table = f'retriever = "http"\ncandidates = 10\nendpoint = "{address}"\n'
    table += (f'reindex_hook = "{hook}"\n' if hook else "") + more
    return arm_plan(f'{segmenter}\nfactor = "{factor}"\n[arms.retrieval]\n{table}', unit="indexing-policy", grid=4)


def test_system_that_indexes_our_chunks_is_measured_at_every_phase(settings: Any) -> None:
    settings.RETRIEVAL_HOSTS_ALLOWED, settings.RETRIEVAL_TOKENS = ["127.0.0.1"], {"127.0.0.1": "s3cret"}
    system = WordSearch()
    with serving(system) as server:
        sweep = sealed(http_arm(server.address(), hook=server.address("/reindex")))
    found = manifests(sweep)
    assert {one["phase"] for one in found} == {7, 14, 21, 28}
    assert [label for one in sorted(found, key=lambda one: one["phase"]) for label in one["labels"]] == [
        "1/4", "1/2", "3/4", "1/1",
    ]  # fmt: skip
    assert {one["build"]: one["chunk_count"] for one in found} == {
        build: len(chunks) for build, chunks in system.indexes.items()
    }
    assert {one["Authorization"] for one in server.headers} == {"Bearer s3cret"}
    assert not any(b"s3cret" in json.dumps(one.value).encode() for one in Result.objects.filter(scope=sweep.scope))
    assert "s3cret" not in sweep.plan.toml
    assert supported(sweep_results(sweep), "plain") > 0
    records = [one.value for one in Result.objects.filter(scope=sweep.scope, kind="retrieval")]
    assert {len(one["failed"]) for one in records} == {0}
    attempts = Attempt.objects.filter(cell__sweep=sweep)
    told = [call for attempt in attempts for call in attempt.calls]
    assert sorted(call["purpose"] for call in told) == sorted(path.strip("/") for path, _ in server.requests)
    assert {(call["number"], call["status"], call["outcome"]) for call in told} == {(1, 200, "ok")}
    chained = [one.value.get("calls", []) for one in Record.objects.filter(scope=sweep.scope, kind="cell.attempt")]
    assert sorted(map(len, chained)) == sorted(len(attempt.calls) for attempt in attempts)
    assert verify().findings == ()


@pytest.mark.parametrize("chunks", ["dump", "window"])
def test_system_with_an_index_of_its_own_is_one_observation_that_can_answer_well(
    chunks: str, settings: Any, tmp_path: Path, client: Client
) -> None:
    settings.RETRIEVAL_HOSTS_ALLOWED = ["127.0.0.1"]
    system = WordSearch()
    with serving(system) as server:
        if chunks == "dump":
            toml = http_arm(server.address(), segmenter=dump_arm(tmp_path), factor="combined")
        else:
            toml = http_arm(server.address())
        plan = locked(small_study(), toml)
        world = load_world(plan)
        arm = world.plan.arm("plain")
        (phase,) = arm_phases(world.plan, arm_settings(arm), world.prepared, world.questions).runs
        build = index_build(world, "plain", phase)
        spans = zip(build.chunks.document, build.chunks.start, build.chunks.end, strict=True)
        system.own = [(world.prepared.documents[d].document_id, int(a), int(b)) for d, a, b in spans]
        sweep = start_sweep(OPERATOR, plan, idempotency_key="k", block_size=4)
        drain("w")
    sweep.refresh_from_db()
    assert set(Attempt.objects.values_list("outcome", "problem")) == {("done", "")}
    (manifest,) = manifests(sweep)
    assert (manifest["control"], manifest["labels"]) == ("unshifted control", ["1/4", "1/2", "3/4", "1/1"])
    assert manifest["phase"] == (0 if chunks == "dump" else 28)
    (row,) = sweep_results(sweep).rows("arms", arm="plain")
    assert (row["stride"], len(set(row["phases"].values())), row["chunkings"]) == (0, 1, 1)
    assert row["floating"] == manifest["floating"] == [server.address()]
    client.force_login(make_member(plan.study, Role.LEAD))
    for name, at in (("plan", plan.pk), ("sweep", sweep.pk), ("results", sweep.pk)):
        page = client.get(reverse(name, args=[at])).content.decode()
        assert f"<strong>◔ Not pinned</strong><p><code>{server.address()}</code>" in page
    assert supported(sweep_results(sweep), "plain") > 0


def test_endpoint_that_is_not_allowed_is_refused_before_the_lock() -> None:
    table = 'retriever = "http"\ncandidates = 10\nendpoint = "http://elsewhere.example/search"'
    with pytest.raises(BadInput, match="cannot"):
        locked(small_study(), policy_arm("retrieval", table))
    assert Plan.objects.get().locked_at is None


def test_question_shows_its_stages_in_the_order_each_arm_runs_them(client: Client) -> None:
    section, table = POLICIES["neighbours"]
    sweep = sealed(policy_arm(section, table))
    trace = question_trace(sweep, "how-long-looms", ["overlap", "plain"])
    assert [arm.order for arm in trace.arms] == [STAGES, (*STAGES[:2], *STAGES[3:5], STAGES[2], *STAGES[5:])]
    client.force_login(make_member(sweep.plan.study, Role.LEAD))
    page = client.get(reverse("sweep-question", args=[sweep.pk, "how-long-looms"])).content.decode()
    steps = re.findall(r'<tr><th scope="row">([^<]+)</th>', page[page.index("Support after each stage") :])
    assert steps[:7] == [
        "Chunks exist",
        "Ranked candidates",
        "Reranked / Expanded",
        "Expanded / Authorised",
        "Authorised / Reranked",
        "Duplicates merged",
        "Packed in the prompt",
    ]


def test_ties_across_k_are_counted_with_those_whose_support_depends_on_them() -> None:
    # Whole documents: the five that share a question's words tie for it, and the one it is about stands first.
    large = 'segmenter = "token-window"\ncapacity = 400\noverlap = 0\nfactor = "combined"'
    sweep = sealed(arm_plan(large, grid=2).replace("top_k = 2", "top_k = 3"))
    rows = {(row["arm"], row["phase"]): row for row in sweep_results(sweep).rows("ties")}
    assert {arm for arm, _ in rows} == {"overlap", "plain"}
    recounted = dict.fromkeys(rows, 0)
    answerable = {f"how-long-{thing}" for thing in THINGS}
    world = load_world(sweep.plan)
    for record in Result.objects.filter(scope=sweep.scope, kind="retrieval"):
        block = int(record.key.split("/")[3])
        asked = block_of(world.asked, block, sweep.block_size)
        named = [asked[at].question_id for at, first, last in record.value["ties_at_k"] if first <= 3 < last]
        recounted[record.value["arm"], record.value["phase"]] += len(answerable.intersection(named))
    assert {place: row["tied"] for place, row in rows.items()} == recounted
    for row in rows.values():
        assert (row["k"], row["asked"]) == (3, 4)
        assert row["decisive"] <= row["tied"] <= row["asked"]
    whole = [row for place, row in rows.items() if place[0] == "plain"]
    assert any(row["tied"] for row in whole)
    assert not any(row["decisive"] for row in whole)
