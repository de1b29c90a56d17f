"""What the 20 lowest modes of a satellite cost: a free hub with 100 booms, 1,000 and 10,000 elements in all."""

import resource
import time

import numpy as np

from femb import Attachment, Beam, Model, RigidBody, Section, modes

BOUND = 10.0  # s, of 10,000 elements
MEMORY = 1.0  # GB


def satellite(elements: int) -> Model:
    """A hub with 100 booms of different lengths, in all directions, with so many elements each."""
    model = Model()
    section = Section("boom", area=2.5e-3, second_moments=(5.2e-7, 5.2e-7), torsion_constant=1.04e-6, density=2800.0,
                      youngs_modulus=7.17e10, shear_modulus=2.68e10)  # fmt: skip
    model.add(RigidBody("hub", mass=2000.0, inertia=(900.0, 800.0, 1000.0)))
    for k, angle in enumerate(2.399963 * np.arange(100)):  # the golden angle
        z = (k + 0.5) / 50.0 - 1.0
        r = np.sqrt(1.0 - z * z)
        out = (r * np.cos(angle), r * np.sin(angle), z)
        model.add(Beam(f"boom{k}", section, 5.0 + 0.05 * k, elements, start=Attachment("hub", direction=out)))
    return model


def main() -> None:
    """Print times and the memory of the process."""
    modes(satellite(1), 2)  # compiles
    for elements in (10, 100):
        model = satellite(elements)
        wall, used = time.perf_counter(), time.process_time()
        result = modes(model, 20)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        bound = f", bounds {BOUND} s and {MEMORY} GB" if elements == 100 else ""
        print(
            f"{100 * elements:6d} elements: {wall:.3g} s, {used:.3g} s of CPU, {memory:.2g} GB, "
            f"{result.frequencies[0]:.6g} to {result.frequencies[-1]:.6g} Hz{bound}"
        )


if __name__ == "__main__":
    main()
