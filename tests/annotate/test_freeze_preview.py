"""What a freeze would hold, as the table of its page."""

from annotate.domain.vocabulary import Partition, Sample, Segment
from annotate.selectors.freeze_preview import PreviewLine, preview_table


def test_preview_table_has_a_row_a_segment_and_sums_that_agree() -> None:
    lines = [
        PreviewLine(Partition.HELD_OUT, Segment.JOINT_EVIDENCE, Sample.ENRICHED, 8),
        PreviewLine(Partition.HELD_OUT, Segment.RULE_AND_EXCEPTION, Sample.REPRESENTATIVE, 17),
        PreviewLine(Partition.DEVELOPMENT, Segment.JOINT_EVIDENCE, Sample.REPRESENTATIVE, 1),
    ]
    made = preview_table(lines)
    assert made.columns == (
        (Partition.DEVELOPMENT, Sample.REPRESENTATIVE),
        (Partition.HELD_OUT, Sample.ENRICHED),
        (Partition.HELD_OUT, Sample.REPRESENTATIVE),
    )
    assert [(row.segment, row.counts, row.total) for row in made.rows] == [
        (Segment.RULE_AND_EXCEPTION, (0, 0, 17), 17),
        (Segment.JOINT_EVIDENCE, (1, 8, 0), 9),
    ]
    assert (made.sums, made.total) == ((1, 8, 17), 26)


def test_preview_table_of_nothing_is_empty() -> None:
    assert preview_table([]).rows == ()
