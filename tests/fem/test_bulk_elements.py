"""Panels, connectors, matrices, warping and solids of NASTRAN decks beside closed forms and other elements."""

import warnings

import numpy as np
import pytest

from femb.base.errors import FembWarning, ModelError
from femb.fem.bulk_model import read_structure

E, NU, RHO = 7e10, 0.3, 2700.0
G = 0.5 * E / (1.0 + NU)
METAL = "MAT1,1,7.+10,,.3,2700."
CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]


def read(tmp_path, *cards, control=(), unit=1.0):
    path = tmp_path / "deck.bdf"
    path.write_text("\n".join([*control, "BEGIN BULK", *cards, "ENDDATA", ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        return read_structure(path, unit)


def grid(number, x, y, z=0.0):
    return f"GRID,{number},,{float(x)!r},{float(y)!r},{float(z)!r}"


def matrices(model):
    """Stiffness and mass without the freedoms that ties carry; a stiff penalty in their place."""
    K, M = model.stiffness.toarray(), model.mass.toarray()
    if model.joints is not None:
        J = model.joints.toarray()
        K = K + 1e4 * np.abs(K).max() * J.T @ J
    return K, M


def deflection(model, held, loads):
    """(n,) by forces {(grid, component): N}, with all freedoms of grids held."""
    K, _ = matrices(model)
    row = {int(number): k for k, number in enumerate(model.numbers)}
    fixed = [d for each in held for d in model.dofs[row[each]] if d >= 0]
    free = np.setdiff1d(np.flatnonzero(np.diag(K) > 0.0), fixed)
    f, u = np.zeros(model.size), np.zeros(model.size)
    for (number, c), value in loads.items():
        f[model.dofs[row[number], c]] = value
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    return {(number, c): u[model.dofs[k, c]] for number, k in row.items() for c in range(6) if model.dofs[k, c] >= 0}


def grounded(model):
    """The largest force of a rigid motion, of the largest stiffness by the longest arm."""
    K, _ = matrices(model)
    D = model.rigid_motions(model.nodes.mean(axis=0))
    return np.abs(K @ D).max() / np.abs(K).max()


def test_a_panel_has_the_shear_of_its_area(tmp_path):
    """A square of side a under a shear force P: the angle P / (G a t), and F1, F2 are rods of their areas."""
    square = [grid(1, 0, 0), grid(2, 2, 0), grid(3, 2, 2), grid(4, 0, 2), "CSHEAR,1,2,1,2,3,4", METAL]
    rods = [f"CROD,{k},3,{k - 10},{(k - 10) % 4 + 1}" for k in range(11, 15)]
    model = read(tmp_path, *square, "PSHEAR,2,1,.001,3.", *rods, "PROD,3,5,1.+4", "MAT1,5,7.+10,,.3")
    u = deflection(model, [1, 2], {(4, 0): 50.0, (3, 0): 50.0})
    assert u[3, 0] == pytest.approx(100.0 / (G * 2.0 * 1e-3) * 2.0, rel=1e-4)
    assert grounded(model) < 1e-12
    mass = 4.0 * (1e-3 * RHO + 3.0)
    assert model.rigid_motions(np.zeros(3))[:, 0] @ model.mass @ model.rigid_motions(np.zeros(3))[
        :, 0
    ] == pytest.approx(mass)
    none, rods = (read(tmp_path, *square, f"PSHEAR,2,1,.001,,{words}").stiffness.toarray() for words in ("", ".5,2."))
    stretch = np.zeros(len(none))
    stretch[[0, 9]] = -0.5e-3, -0.5e-3
    stretch[[3, 6]] = 0.5e-3, 0.5e-3
    # F1: both sides along x have half of F1 t a / 2 each; F2 above 1.01 is a width of F2 t / 2
    assert stretch @ (rods - none) @ stretch == pytest.approx(2 * E * (0.5 * 1e-3 * 4.0 / 4.0) / 2.0 * 1e-6, rel=1e-9)
    across = np.zeros(len(none))
    across[[7, 10]] = 1e-3
    assert across @ (rods - none) @ across == pytest.approx(2 * E * (0.5 * 2.0 * 1e-6) / 2.0 * 1e-6, rel=1e-9)


def test_a_slanted_panel_has_garveys_compliance(tmp_path):
    """A parallelogram: A / (G t) (1 + 2 tan^2 / (1 + nu)) of the flow, by its forces along the diagonals."""
    model = read(tmp_path, grid(1, 0, 0), grid(2, 2, 0), grid(3, 2.5, 1), grid(4, 0.5, 1), "CSHEAR,1,2,1,2,3,4",
                 "PSHEAR,2,1,.001", METAL)  # fmt: skip
    K, _ = matrices(model)
    values, vectors = np.linalg.eigh(K)
    assert np.sum(values > 1e-9 * values[-1]) == 1
    # corner forces of a unit of flow: halves of the sides that meet
    a, b = np.array([2.0, 0.0]), np.array([0.5, 1.0])
    f = 0.5 * np.array([a - -b, -a * -1.0 - b, -a - b, -a + b])
    f = np.column_stack([f, np.zeros(4)])[:, : len(K) // 4].ravel()
    compliance = 2.0 / (G * 1e-3) * (1.0 + 2.0 * 0.5**2 / (1.0 + NU))
    assert values[-1] == pytest.approx(f @ f / compliance, rel=1e-9)
    assert abs(vectors[:, -1] @ f) == pytest.approx(np.linalg.norm(f), rel=1e-9)


def test_genel_and_dmig_are_springs_of_other_cards(tmp_path):
    """A bar's stiffness by GENEL, whose S is that of a rigid body; a spring by DMIG; Z is the inverse of K."""
    ends = [grid(1, 0, 0), grid(2, 2, 0), METAL]
    bar = read(tmp_path, *ends, "CBAR,1,2,1,2,0.,0.,1.", "PBAR,2,1,1.-3,2.-7,4.-7,3.-7")
    own = bar.stiffness.toarray()[6:, 6:]
    values = ",".join(f"{own[i, j]:.15e}" for j in range(6) for i in range(j, 6))
    inverse = ",".join(f"{np.linalg.inv(own)[i, j]:.15e}" for j in range(6) for i in range(j, 6))
    for kind, given in (("K", values), ("Z", inverse)):
        fields = ["7", "", *[x for c in range(1, 7) for x in ("2", str(c))], "", ""]
        fields += ["UD", "", *[x for c in range(1, 7) for x in ("1", str(c))], "", "", kind, *given.split(",")]
        lines = [",".join(fields[k : k + 8]) for k in range(0, len(fields), 8)]
        model = read(tmp_path, *ends, "GENEL," + "\n,".join(lines), "CONM2,5,1,,1.", "CONM2,6,2,,1.\n,1.,,1.,,,1.")
        np.testing.assert_allclose(model.stiffness.toarray(), bar.stiffness.toarray(), rtol=1e-9, atol=1e-3)
    plain = [*ends, "CBAR,1,2,1,2,0.,0.,1.", "PBAR,2,1,1.-3,2.-7,4.-7,3.-7"]
    sprung = read(tmp_path, *plain, "CELAS2,9,5.+3,1,5,2,5", unit="in-lbf-s")
    dmig = ["DMIG,KX,0,6,1,0", "DMIG,KX,1,5,,1,5,2.5+3,,\n,2,5,-2.5+3", "DMIG,KX,2,5,,2,5,2.5+3"]
    model = read(tmp_path, *plain, *dmig, control=["K2GG = 2.0*KX"], unit="in-lbf-s")
    np.testing.assert_allclose(model.stiffness.toarray(), sprung.stiffness.toarray(), rtol=1e-12)
    ignored = read(tmp_path, *plain, *dmig)
    np.testing.assert_array_equal(ignored.stiffness.toarray(), read(tmp_path, *plain).stiffness.toarray())


def test_areas_of_a_composite_bar(tmp_path):
    """PBCOMP of four corners in the first quadrant: I1 = A y^2; a second material counts by its modulus."""
    ends = [grid(1, 0, 0), grid(2, 2, 0), METAL, "MAT1,3,1.4+11,,.3", "CBEAM,1,2,1,2,0.,0.,1."]
    model = read(tmp_path, *ends, "PBCOMP,2,1,4.-3,,,,3.-7\n,,,,,,,1\n,.1,.05,.125,3")
    plain = read(tmp_path, *ends, "PBEAM,2,1,4.-3,4.-5,1.-5,0.,3.-7")
    np.testing.assert_allclose(model.stiffness.toarray(), plain.stiffness.toarray(), rtol=1e-9, atol=1e-3)


def test_warping_stiffens_a_cantilever(tmp_path):
    """Torque at the tip, warping held at the root and free at the tip: T (L - tanh(n L) / n) / (G J), in one element
    and, of a file in mm, in three."""
    J, warping, T = 1e-8, 1e-11, 10.0
    n = np.sqrt(G * J / (E * warping))
    wanted = T / (G * J) * (2.0 - np.tanh(2.0 * n) / n)
    cards = [grid(1, 0, 0), grid(2, 2, 0), "SPOINT,8,9", METAL, "CBEAM,1,2,1,2,0.,0.,1.\n,\n,8,9", "CELAS4,7,1.+12,8,0",
             "PBEAM,2,1,1.-3,2.-7,4.-7,,1.-8\n,\n,,,,,,,1.-11"]  # fmt: skip
    model = read(tmp_path, *cards)
    assert deflection(model, [1], {(2, 3): T})[2, 3] == pytest.approx(wanted, rel=1e-6)
    long = [grid(k + 1, 2000.0 * k / 3, 0) for k in range(4)]
    bars = [f"CBEAM,{k},2,{k},{k + 1},0.,0.,1.\n,\n,{k + 10},{k + 11}" for k in (1, 2, 3)]
    model = read(tmp_path, *long, *bars, "SPOINT,11,THRU,13", grid(14, 0, 0), "CELAS4,7,1.+18,11,0",
                 "MAT1,1,7.+4,,.3,2.7-9", "PBEAM,2,1,1.+3,2.+5,4.+5,,1.+4\n,\n,,,,,,,1.+7", unit="mm-t-s")  # fmt: skip
    assert deflection(model, [1], {(4, 3): T})[4, 3] == pytest.approx(wanted, rel=1e-6)


def plates(gap=0.01, connector=(), triangles=False):
    """Two stiff square plates above each other, of 2 x 2 elements each, the upper one also of 2 x 2 x 2 triangles."""
    cards = [
        grid(10 * z + 3 * j + i + 1, 0.1 * i, 0.1 * j, gap * z) for z in (0, 1) for j in range(3) for i in range(3)
    ]
    for z in (0, 1):
        for e, a in enumerate((1, 2, 4, 5)):
            a += 10 * z
            if triangles and z:
                cards.append(f"CTRIA3,{10 + e + 1},3,{a},{a + 4},{a + 3}\nCTRIA3,{20 + e + 1},3,{a},{a + 1},{a + 4}")
            else:
                cards.append(f"CQUAD4,{10 * z + e + 1},{2 + z},{a},{a + 1},{a + 4},{a + 3}")
    return [*cards, "PSHELL,2,1,.05,1,,1", "PSHELL,3,1,.05,1,,1", "MAT1,1,7.+14,,.3,2700.", "MAT1,4,7.+10,,.3,2700.",
            "GRID,99,,.11,.09,.005", *connector]  # fmt: skip


@pytest.mark.parametrize(
    ("card", "gap", "stretch", "slip"),
    [
        ("CWELD,50,8,99,PARTPAT\n,2,3", 0.01, None, None),
        ("CWELD,50,8,99,PARTPAT\n,2,3", 0.002, None, None),
        ("CWELD,50,8,99,PARTPAT\n,2,3", 0.01, "SPOT", None),
        ("CWELD,50,8,99,ELPAT\n,4,14", 0.01, None, None),
        ("CWELD,50,8,99,ELEMID\n,4,14", 0.01, None, None),
        ("CFAST,50,8,PROP,2,3,99", 0.01, 5e5, 3e5),
        ("CFAST,50,8,ELEM,4,14,99", 0.01, 5e5, 3e5),
    ],
)
def test_connectors_have_their_stiffness(tmp_path, card, gap, stretch, slip):
    """Two stiff plates on a weld, a round bar, or on the springs of a fastener; the whole is free to move.

    A weld that is shorter than LDMIN 0.2 of its diameter is as soft as one of that length; a spot as one of half of
    both walls.
    """
    spot, stretch = stretch == "SPOT", None if stretch == "SPOT" else stretch
    prop = "PFAST,8,.02,,,5.+5,3.+5,3.+5,1.+3\n,1.+3,1.+3,.5" if stretch else "PWELD,8,4,.02" + ",,,,,SPOT" * spot
    model = read(tmp_path, *plates(gap, [card, prop], triangles="PROP" in card or "ELPAT" in card))
    assert grounded(model) < 1e-10
    lower = range(1, 10)
    area, length, effective = 0.25 * np.pi * 0.02**2, gap, 0.05 if spot else max(gap, 0.2 * 0.02)
    pull = deflection(model, lower, dict.fromkeys([(k, 2) for k in range(11, 20)], 1.0))
    at = np.array([0.11, 0.09])
    own = np.array([pull[k, 2] for k in range(11, 20)])
    fit = np.linalg.lstsq(np.array([[1, 0.1 * i, 0.1 * j] for j in range(3) for i in range(3)]), own, rcond=None)[0]
    assert fit @ [1.0, *at] == pytest.approx(9.0 / (stretch or 7e10 * area / effective), rel=2e-3)
    push = deflection(model, lower, {(15, 0): 100.0})
    if slip:
        # the plate turns about the fastener too
        turn = 100.0 * 0.01 / 1e3 * 0.01 + 100.0 * 0.005**2 / 1e3
        assert push[15, 0] == pytest.approx(100.0 / slip + turn, rel=0.02)
    else:
        inertia = np.pi * 0.02**4 / 64.0
        bent = length**3 / (3.0 * 7e10 * inertia) + length / (0.9 * area * 7e10 / 2.6) + turned(inertia, length)
        assert push[15, 0] == pytest.approx(100.0 * bent * effective / length, rel=0.02)


def turned(inertia, length):
    """The force is 0.01 m beside the axis of the bar: displacement along it by the bar's torsion."""
    return 0.01**2 * length / (2.0 * inertia * 7e10 / 2.6)


def bricks(nx, x=1.0, height=0.1, depth=0.1, first=0):
    """Grids and corners of a row of bricks."""
    cards = [grid(first + 4 * i + k + 1, x * i / nx, (0, depth, depth, 0)[k], (0, 0, height, height)[k])
             for i in range(nx + 1) for k in range(4)]  # fmt: skip
    cells = [
        [4 * i + 1, 4 * i + 5, 4 * i + 6, 4 * i + 2, 4 * i + 4, 4 * i + 8, 4 * i + 7, 4 * i + 3] for i in range(nx)
    ]
    return cards, [[first + k for k in cell] for cell in cells]


def test_bricks_bend_as_beams(tmp_path):
    """One layer of CHEXA: P L^3 / (3 E I) + shear; with ISOP = FULL it locks."""
    cards, cells = bricks(8)
    hexa = [f"CHEXA,{k + 1},2,{','.join(map(str, c[:6]))}\n,{c[6]},{c[7]}" for k, c in enumerate(cells)]
    tip = {(k, 2): 25.0 for k in range(33, 37)}
    wanted = 100.0 / (3.0 * E * 0.1**4 / 12.0) + 100.0 / (5.0 / 6.0 * G * 0.01)
    soft, full = (
        deflection(read(tmp_path, *cards, *hexa, f"PSOLID,2,1,,,,{word}", METAL), range(1, 5), tip)[33, 2]
        for word in ("", "FULL")
    )
    # the held end cannot contract
    assert soft == pytest.approx(wanted, rel=0.02)
    assert full < 0.75 * wanted


def test_solids_of_all_shapes_pass_the_patch_test(tmp_path):
    """A cube of six pyramids, two with a grid in the middle of a side: a field of constant strain has its energy, and
    needs forces on the outside alone."""
    places = {k + 1: 1.0 * np.array(c) for k, c in enumerate(CORNERS)}
    places[9] = np.array([0.45, 0.55, 0.6])
    faces = [(1, 2, 3, 4), (8, 7, 6, 5), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 8, 4), (4, 8, 5, 1)]
    cards = [grid(k, *x) for k, x in places.items()]
    some = places[1], places[2]
    cards.append(grid(20, *(0.5 * (some[0] + some[1]))))
    pyramids = [f"CPYRAM,{k + 1},2,{','.join(map(str, face))},9" for k, face in enumerate(faces)]
    pyramids[0] = "CPYRAM,1,2,1,2,3,4,9,20"
    pyramids[2] = "CPYRAM,3,2,1,5,6,2,9,\n,,,20"
    model = read(tmp_path, *cards, *pyramids, "PSOLID,2,1", METAL)
    K = model.stiffness.toarray()
    rng = np.random.default_rng(3)
    gradient = rng.normal(size=(3, 3)) * 1e-3
    u = np.zeros(model.size)
    u[:] = (model.nodes @ gradient.T)[model.node_of, model.component]
    strain = 0.5 * (gradient + gradient.T)
    lame = E * NU / ((1 + NU) * (1 - 2 * NU))
    energy = lame * np.trace(strain) ** 2 + 2.0 * G * np.sum(strain**2)
    assert u @ K @ u == pytest.approx(energy, rel=1e-9)
    force = K @ u
    inner = model.dofs[list(model.numbers).index(9)][:3]
    assert np.abs(force[inner]).max() < 1e-9 * np.abs(force).max()
    assert model.rigid_motions(np.zeros(3))[:, 0] @ model.mass @ model.rigid_motions(np.zeros(3))[
        :, 0
    ] == pytest.approx(RHO)


def test_reversed_solids_are_turned(tmp_path):
    cards = [grid(k + 1, *c) for k, c in enumerate(CORNERS)]
    found = [
        read(tmp_path, *cards, *each, "PSOLID,2,1", METAL).stiffness.toarray()
        for each in (["CPENTA,1,2,1,2,4,5,6,8"], ["CPENTA,1,2,5,6,8,1,2,4"])
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-3)


def test_orthotropic_solids_have_their_axes(tmp_path):
    """MAT11 with three moduli in turned axes: the modulus of a bar along each; MAT9 of a MAT1 is the MAT1."""
    cards, cells = bricks(1, 0.1)
    hexa = [f"CHEXA,1,2,{','.join(map(str, cells[0][:6]))}\n,{cells[0][6]},{cells[0][7]}"]
    turned_axes = "CORD2R,5,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."  # its z is the basic x, its x the basic y
    model = read(tmp_path, *cards, *hexa, turned_axes, "PSOLID,2,3,5",
                 "MAT11,3,1.+11,2.+10,5.+9,.25,.02,.3,4.+9\n,3.+9,2.+9,1600.")  # fmt: skip
    K = model.stiffness.toarray()
    springs = np.linalg.pinv(K, 1e-10, hermitian=True)
    for axis, modulus in enumerate((5e9, 1e11, 2e10)):
        f = np.zeros(model.size)
        side = np.sign(model.nodes[model.node_of, axis] - 0.05) * (model.component == axis)
        f[:] = 0.25 * side
        assert f @ springs @ f * 0.1 == pytest.approx(1.0 / modulus, rel=1e-6)
    lame = E * NU / ((1 + NU) * (1 - 2 * NU))
    a = lame + 2.0 * G
    same = f"MAT9,1,{a!r},{lame!r},{lame!r},,,,{a!r}\n,{lame!r},,,,{a!r},,,\n,{G!r},,,{G!r},,{G!r},{RHO!r}"
    one, other = (read(tmp_path, *cards, *hexa, "PSOLID,2,1", mat).stiffness.toarray() for mat in (METAL, same))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-4 * np.abs(one).max() * 1e-6)


def test_a_mirrored_superelement_is_the_other_half(tmp_path):
    """Half a plate and its mirror image are the whole; a bar across the plane shows that rotations are mirrored too."""

    def half(first, a, b):
        cards = [grid(first + 3 * j + i, a + (b - a) * 0.5 * i, 0.3 * j) for j in (0, 1) for i in range(3)]
        return [
            *cards,
            *(f"CQUAD4,{first + i},2,{first + i},{first + i + 1},{first + i + 4},{first + i + 3}" for i in (0, 1)),
        ]

    walls = ["PSHELL,2,1,.01,1,,1", METAL]
    main = ["POINT,91,,0.,0.,0.", "POINT,92,,0.,1.,0.", "POINT,93,,0.,0.,1."]
    mirrored = read(tmp_path, *main, "SEBULK,2,MIRROR,1", "SEMPLN,2,PLANE,91,92,93", "BEGIN SUPER=1",
                    *half(1, 0.0, 0.5), *walls)  # fmt: skip
    whole = read(tmp_path, *half(1, 0.0, 0.5), *half(11, -0.5, 0.0)[:2], *half(11, -0.5, 0.0)[3:5],
                 "CQUAD4,11,2,11,12,15,14", "CQUAD4,12,2,12,1,4,15", *walls)  # fmt: skip
    assert len(mirrored.nodes) == len(whole.nodes) == 10
    order = [np.lexsort(fe.nodes.T) for fe in (whole, mirrored)]
    rows = [fe.dofs[k].ravel() for fe, k in zip((whole, mirrored), order, strict=True)]
    one, other = (fe.stiffness.toarray()[np.ix_(k, k)] for fe, k in zip((whole, mirrored), rows, strict=True))
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9 * np.abs(one).max())


def test_shells_clamped_to_solids_bend_with_them(tmp_path):
    """A cantilever half of bricks, half of shells in their middle: the tip of the whole beam."""
    cards = [
        grid(100 * i + 3 * k + j, 0.125 * i, 0.1 * (j - 1), 0.05 * k)
        for i in range(5)
        for k in range(3)
        for j in (1, 2)
    ]
    hexa = []
    for i in range(4):
        for k in range(2):
            a, b = 100 * i + 3 * k, 100 * (i + 1) + 3 * k
            own = [a + 1, b + 1, b + 2, a + 2, a + 4, b + 4, b + 5, a + 5]
            hexa.append(f"CHEXA,{10 * i + k + 1},2,{','.join(map(str, own[:6]))}\n,{own[6]},{own[7]}")
    cards += [grid(2000 + 10 * i + j, 0.5 + 0.125 * i, 0.1 * (j - 1), 0.05) for i in range(5) for j in (1, 2)]
    quads = [f"CQUAD4,{90 + i},3,{2001 + 10 * i},{2011 + 10 * i},{2012 + 10 * i},{2002 + 10 * i}" for i in range(4)]
    ties = ["RSSCON,80,ELEM,90,31", "RSSCON,81,GRID,2001,401,407,2002,402,408"]
    wanted = 100.0 / (3.0 * E * 0.1**4 / 12.0) + 100.0 / (5.0 / 6.0 * G * 0.01)
    base = [*cards, *hexa, *quads, "PSOLID,2,1", "PSHELL,3,1,.1,1,,1", METAL]
    model = read(tmp_path, *base, ties[1])
    held = [100 * 0 + 3 * k + j for k in range(3) for j in (1, 2)]
    u = deflection(model, held, {(2041, 2): 50.0, (2042, 2): 50.0})
    assert u[2041, 2] == pytest.approx(wanted, rel=0.03)
    by_element = deflection(read(tmp_path, *base, ties[0]), held, {(2041, 2): 50.0, (2042, 2): 50.0})
    assert by_element[2041, 2] == pytest.approx(u[2041, 2], rel=0.2)


def test_coupling_material_is_that_of_an_unsymmetric_laminate(tmp_path):
    """MID1, MID2, MID4 of a PSHELL made of the A, B and D of two plies."""
    plate = [
        grid(1, 0, 0), grid(2, 1, 0), grid(3, 1, 1), grid(4, 0, 1), "CQUAD4,1,2,1,2,3,4", METAL, "MAT1,3,1.+10,,.3",
    ]  # fmt: skip
    laminate = read(tmp_path, *plate, "PCOMP,2\n,1,.01,0.,,3,.01,0.")
    t = 0.02
    Q = [m / (1 - NU**2) * np.array([[1, NU, 0], [NU, 1, 0], [0, 0, 0.5 * (1 - NU)]]) for m in (E, 1e10)]
    A, B, D = 0.01 * (Q[0] + Q[1]), 0.5 * 0.01**2 * (Q[1] - Q[0]), 0.01**3 / 3.0 * (Q[0] + Q[1])

    def mat2(number, C):
        return f"MAT2,{number}," + ",".join(f"{C[i, j]:.12e}" for i in range(3) for j in range(i, 3))

    cards = [mat2(11, A / t), mat2(12, 12.0 * D / t**3), mat2(14, -B / t**2)]
    shell = read(tmp_path, *plate, "PSHELL,2,11,.02,12,,1\n,,,14", *cards)
    one, other = (fe.stiffness.toarray() for fe in (laminate, shell))
    # but for the shear through the thickness
    curl = np.zeros(24)
    for k, (x, _, _) in enumerate(laminate.nodes):
        curl[6 * k + 2], curl[6 * k + 4] = 0.5 * x * x, -x
        curl[6 * k] = 0.3 * x
    np.testing.assert_allclose(curl @ other @ curl, curl @ one @ curl, rtol=1e-6)


def test_walls_without_bending_fold_and_twist_freely(tmp_path):
    """Membranes have no shear across them: of two in a line the second folds and twists, though rotations of both far
    sides are held."""
    grids = [grid(1, 0, 0), grid(2, 1, 0), grid(3, 2, 0), grid(4, 0, 1), grid(5, 1, 1), grid(6, 2, 1)]
    walls = ["CQUAD4,1,2,1,2,5,4", "CQUAD4,2,2,2,3,6,5", METAL]
    model = read(tmp_path, *grids, *walls, "PSHELL,2,1,.01")
    K = model.stiffness.toarray()
    far = [model.dofs[list(model.numbers).index(number), 2] for number in (3, 6)]
    row = [model.dofs[list(model.numbers).index(number)] for number in (1, 4)]
    edge = [model.dofs[list(model.numbers).index(number), 2] for number in (2, 5)]
    turns = [model.dofs[list(model.numbers).index(number), 3:] for number in (3, 6)]
    held = np.concatenate([*row, edge, *turns])
    rest = np.setdiff1d(np.flatnonzero(np.diag(K) > 0.0), [*held, *far])
    fold = K[np.ix_(far, far)] - K[np.ix_(far, rest)] @ np.linalg.solve(K[np.ix_(rest, rest)], K[np.ix_(rest, far)])
    assert np.trace(fold) < 1e-6 * E * 0.01


@pytest.mark.parametrize("kind", ["CQUAD4", "CTRIA3"])
def test_walls_that_taper_to_an_edge_bend_by_the_mean_of_the_cube(tmp_path, kind):
    """T1 = T2 = 0 is an edge, no blank: bent along it, a strip has the second moment of area b t^3 / 48, and half of
    the mass of an even one."""
    grids = [grid(1, 0, 0), grid(2, 2, 0), grid(3, 2, 1), grid(4, 0, 1), "MAT1,1,7.+10,,0.,2700."]
    walls = {
        "CQUAD4": ["CQUAD4,1,2,1,2,3,4", ",,,0.,0.,.01,.01"],
        "CTRIA3": ["CTRIA3,1,2,1,2,3", ",,,0.,0.,.01", "CTRIA3,2,2,1,3,4", ",,,0.,.01,.01"],
    }[kind]
    model = read(tmp_path, *grids, *walls, "PSHELL,2,1,.01,1,,1")
    bent = np.zeros(model.size)
    bent[model.dofs[:, 2]], bent[model.dofs[:, 4]] = 0.5 * model.nodes[:, 0] ** 2, -model.nodes[:, 0]
    assert bent @ model.stiffness @ bent == pytest.approx(E * 0.01**3 / 48.0 * 2.0, rel=1e-6)
    rigid = model.rigid_motions(np.zeros(3))[:, 2]
    assert rigid @ model.mass @ rigid == pytest.approx(2700.0 * 0.01)


@pytest.mark.parametrize(("card", "count", "share"), [("CQUAD4,1,2,1,2,3,4", 4, 1.0), ("CTRIA3,1,2,1,2,3", 3, 2.0)])
def test_corners_turn_in_their_wall_by_k6rot(tmp_path, card, count, share):
    """1e-6 K6ROT G t A at each corner, twice of a triangle, as NASTRAN's forces of elements show it."""
    area = 6.0 if count == 4 else 3.0
    for text, size in (("", 100.0), ("PARAM,K6ROT,1000.", 1000.0)):
        cards = [grid(1, 0, 0), grid(2, 2, 0), grid(3, 2, 3), grid(4, 0, 3), card, "PSHELL,2,1,.01,1,,1", METAL, text]
        model = read(tmp_path, *cards)
        u = np.zeros(model.size)
        turns = {n: 1.0 + n for n in range(1, count + 1)}
        for n, turn in turns.items():
            u[model.dofs[list(model.numbers).index(n)][5]] = turn
        wanted = share * 1e-6 * size * G * 0.01 * area * sum(turn**2 for turn in turns.values())
        assert u @ model.stiffness @ u == pytest.approx(wanted, rel=1e-9)


def test_quadrilaterals_twist_as_nastrans(tmp_path):
    """Deflections x y without rotations are shear alone, of strains that vary across their direction: with 1/(k G t)
    and the flexibility l^2 / (12 D) / (1 + 39 l^2 / b^2) of forces of elements that NASTRAN prints."""
    t, sides = 0.04, np.array([3.4, 3.0])
    cards = [grid(1, 0, 0), grid(2, sides[0], 0), grid(3, *sides), grid(4, 0, sides[1]), "CQUAD4,1,2,1,2,3,4"]
    model = read(tmp_path, *cards, f"PSHELL,2,1,{t},1,,1", METAL)
    u = np.zeros(model.size)
    for n, sign in ((1, 1.0), (2, -1.0), (3, 1.0), (4, -1.0)):
        u[model.dofs[list(model.numbers).index(n)][2]] = sign
    D = E * t**3 / 12.0 / (1.0 - NU**2)
    more = sides**2 / (12.0 * D) / (1.0 + 39.0 * (sides / sides[::-1]) ** 2)
    wanted = sides.prod() / 3.0 * np.sum((2.0 / sides) ** 2 / (1.0 / (5.0 / 6.0 * G * t) + more))
    assert u @ model.stiffness @ u == pytest.approx(wanted, rel=1e-6)


def test_walls_of_snorm_zero_have_their_own_normals(tmp_path):
    """Two walls that meet by 10 degrees, more than 5 and less than the 20 of decks without the parameter."""
    s, c = np.sin(np.radians(10.0)), np.cos(np.radians(10.0))
    cards = [grid(1, 0, 0), grid(2, 1, 0), grid(3, 1, 1), grid(4, 0, 1), grid(5, 1 + c, 0, s), grid(6, 1 + c, 1, s)]
    both = ["CQUAD4,1,2,1,2,3,4", "CQUAD4,2,2,2,5,6,3", "PSHELL,2,1,.01,1,,1", METAL]
    found = [
        read(tmp_path, *cards, *both, text).stiffness.toarray() for text in ("", "PARAM,SNORM,0.", "PARAM,SNORM,5.")
    ]
    assert abs(found[0] - found[1]).max() > 1e-6 * abs(found[0]).max()
    np.testing.assert_array_equal(found[1], found[2])


def test_values_that_an_optimisation_replaces_are_refused(tmp_path):
    """SOL 200 takes those of its design variables: other ones, or by an equation, than the card's."""
    bar = [grid(1, 0, 0), grid(2, 1, 0), "CROD,1,2,1,2", "PROD,2,1,3.-4", METAL, "DESVAR,5,A,1.5"]
    own = {"same": "DVPREL1,9,PROD,2,A\n,5,2.-4", "other": "DVPREL1,9,PROD,2,4\n,5,3.-4",
           "equation": "DVPREL2,9,PROD,2,A,,,7\n,DESVAR,5"}  # fmt: skip
    for kind, card in own.items():
        for sol in ("SOL 200", "SOL 101"):
            path = tmp_path / "deck.bdf"
            path.write_text("\n".join([sol, "CEND", "BEGIN BULK", *bar, card, "ENDDATA", ""]))
            if kind == "same" or sol == "SOL 101":
                with pytest.warns(FembWarning, match="optimisation"):
                    read_structure(path)
            else:
                with pytest.raises(ModelError, match=r"9: SOL 200 replaces (A|4) of PROD 2 by that of its design var"):
                    read_structure(path)


def test_older_rigid_elements_are_those_of_today(tmp_path):
    bars = [grid(1, 0, 0), grid(2, 1, 0), grid(3, 1, 0.3), grid(4, 1, -0.2, 0.1), "CBAR,1,2,1,2,0.,0.,1.", METAL,
            "PBAR,2,1,1.-4,2.-9,6.-9,3.-9", "CBAR,2,2,3,1,0.,0.,1.", "CBAR,3,2,4,1,0.,0.,1."]  # fmt: skip
    same = {"CRIGD1,9,2,3,4": "RBE2,9,2,123456,3,4", "CRIGD2,9,2,3,123,4,1235": "RBE2,8,2,123,3\nRBE2,9,2,1235,4"}
    for old, new in same.items():
        one, other = (read(tmp_path, *bars, each) for each in (old, new))
        np.testing.assert_array_equal(one.stiffness.toarray(), other.stiffness.toarray())
        assert (one.joints is None) == (other.joints is None)


@pytest.mark.parametrize("word", ["BEGIN_BULK", "BEGING BULK", "BEGIN BULK"])
def test_bulk_data_begin_with_words_that_nastran_takes(tmp_path, word):
    path = tmp_path / "deck.bdf"
    rod = [grid(1, 0, 0), grid(2, 1, 0), "CROD,1,2,1,2", "PROD,2,1,3.-4", METAL, "SET,5,GRID,LIST\n,1,2"]
    path.write_text("\n".join(["SOL 101", "CEND", "TITLE=MA", word, *rod, "ENDDATA", ""]))
    assert read_structure(path).size == 6
    path.write_text("\n".join(["BEGIN BULK", *rod, "CONTACT,1,SLIDE,1,2", "ENDDATA", ""]))
    with pytest.raises(ModelError, match="CONTACT \\(contact of OptiStruct, which may tie parts\\): not read"):
        read_structure(path)


def test_walls_of_plane_strain(tmp_path):
    """A stretch has the energy of (1 - nu) E / ((1 + nu) (1 - 2 nu)); bending has next to none."""
    cards = [grid(1, 0, 0), grid(2, 2, 0), grid(3, 2, 3), grid(4, 0, 3), "CQUAD4,1,2,1,2,3,4", METAL]
    model = read(tmp_path, *cards, "PSHELL,2,1,.01,-1")
    u = np.zeros(model.size)
    u[model.dofs[:, 0]] = 1e-3 * model.nodes[:, 0]
    wanted = (1.0 - NU) * E / ((1.0 + NU) * (1.0 - 2.0 * NU)) * 1e-6 * 0.01 * 6.0
    assert u @ model.stiffness @ u == pytest.approx(wanted, rel=1e-6)
    with pytest.raises(ModelError, match="PSHELL 2: plane strain, MID2 = -1, of another material than MAT1"):
        read(tmp_path, *cards, "PSHELL,2,3,.01,-1", "MAT2,3,8.+10,2.+10,5.+9,6.+10,-4.+9,2.5+10,2700.")
