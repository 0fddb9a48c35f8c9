"""The reporter to which a check shows its steps and findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from niclab.report.pages.charts import Chart


@dataclass(frozen=True)
class Reporter:
    """Takes what a check has to show.

    Attributes:
        say: Takes a sentence for the log.
        warn: Takes a warning.
        progress: Takes the progress of what lasts long.
        attach: Takes name, text and MIME type of a file.
    """

    say: Callable[[str], object]
    warn: Callable[[str], object]
    progress: Callable[[str], object]
    attach: Callable[[str, str, str], object]

    def chart(self, chart: Chart) -> None:
        """Attach a chart, and its numbers as a table.

        Args:
            chart: The chart; its title is the name of both files.
        """
        self.attach(f"{chart.title}.svg", chart.svg(), "image/svg+xml")
        self.attach(f"{chart.title}.csv", chart.csv(), "text/csv")
