"""Statistics of measurements: intervals, sequential stopping, verdicts with a reason, baselines.

What is guaranteed, and where it ends. Figures are from ``python bench/stats_simulation.py``; false MET and false MISSED
at the very limit may be 2.5 % each at a level of 95 %:

* Separate runs, about normal: at most as stated, however often one looks, from 3 repeats on
  (:mod:`~niclab.stats.boundaries`); found 1.4 and 1.2 %, because the guards below cost some.
* Runs whose neighbours are alike: the correlation that is found widens the interval, but few repeats show little of
  it: 3.5 % each at 0.3, 8.7 % at 0.6. State the largest correlation to be expected in the plan (``correlation``) and
  the errors hold up to it: 1.7 % at 0.3, 2.5 % at 0.6. It costs runs.
* Runs with a long tail on one side: the bound on that side moves out. Error of that side at a skewness of 0.5: 2.9 %;
  at 2 (exponential): 6.5 %, and 9.5 % when the first look is after 3 runs instead of 5.
* A rare fault that no run met is seen by no method: 12 runs all miss a fault of one run in ten with probability 28 %.
"""
