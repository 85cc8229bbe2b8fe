"""Sections of the study of Sandia's testbed, in the order of the publication.

J. Kenny, J. Wilke, C. Ulmer, G. Baker, S. Knight, J. Friesen: *An Evaluation of Ethernet
Performance for Scientific Workloads*, INDIS 2020.
"""

PUBLICATION = "sandia-2020"
"""Its published values."""

OPTIONS = ("roce_v2", "tcp", "tcp_pfc")
"""Network options of the application proxies."""

CHECKED = {"roce_v2": "roce", "tcp": "tcp", "tcp_pfc": "tcp_pfc"}
"""Of these options, the names in checks."""
