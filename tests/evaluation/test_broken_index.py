"""A re-index hook that fails once: the cell says so, and the next cell of the same process tries again."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.permissions import OPERATOR
from evaluation.models import Sweep
from evaluation.services.outcome_table import table_of_results
from evaluation.services.start_sweep import start_sweep
from evaluation.services.work import drain
from tests.evaluation.retrieval_server import Reply, serving
from tests.evaluation.sweeps import locked, small_study
from tests.evaluation.test_sweep_plugins import WordSearch, http_arm

pytestmark = pytest.mark.django_db
HYBRID = 'retriever = "hybrid"\nfuse = ["http", "bm25"]'


class AwayAtFirst(WordSearch):
    """Refuses the first part of every build it is sent, once."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def __call__(self, path: str, request: dict[str, Any]) -> Reply:
        if path == "/reindex" and request["build"] not in self.refused:
            self.refused.add(request["build"])
            return Reply(status=500)
        return super().__call__(path, request)


@pytest.mark.parametrize("retriever", ['retriever = "http"', HYBRID])
def test_failed_reindex_fails_one_cell_and_the_next_cell_tries_again(retriever: str, settings: Any) -> None:
    settings.RETRIEVAL_HOSTS_ALLOWED = ["127.0.0.1"]
    system = AwayAtFirst()
    with serving(system) as server:
        toml = http_arm(server.address(), hook=server.address("/reindex"), more="attempts = 1\n")
        plan = locked(small_study(), toml.replace('retriever = "http"', retriever))
        sweep = start_sweep(OPERATOR, plan, idempotency_key="k", block_size=1)
        drain("w")
    sweep.refresh_from_db()
    assert sweep.state == Sweep.State.SEALED
    asked = [path for path, _ in server.requests if path == "/reindex"]
    assert len(asked) == 2 * len(system.refused) > 0
    table = table_of_results(sweep)
    for place, outcomes in table.cells.items():
        failures = [one.failed for one in outcomes.values() if one.failed]
        assert len(failures) == (1 if place[0] == "plain" else 0)
        assert all("re-index: " in one for one in failures)
