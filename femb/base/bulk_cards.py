"""The cards of NASTRAN bulk data: those that are read, with fields, units and defaults; left out; and refused.

Source: MSC Nastran Quick Reference Guide. A field is NAME, NAME:unit or NAME=default, where a default may be another
field; "-" is skipped, "/" begins the next line of eight fields, "NAME..." is a list to the end.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from femb.base.errors import ModelError

# What is read, with a word for the page.
READ = """
GRID     places, displacement axes; PS is a support | ID CP=0 X1=0 X2=0 X3=0 CD PS SEID
GRDSET   defaults of GRID                   | - CP - - - CD PS SEID
POINT    places for SELOC                    | ID CP=0 X1=0 X2=0 X3=0
SELOC    where a superelement is             | SEID GA1 GA2 GA3 GB1 GB2 GB3
SEBULK   PRIMARY, MIRROR and REPEAT         | SEID TYPE RSEID
SEMPLN   planes of mirrors                  | SEID TYPE P1 P2 P3
SPOINT   scalar points                      | ID...
CORD1R   axes by grids, two on a card       | CID G1 G2 G3 CIDB G1B G2B G3B
CORD1C   as CORD1R                          | CID G1 G2 G3 CIDB G1B G2B G3B
CORD1S   as CORD1R                          | CID G1 G2 G3 CIDB G1B G2B G3B
CORD2R   axes                               | CID RID=0 A1=0 A2=0 A3=0 B1=0 B2=0 B3=0 / C1=0 C2=0 C3=0
CORD2C   axes                               | CID RID=0 A1=0 A2=0 A3=0 B1=0 B2=0 B3=0 / C1=0 C2=0 C3=0
CORD2S   axes                               | CID RID=0 A1=0 A2=0 A3=0 B1=0 B2=0 B3=0 / C1=0 C2=0 C3=0
PARAM    WTMASS, COUPMASS, AUTOSPC, K6ROT, SNORM | N V1 V2
MAT1     isotropic                          | MID E:P G:P NU RHO:D=0 A:1/K TREF GE
MAT2     walls                              | MID G11:P=0 G12:P=0 G13:P=0 G22:P=0 G23:P=0 G33:P=0 RHO:D=0 / A1 A2 A3
MAT8     plies and walls                    | MID E1:P E2:P NU12=0 G12:P=0 G1Z:P=0 G2Z:P=0 RHO:D=0 / A1:1/K
   A2:1/K=A1 TREF XT:P=0 XC:P=XT YT:P=0 YC:P=YT S:P=0
MAT9     solids                             | MID G:P...
MAT11    solids                             | MID E1:P E2:P E3:P NU12 NU13 NU23 G12:P / G13:P G23:P
   RHO:D=0
PSHELL   MID1 or MID2, MID3, MID4 may be blank; MID2 = -1 | PID MID1 T:L MID2 K=1 MID3 TST=0.8333333333333333 NSM:M/L2=0
   / Z1 Z2 MID4
PCOMP    laminates; LAM = SYM, MEM, BEND, SMEAR are refused but SYM | PID Z0:L NSM:M/L2=0 SB FT TREF GE LAM / PLIES...
PCOMPG   laminates                          | PID Z0:L NSM:M/L2=0 SB FT TREF - LAM / PLIES...
CQUAD4   walls with four corners            | EID PID=EID G1 G2 G3 G4 THETA=0 ZOFFS:L=0 / - TFLAG T1:L T2:L T3:L T4:L
CQUADR   as CQUAD4, stiffer in its plane  | EID PID=EID G1 G2 G3 G4 THETA=0 ZOFFS:L=0 / - TFLAG T1:L T2:L T3:L T4:L
CTRIA3   walls with three corners           | EID PID=EID G1 G2 G3 THETA=0 ZOFFS:L=0 - / - TFLAG T1:L T2:L T3:L
CTRIAR   as CTRIA3                          | EID PID=EID G1 G2 G3 THETA=0 ZOFFS:L=0 - / - TFLAG T1:L T2:L T3:L
CQUAD8   sides without their grid are straight | EID PID=EID G1 G2 G3 G4 G5 G6 / G7 G8 T1:L T2:L T3:L T4:L THETA=0
  ZOFFS:L=0
CTRIA6   as CQUAD8                          | EID PID=EID G1 G2 G3 G4 G5 G6 / THETA=0 ZOFFS:L=0 T1:L T2:L T3:L
PSOLID   ISOP, IN = TWO, THREE; not in element axes where anisotropic | PID MID CORDM=0 IN STRESS ISOP FCTN
PCOMPS   solids of plies that are alike     | PID CORDM=0 PSDIR=13 SB NB TREF GE - / PLIES...
CTETRA   4 to 10 grids                      | EID PID=EID G...
CHEXA    8 to 20 grids; 8 and 20 bend as in NASTRAN | EID PID=EID G...
CPENTA   6 to 15 grids; 6 bend as in NASTRAN, exact in constant strain as prisms | EID PID=EID G...
CPYRAM   5 to 13 grids                      | EID PID=EID G...
CSHEAR   panels of shear flow               | EID PID=EID G1 G2 G3 G4
PSHEAR   with rods of F1 and F2 at the sides | PID MID T:L NSM:M/L2=0 F1=0 F2=0
CBAR     pin flags, offsets, OFFT            | EID PID=EID GA GB X1 X2 X3 OFFT=GGG / PA=0 PB=0 W1A:L=0 W2A:L=0
   W3A:L=0 W1B:L=0 W2B:L=0 W3B:L=0
CBEAM    as CBAR; SA and SB warp            | EID PID=EID GA GB X1 X2 X3 OFFT=GGG / PA=0 PB=0 W1A:L=0 W2A:L=0
   W3A:L=0 W1B:L=0 W2B:L=0 W3B:L=0 / SA=0 SB=0
BAROR    defaults of CBAR                   | - PID - - X1 X2 X3 OFFT
BEAMOR   defaults of CBEAM                  | - PID - - X1 X2 X3 OFFT
PBAR     bars; K1 and K2 without I12 alone  | PID MID A:L2=0 I1:L4=0 I2:L4=0 J:L4=0 NSM:M/L=0 - / C1 C2 D1 D2 E1 E2
   F1 F2 / K1=0 K2=0 I12:L4=0
PBARL    all shapes but HAT1      | PID MID GROUP TYPE - - - - / D:L...
PBEAM    stations and taper                 | PID MID A:L2 I1:L4 I2:L4 I12:L4=0 J:L4=0 NSM:M/L=0 / REST...
PBEAML   as PBARL, uniform                  | PID MID GROUP TYPE - - - - / D:L...
PBCOMP   without areas as PBEAM, or of areas alone | PID MID A:L2 I1:L4=0 I2:L4=0 I12:L4=0 J:L4=0 NSM:M/L=0 /
  K1=1 K2=1 M1:L=0 M2:L=0 N1:L=0 N2:L=0 SECTION=0 - / AREAS...
CBEND    arcs, GEOM = 1 to 3                | EID PID=EID GA GB X1 X2 X3 GEOM=1
PBEND    A, I1, I2, J, or a pipe of FSI = 1 | PID MID A:L2 I1:L4 I2:L4 J:L4=0 RB:L THETAB / - - - - - - - - /
  K1 K2 NSM:M/L=0 RC:L ZC:L DELTAN:L
CROD     rods                               | EID PID=EID G1 G2
PROD     rods                               | PID MID A:L2=0 J:L4=0 C NSM:M/L=0
CONROD   rods                               | EID G1 G2 MID A:L2=0 J:L4=0 C NSM:M/L=0
CTUBE    rods                               | EID PID=EID G1 G2
PTUBE    of one outer diameter              | PID MID OD:L T:L=0 NSM:M/L=0 OD2:L=OD
CELAS1   springs, also to the ground        | EID PID=EID G1=0 C1=0 G2=0 C2=0
CELAS2   springs, also to the ground        | EID K G1=0 C1=0 G2=0 C2=0
CELAS3   springs of scalar points           | EID PID=EID G1=0 G2=0
CELAS4   springs of scalar points           | EID K G1=0 G2=0
PELAS    springs, two on a card             | PID K GE S PIDB KB
CMASS1   scalar masses                      | EID PID=EID G1=0 C1=0 G2=0 C2=0
CMASS2   scalar masses                      | EID K G1=0 C1=0 G2=0 C2=0
CMASS3   scalar masses                      | EID PID=EID G1=0 G2=0
CMASS4   scalar masses                      | EID K G1=0 G2=0
PMASS    scalar masses, four on a card      | PID K PID2 K2 PID3 K3 PID4 K4
CONM1    mass matrix of a grid              | EID G CID=0 M...
CONM2    mass, offset, inertia in any axes  | EID G CID=0 M:M=0 X1:L=0 X2:L=0 X3:L=0 - / I11:ML2=0 I21:ML2=0
   I22:ML2=0 I31:ML2=0 I32:ML2=0 I33:ML2=0
CBUSH    K; CID, S, OCID, also to the ground | EID PID=EID GA GB X1 X2 X3 CID / S=0.5 OCID=-1 S1:L=0 S2:L=0 S3:L=0
PBUSH    K of the rest                      | PID W...
CBUSH1D  stiffness along the line or CID    | EID PID=EID GA GB CID
PBUSH1D  K of the rest                      | PID K:F/L=0 C M:M=0
GENEL    K or Z, and S                      | EID - W...
DMIG     K2GG and M2GG of the case control, KAA and MAA of superelements | NAME W...
CWELD    PARTPAT, ELPAT, ELEMID, ALIGN      | EID PID=EID GS TYPE GA GB - MCID / IDA IDB - - - - - - / XS:L YS:L ZS:L
PWELD    bars of round section              | PID MID D:L - - MSET - TYPE / LDMIN=0.2 LDMAX=5.0
CFAST    PROP and ELEM                      | EID PID=EID TYPE IDA IDB GS GA GB / XS:L YS:L ZS:L
PFAST    springs and mass                   | PID D:L MCID=-1 MFLAG=0 KT1:F/L=0 KT2:F/L=0 KT3:F/L=0 KR1:FL=0 /
  KR2:FL=0 KR3:FL=0 MASS:M=0 GE
CGAP     stiffness of the start, KA or KB, along the line or CID | EID PID=EID GA GB X1 X2 X3 CID
PGAP     closed where U0 is not above 0     | PID U0=0 F0 KA:F/L KB:F/L=0 KT:F/L=0
RBE1     rigid                              | EID W...
RBE2     rigid                              | EID GN CM GM...
CRIGD1   as RBE2 of all components          | EID GN GM...
CRIGD2   as RBE2, components of each grid   | EID GN W...
RBE3     means, UM is another choice of the same rows | EID - REFGRID REFC W...
RBAR     rigid                              | EID GA GB CNA=0 CNB=0 CMA=0 CMB=0
RROD     rigid along its line               | EID GA GB CMA CMB
RTRPLT   rigid                              | EID GA GB GC CNA=0 CNB=0 CNC=0 CMA=0 / CMB=0 CMC=0
RSSCON   edges of shells on faces of solids | EID TYPE=ELEM ES1 EA1 EB1 ES2 EA2 EB2
MPC      those of the case control, of all where it names none | SID W...
MPCADD   sums of MPC                        | SID S...
"""
# Left out, by what they are; names as regular expressions.
LEFT_OUT = {
    "loads": r"(TEMP|TEMPD|TEMPP1|TEMPRB|"
    r"PLOAD\d?|PLOADX1|PLOADB3|FORCE\w*|MOMENT\w*|GRAV|RFORCE|ACCEL\d?|SLOAD|CLOAD|LOADCYN|LOAD|LSEQ|SPCD|"
    r"DEFORM|DAREA|DLOAD|"
    r"[RT]LOAD\d|ACSRCE|TIC|DELAY|DPHASE|NOLIN\d|TF|LOADCL?\w*|LOADT|UNBALNC)",
    "supports": r"(SPC\w*|SUP\w+|BNDF\w*|BNDFIX\d?)",
    "sets": r"([ABCQU]SET\d?|OMIT\d?|CSUPEXT|SE[A-Z]SET\d?|SESET|SEQ[SG]\w*|SEBSET\d|SECSET\d|SESUP|RELEASE|SET\d?|"
    r"BSET|DEFUSET|EPOINT|SEELT|SEEXCLD|SENQSET|SEDLINK|SEDRSP\d|SEBNDRY|SECONCT|SEEXCLD)",
    "requests and solution": r"(EIG\w+|FREQ\d?|TSTEP\w*|NLP\w+|NLSTEP|RAND\w+|TABRND\w|TAB[LD]\w*|TABDMP\d|DTI\w*|"
    r"DMI|PLOTEL\w*|"
    r"SE[TV]REE|SELABEL|MONPNT\w*|CBARAO|CPARAM|DYNRED|MDLPRM|ABSNMVS|ABSTRCT|RVDOF\d?|PLOT\w+|OUTPUT|OUTRCV|ACMODL|"
    r"ECHO\w*|INCLUDE|FEMECHO|TITLE|"
    r"LABEL|DTABLE|SUBCOM|MODTRAK|VCCT|CYAX|CYJOIN|CYSYM|CSSCHD|NXSTRAT|MBACT|SWLDPRM|NLDAMP|GUST|EBDSET|TEMPBC|"
    r"GPST|PARVEC|NLCNTL\w?|MASSSET|SEMASET|DEACTEL|DEBUG|DYPARAM|MDFREQ\w*|EXTSE\w*)",
    "aeroelastic": r"(AE\w+|AERO\w?|CAERO\d|PAERO\d|SPLINE\d|FLFACT|FLUTTER|MKAERO\d|TRIM\d?|UXVEC|DIVERG|SPLINRB|"
    r"DMIJI?|DMIK|MONDSP\d)",
    "thermal": r"(TEMP\w+|CHBDY\w?|PHBDY|CONV\w?|CONVM|PCONVM?|RAD\w+|VIEW\w*|QHBDY|QBDY\d|QVECT|QVOL|MAT4|MAT5|"
    r"MATT\d+|TMPSET)",
    "nonlinear laws, linear at rest": r"(MATS\d|TABLES\w|TABLEM\d|MATEP|MATF|MATVE|CREEP|PBUSHT|PELAST|PDAMPT|"
    r"PFASTT|PBUSH1DT|MATHED|MATDMG)",
    "optimisation": r"(D[CRTV]\w+\d|D(ESVAR|LINK|DVAL|EQATN|OPTPRM|SCREEN|TABLE|CONSTR|CONADD|RESP\d|VGRID|VBSHAP|"
    r"VSHAP|VSET)|TOPVAR|BEADVAR|TOMVAR|RANDVAR|STOCHAS)",
    "contact": r"(BC\w+|BSURF\w?|BLSEG|BFRIC|BCTSET|BEDGE|BGSET|BGADD|BOUTPUT|BSQUEAL)",
    "materials that no element read here has": r"(MAT3|MAT10\w?|MAT12|MATTC|SWLDPRM)",
    "damping": r"(CDAMP\d\w?|PDAMP\w?|CVISC|PVISC|DAMPING|HYBDAMP)",
    "rotors, at rest": r"(ROT\w+|RSPIN\w|RGYRO|UNBALNC)",
}  # fmt: skip
# Refused, by why.
REFUSED = {
    "fluids": r"(CHACA\w|PACABS|PACBAR|CAABSF|CFLUID\d|AXIF|RINGFL|FSLIST|BDYLIST|GRIDB|PRESPT|FREEPT|FLSYM|"
    r"PANEL|CSLOT\d|GRIDF|GRIDS|AXSLOT|SLBDY|ELIST|MFLUID)",
    "axisymmetric": r"(CTRIAX\d?|CQUADX\d?|CCONEAX|PCONEAX|AXIC|RINGAX|CPLST\w+|PPLANE|CTRAX\d|PAX\w+|PLOADX)",
    "hyperelastic": r"(PLPLANE|PLSOLID|MATHP|MATHE|MATG|CQUAD|PLCOMP)",
    "made by NASTRAN itself": r"(ADAPT|PVAL|ELSET|GMCURV|GMSURF|GMBC|GMSPC|GMLOAD|GMCORD|FEEDGE|FEFACE|EGRID|GRIDG|"
    r"CGEN|SPCG|ERRTOL|EQUATION|INTSRF|PART)",
    "elements of COSMIC NASTRAN": r"([CP]QDMEM\d?|[CP]TRMEM|[CP]QUAD[12]|[CP]TRIA[12]|[CP]QDPLT|[CP]TRPLT\d?|[CP]TRBSC|"
    r"[CP]TRIM6|[CP]TRSHL|CWEDGE|CIHEX\d|PIHEX|[CP]ELBOW|[CP]IS2D8|[CP]TRAPRG|[CP]TRIARG|[CP]TORDRG|CNGRNT|CRIGD3|CRIGDR)",
    "contact of OptiStruct, which may tie parts": r"(SURF|CONTACT|PCONT\w*|TIE)",
    "connections of meshes": r"(CSEAM|PSEAM|RSPLINE|CINTC|RJOINT)",
    "not yet": r"(CBEAM3|PBEAM3|PBMSECT|PBRSECT|CHEXA1|CHEXA2|PANEL|PBARN\d|CDUM\d|NSM\w*)",
}  # fmt: skip
WANTED = "take them out of the file, or give its matrices to `femb reduce`"


@dataclass(frozen=True)
class Field:
    """place : from 0, that of the second field of the guide. unit : a word of ``Units.factor``. default : a number, the
    name of another field, or nothing."""

    place: int
    unit: str
    default: str


@lru_cache
def fields_of(name: str) -> dict[str, Field]:
    """The fields of a card that is read, by their names."""
    found, place = dict[str, Field](), 0
    for word in _read()[name][1].split():
        if word == "/":
            place = -(-place // 8) * 8
            continue
        head, _, default = word.partition("=")
        key, _, unit = head.removesuffix("...").partition(":")
        if key != "-":
            found[key] = Field(place, unit, default)
        place += 1
    return found


@lru_cache
def _read() -> dict[str, tuple[str, str]]:
    """The remark and the fields of the cards that are read, by name."""
    lines = [line.partition("|") for line in re.sub(r"\n\s+", " ", READ.strip()).splitlines()]
    return {head.split()[0]: (" ".join(head.split()[1:]), fields.strip()) for head, _, fields in lines}


def kind_of(name: str) -> str:
    """ "read", or the heading under which a card is left out, or "" where it is refused."""
    if name in _read():
        return "read"
    return next((what for what, names in LEFT_OUT.items() if re.fullmatch(names, name)), "")


def refusal(names: list[str]) -> ModelError:
    """The error for cards that are refused."""
    parts = dict[str, list[str]]()
    for name in names:
        why = next((what for what, known in REFUSED.items() if re.fullmatch(known, name)), "unknown")
        parts.setdefault(why, []).append(name)
    said = "; ".join(f"{', '.join(each)} ({why})" for why, each in parts.items())
    return ModelError(f"{said}: not read: {WANTED}")


def page() -> str:
    """The cards as tables in Markdown."""
    rows = ["| card | what is read |", "| --- | --- |"]
    rows += [f"| `{name}` | {remark} |" for name, (remark, _) in _read().items()]
    for title, table in (("left out, named in one line", LEFT_OUT), ("refused", REFUSED)):
        rows += ["", f"| {title} | cards |", "| --- | --- |"]
        rows += [f"| {what} | {names[1:-1].replace('|', ', ')} |" for what, names in table.items()]
    return "\n".join(rows)


@dataclass(frozen=True)
class Units:
    """The units of a file in SI: length m, force N, time s; masses are of these. mass : a factor of masses, WTMASS."""

    length: float = 1.0
    force: float = 1.0
    time: float = 1.0
    mass: float = 1.0

    @classmethod
    def of(cls, given: "float | str | Units") -> "Units":
        """The units of a name, or of a length (m) beside N and s. Raises ModelError."""
        if isinstance(given, Units):
            return given
        if isinstance(given, str) and given in SYSTEMS:
            return SYSTEMS[given]
        try:
            length = float(given)
        except ValueError:
            raise ModelError(f"units: got {given!r}, wanted one of {', '.join(SYSTEMS)}, or a length in m") from None
        if not 0.0 < length < np.inf:
            raise ModelError(f"unit: got {given} m, must be greater than 0")
        return cls(length)

    def factor(self, unit: str) -> float:
        """The factor of numbers in a unit of L, F, M and their products, P (F/L2) and D (M/L3), to SI."""
        L, F = self.length, self.force
        M = F * self.time**2 / L * self.mass
        return {
            "": 1.0, "1/K": 1.0, "L": L, "1/L": 1.0 / L, "L2": L**2, "L4": L**4, "L6": L**6, "P": F / L**2,
            "F/L": F / L, "FL": F * L, "F": F, "L/T2": L / self.time**2, "1/T": 1.0 / self.time,
            "M": M, "D": M / L**3, "ML": M * L, "ML2": M * L**2, "M/L": M / L, "M/L2": M / L**2,
        }[unit]  # fmt: skip


POUND = 4.4482216152605
SI = Units()
SYSTEMS = {
    "SI": SI,
    "mm-t-s": Units(1e-3),
    "mm-kg-ms": Units(1e-3, 1e3, 1e-3),
    "in-lbf-s": Units(0.0254, POUND),
    "ft-slug-s": Units(0.3048, POUND),
}
