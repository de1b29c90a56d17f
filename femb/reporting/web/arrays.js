// Arrays of the page: the reverse of femb/reporting/web/packing.py.

/** The bytes of all arrays, from base64 and zlib. */
async function unpackBytes(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) packed[k] = letters.charCodeAt(k);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const MISSING = -(2 ** 31); // stands for a value that is not finite

/** {data, shape, rows, columns} of a described array; data is row by row. */
function arrayOf(reference, bytes) {
  const shape = reference.shape;
  const count = shape.reduce((product, size) => product * size, 1);
  const rows = shape.length ? shape[0] : 1;
  const columns = rows ? count / rows : 0;
  const whole = new Int32Array(count);
  for (let place = 0; place < reference.bytes; place++) {
    const start = reference.at + place * count;
    for (let i = 0; i < count; i++) whole[i] |= bytes[start + i] << (8 * place);
  }
  const shift = 32 - 8 * reference.bytes;
  const wrap = (value) => (value << shift) >> shift;
  for (let i = 0; i < count; i++) whole[i] = wrap(whole[i]);
  for (let time = 0; time < reference.differences; time++) {
    for (let c = 0; c < columns; c++) {
      for (let i = c * rows + 1; i < (c + 1) * rows; i++) whole[i] = wrap((whole[i] + whole[i - 1]) | 0);
    }
  }
  const data = new (reference.bytes === 4 ? Float64Array : Float32Array)(count);
  for (let c = 0; c < columns; c++) {
    for (let t = 0; t < rows; t++) {
      const value = whole[c * rows + t];
      data[t * columns + c] = value === MISSING ? NaN : value * reference.step;
    }
  }
  return { data, shape, rows, columns };
}

/** An array as integers, for corners of triangles. */
function integersOf(reference, bytes) {
  return Uint32Array.from(arrayOf(reference, bytes).data);
}

// Elements of the page. All texts go in as text, never as HTML.

/** An element with properties, attributes (under "attributes"), and children: elements or texts. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  const { attributes = {}, ...others } = properties;
  Object.assign(made, others);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

/** A number with some digits, short where it is large or small. */
function shortNumber(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return Number(value.toPrecision(digits)).toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

/** A colour of the style sheet, as "--ink". */
function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
