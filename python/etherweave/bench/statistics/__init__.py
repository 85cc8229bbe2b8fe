"""What repeated measurements tell, and how surely: no distribution is assumed anywhere.

::

    experiments ─ launches ─► order ─► (a runner) ─► series of each launch
                                                        │ settling: warm-up left out
                                                        ▼
                     stopping ◄── one number a launch ──┴─► summary ─► comparison

The unit of repetition is the launch: what one launch repeats is correlated, and shares its
placement and its connections (Georges, Buytaert, Eeckhout, "Statistically rigorous Java performance
evaluation", OOPSLA 2007). Outliers stay. The rules are those of Hoefler and Belli,
"Scientific benchmarking of parallel computing systems", SC15. All functions are pure.
"""
