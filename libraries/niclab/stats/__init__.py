"""Statistics of measurements: intervals, sequential stopping, verdicts with a reason, baselines.

What is guaranteed, and where it ends. Figures are from ``python benchmarks/stats_simulation.py``; false MET and false
MISSED at the very limit may be 2.5 % each at a level of 95 %:

* Separate runs, about normal: at most as stated, however often one looks, from 3 repeats on
  (:mod:`~niclab.stats.boundaries`); found 1.4 and 1.2 %, because the guards below cost some.
* Runs whose neighbours are alike: the correlation that is found widens the interval, but few repeats show little of
  it: 3.5 % each at 0.3, 8.7 % at 0.6. The plan states the largest correlation to be expected (``correlation``, 0.3
  unless another is given), and the errors hold up to it: 1.7 % at 0.3, and 2.5 % at 0.6 where 0.6 is stated.
* Runs with a long tail on one side: the bound on that side moves out. Error of that side at a skewness of 0.5: 2.9 %;
  at 2 (exponential): 6.5 %, and 9.5 % when the first look is after 3 runs instead of 5.
* A rare fault that no run met is seen by no method: 12 runs all miss a fault of one run in ten with probability 28 %,
  8 runs with 43 %. A limit is therefore MET only from the run on that its plan
  names (``met_from``; 8 in a quick run), and MISSED at any look; a run far worse
  than the rest is a warning of the answer (:mod:`~niclab.stats.outliers`). Effects and baselines may end early.
* Retransmissions come in bursts: the parts that the runs sent again are judged, not their sum. At the limit bursts of 1
  and 5 are within 2.5 % each; bursts of 20 are too, but for short runs on a slow path (8 of 2 s at 50 Mbit/s), where
  most series show no burst or one: 16 % MET.
* Several questions: a certificate is green only if each is MET, which no number of questions makes more likely: that
  error is not shared out, or a bad card would pass more often. Any falsely MISSED one makes it red. That error is
  shared out among ``family`` questions, so that at most 2.5 % of good certificates are red by chance; a figure that is
  outside its limit by less than that needs is UNDECIDED.
"""
