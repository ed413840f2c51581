"""The project. Whatever runs of it imports this package first, before anything loads NumPy."""

import os

# A linear algebra library makes a pool of one thread per core when it loads. Cells are the unit of parallelism: with
# several workers, or a busy machine, the pools wait for each other (13 s instead of 1.2 s per LSA build were seen).
# One thread also leaves no choice about the order in which floating-point sums are taken.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
# The same for a tokenizer's own pool, which also hangs a child when it was used before the fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
