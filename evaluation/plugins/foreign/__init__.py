"""Chunks that others make: splitters of LangChain, LlamaIndex and chonkie, and dumps of an index that exists.

Each is an unshifted control: one observation, since nobody can move its cuts. What comes back is placed on the source's
exact bytes (`evaluation.domain.reanchor`) or refused with the reason. The foreign packages are optional and imported
only when a plan names one of their classes.
"""
