"""What a path of equilibria costs: cantilevers of 10 to 10,000 elements bent by a force in 10 load steps."""

import time

from femb import Beam, Ground, Load, Model, Section, static

BOUND = 3.0  # s, of 1000 elements


def cantilever(elements: int) -> Model:
    """A boom of 20 m with a force across its tip, which bends it by more than half of its length."""
    model = Model()
    section = Section("boom", area=2.5e-3, second_moments=(5.2e-7, 5.2e-7), torsion_constant=1.04e-6, density=2800.0,
                      youngs_modulus=7.17e10, shear_modulus=2.68e10)  # fmt: skip
    model.add(Beam("boom", section, 20.0, elements, start=Ground().at(direction=(1, 0, 0))))
    model.add(Load("tip", beam="boom", force=(0, 500.0, 300.0)))
    return model


def main() -> None:
    """Print CPU time and iterations."""
    static(cantilever(2), steps=1)  # compiles
    for elements in (10, 100, 1000, 10000):
        start = time.process_time()
        results = static(cantilever(elements), steps=10)
        used = time.process_time() - start
        bound = f", bound {BOUND} s" if elements == 1000 else ""
        print(f"{elements:6d} elements: {used:.3g} s, {results.statistics['newton_iterations']} iterations{bound}")


if __name__ == "__main__":
    main()
