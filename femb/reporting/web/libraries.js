// What the page takes from its libraries; bundled as libraries.min.js by docs/bundle_web_libraries.py.
export {
  AmbientLight, ArrowHelper, AxesHelper, Box3, BufferAttribute, BufferGeometry, Color, CylinderGeometry, DirectionalLight,
  DoubleSide, DynamicDrawUsage, EdgesGeometry, GridHelper, Group, HemisphereLight, InstancedMesh, Line,
  LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, OrthographicCamera,
  PerspectiveCamera, Quaternion, Raycaster, Scene, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { default as uPlot } from "uplot";
