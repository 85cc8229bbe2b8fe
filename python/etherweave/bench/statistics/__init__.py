"""Statistics of repeated measurements; no distribution of the values is assumed anywhere.

::

    experiments ─ launches ─► order ─► (runner) ─► series of each launch
                                                     │ settling: leave out the warm-up
                                                     ▼
                 stopping rule ◄── one number a launch ──┴─► summary ─► comparison

The unit of repetition is the launch: values of one launch are correlated, and share its placement
and its connections (Georges, Buytaert, Eeckhout, "Statistically rigorous Java performance
evaluation", OOPSLA 2007). Outliers stay. The rules are those of Hoefler and Belli, "Scientific
benchmarking of parallel computing systems", SC15. All functions are pure.
"""
