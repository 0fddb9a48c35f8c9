"""Statistics of measurements: intervals, sequential stopping, verdicts with a reason, baselines.

What is guaranteed, and where it ends (tables: ``python bench/stats_simulation.py``):

* Separate runs, about normal: false MET and false MISSED at the very limit are each at most (1 - level) / 2, however
  often one looks, from 3 repeats on (:mod:`~niclab.stats.boundaries`).
* Runs whose neighbours are alike: the correlation that is found widens the interval, but few repeats show little of
  it. State the largest one to be expected in the plan (``correlation``), and the errors hold up to it.
* Runs with a long tail on one side: the bound on that side moves out. The error holds up to a skewness of about 0.5;
  at 2 (exponential) it is about 7 % instead of 2.5 % on that side. A rare fault that no run met is seen by no method:
  12 runs all miss a fault of one run in ten with probability 28 %.
* Seconds of one run: 95 % +- 2 from 60 values and correlations up to 0.6
  (:func:`~niclab.stats.interval.series_interval`).
"""
