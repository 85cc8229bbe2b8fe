"""Sites: the hosts of a cluster, what starts processes on them, and the fabrics between them.

``reading`` reads a site's file and sets the variables by which MPI libraries use a fabric, and
``reframe`` converts a ReFrame configuration. Nothing here starts anything.
"""
