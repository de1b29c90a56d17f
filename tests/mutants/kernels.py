"""Print the folder of compiled kernels of the sources on the path."""

from femb.numerics.compiler.compile import kernel_cache

if __name__ == "__main__":
    print(kernel_cache().folder)
