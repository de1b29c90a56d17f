"""Compiled kernels.

numba compiles each kernel for the types of its arguments, and femb keeps the machine code. numba alone is not enough
in four places. Its cache does not notice an edit of a kernel that another file calls, and after an edit of one kernel
it compiles all of the file (`kernel_key`, `kernel_cache`). It compiles at full optimisation what is called once
(`kernel_compiler`). It links stored kernels anew in each process (`kernel_loader`). It has no type for several numbers
in one vector register (`lanes`, `lane_types`).
Each has a guard and falls back to plain numba, which takes twice the time of a first run and of every start.
"""
