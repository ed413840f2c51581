"""Charts of what support was lost to and of how far annotators agreed on it."""

from __future__ import annotations

from annotate.domain.agreement_intervals import CONFIDENCE, REPLICATES, SEED
from annotate.domain.agreement_report import DIFFERENCES
from evaluation.charts import intervals, losses
from evaluation.views.chart_parts import Asked, Chart
from evaluation.views.result_fates import losses_of
from evaluation.views.wording import FATES, count_of, counted

#: How an interval of agreement is made, as the file says it.
_RESAMPLED = ("percentile, questions resampled", CONFIDENCE, REPLICATES, SEED)


def loss_chart(asked: Asked) -> Chart:
    """From all runs of answerable questions down to those complete in the prompt, what each stage lost."""
    report = asked.report
    found = losses_of(report, asked.place, asked.segment)
    lost = [row for row in found if row[0] != FATES["complete"]]
    steps: list[losses.Step] = []
    totals = []
    for number, arm in enumerate(report.arms):
        total = sum(row[3][number] for row in found)
        left = total
        steps.append(losses.Step(arm, "Runs of answerable questions", total, 0, "all", f"{total:,}"))
        for fate, _, _, counts in lost:
            after = left - counts[number]
            text = f"−{counts[number]:,}" if counts[number] else "0"
            steps.append(losses.Step(arm, fate, left, after, "lost", text))
            left = after
        steps.append(losses.Step(arm, FATES["complete"], left, 0, "left", f"{left:,} of {total:,}"))
        totals.append((total, left))
    worst = max(lost, key=lambda row: row[3][1], default=None)
    heading = "no answerable question was run here"
    if totals[1][0]:
        heading = f"{asked.place.candidate} keeps {count_of(totals[1][1], totals[1][0])}"
        if worst and worst[3][1]:
            heading += f"; most is lost as “{worst[0]}” ({worst[3][1]:,})"
    return Chart(
        "losses",
        heading,
        ("What became of it", *report.arms),
        tuple((fate, *texts) for fate, texts, _, _ in found),
        ("fate", "arm", "runs", "of"),
        tuple(
            (fate, arm, counts[n], totals[n][0]) for fate, _, _, counts in found for n, arm in enumerate(report.arms)
        ),
        "Runs over all shared phases and repeats, by the stage after which support was never complete again; "
        "counted, not sampled",
        lambda inside: losses.draw(steps, inside),
    )


def agreement_chart(asked: Asked) -> Chart:
    """How far the two annotators of the study's questions agreed, on first submissions: a ceiling for every verdict."""
    lines = [one for one in asked.agreement if one.measure.name not in DIFFERENCES]
    drawn = [
        intervals.Line(
            one.measure.name,
            None if one.measure.value is None else float(one.measure.value),
            one.interval.low,
            one.interval.high,
            one.measure.note or "undefined" if one.measure.value is None else "",
        )
        for one in lines
    ]
    known = [one for one in drawn if one.value is not None]
    lowest = min(known, key=lambda one: one.value or 0.0, default=None)
    heading = "no question was submitted by two annotators"
    if lowest is not None and lowest.value is not None:
        heading = f"annotators agree least on {lowest.name}: {lowest.value:.3f}"
    floor = min([0.0, *(end for one in known for end in (one.value, one.lower) if end is not None)])
    return Chart(
        "agreement",
        heading,
        ("Measure", "Value", "Interval", "n", "Questions"),
        tuple(
            (
                one.measure.name,
                "undefined" if one.measure.value is None else f"{float(one.measure.value):.3f}",
                one.interval.note or "none"
                if one.interval.low is None or one.interval.high is None
                else f"[{one.interval.low:.3f}, {one.interval.high:.3f}]",
                f"{one.measure.n} {one.measure.unit}",
                f"{one.covered} of {one.of}",
            )
            for one in lines
        ),
        (
            *("measure", "value", "lower", "upper", "n", "unit", "questions", "of"),
            *("method", "confidence", "replicates", "seed"),
        ),
        tuple(
            (
                one.measure.name,
                None if one.measure.value is None else round(float(one.measure.value), 6),
                one.interval.low,
                one.interval.high,
                one.measure.n,
                one.measure.unit,
                one.covered,
                one.of,
                *(_RESAMPLED if one.interval.low is not None else (None,) * len(_RESAMPLED)),
            )
            for one in lines
        ),
        f"First submissions, before anything was returned or discussed; {counted(len(lines), 'measure')}; "
        f"{int(CONFIDENCE * 100)} % percentile intervals, {REPLICATES} resamples of questions, seed {SEED}",
        lambda inside: intervals.draw(drawn, "Agreement", (floor, 1.0), heading=inside),
        asked.agreement_note,
    )
