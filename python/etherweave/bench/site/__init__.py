"""Sites: the hosts of a cluster, what starts processes on them, and the fabrics between them.

``reading`` reads a site's file, ``fabrics`` knows how MPI libraries are told to use a fabric, and
``reframe`` takes over what a ReFrame configuration says. Nothing here starts anything.
"""
