"""VTU files, one per output time, and PVD collections of them, for ParaView and similar programs; written by meshio."""

from collections.abc import Callable
from xml.etree import ElementTree

from femb.base.types import Floats
from femb.pictures.files import Drafts
from femb.pictures.scene import Scene, SceneExporter


def _write_scene(scene: Scene, times: Floats, drafts: Drafts, advance: Callable[[], None]) -> str:
    import meshio

    digits = max(4, len(str(len(times) - 1)))
    files = [f"{scene.name}_{k:0{digits}d}.vtu" for k in range(len(times))]
    for file, mesh in zip(files, scene.meshes(), strict=True):
        content = meshio.Mesh(mesh.points, mesh.cells, mesh.point_data, mesh.cell_data)
        meshio.write(drafts.new(file), content, file_format="vtu", binary=True)
        advance()
    root = ElementTree.Element("VTKFile", type="Collection", version="0.1")
    collection = ElementTree.SubElement(root, "Collection")
    for time, file in zip(times, files, strict=True):
        ElementTree.SubElement(collection, "DataSet", timestep=repr(float(time)), part="0", file=file)
    ElementTree.indent(root)
    path = drafts.new(f"{scene.name}.pvd")
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path.name


export_vtu = SceneExporter(
    _write_scene,
    """Write the motion as meshes; returns the collections to open, ``lines.pvd`` and ``solids.pvd``.

    They list ``lines_0000.vtu`` ... (beams as polylines, bodies as points) and, with ``solids``, ``solids_0000.vtu``
    ... (beams as swept sections, bodies by their shape).""",
)
