/**
 * The graph's own layer. Births and deaths are attributes and the moment is a uniform, so that moving through time sends
 * one number to the card.
 */

/** Nodes and edges in arrays; `layer` 0 to 3. */
export interface Shape {
  x: Float32Array;
  y: Float32Array;
  birth: Float32Array;
  death: Float32Array;
  layer: Uint8Array;
  size: Float32Array;
  source: Uint32Array;
  target: Uint32Array;
  edgeBirth: Float32Array;
  edgeDeath: Float32Array;
}

export interface Scene {
  seq: number;
  /** The other moment: what was born since has a colour of its own. -1: there is none. */
  since: number;
  /** What is in the middle, and pixels for one unit. */
  x: number;
  y: number;
  scale: number;
  /** A bit for each layer that is shown. */
  layers: number;
  colours: number[][];
  line: number[];
  accent: number[];
  ratio: number;
  /** A sample of very many will do, while things move. */
  hasty: boolean;
}

export interface Layer {
  draw: (scene: Scene) => void;
  /** Light up nodes (2: a neighbour, 3: the one) and edges (2); what is 0 is faint. */
  focus: (nodes: Uint8Array | null, edges: Uint8Array | null) => void;
}

/** Nodes of memories, and edges, that are drawn in a moment on machines without a graphics card too. */
export const SAMPLE = 6_000;

const PLACE = `#version 300 es
in vec2 place; in vec2 life; in float focus;
uniform float seq, since, ratio, scale, faint; uniform vec2 middle, room; uniform int layers;
uniform vec3 colours[4], line, accent;
out vec4 ink;
vec4 placed(bool alive) {
  vec2 at = (place - middle) * scale / room * 2.0;
  return alive && life.x <= seq && seq < life.y ? vec4(at.x, -at.y, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
}`;
const NODE = `${PLACE}
in float kind; in float size; flat out int shape;
void main() {
  gl_Position = placed((layers & (1 << int(kind))) != 0);
  float grown = clamp(sqrt(scale / 300.0), 0.55, 1.6);
  gl_PointSize = (size * grown * (focus > 1.5 ? 1.25 : 1.0) + 2.0) * ratio;
  bool fresh = since >= 0.0 && life.x > since;
  shape = int(kind);
  ink = vec4(focus > 2.5 || fresh ? accent : colours[int(kind)], focus < 0.5 ? 0.2 : 1.0);
}`;
const POINT = `#version 300 es
precision mediump float; in vec4 ink; flat in int shape; out vec4 colour;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0; float d;
  if (shape == 0) d = length(p);
  else if (shape == 1) d = max(abs(p.x), abs(p.y)) * 1.15;
  else if (shape == 2) d = (abs(p.x) + abs(p.y));
  else d = max(abs(p.x) * 1.1 + p.y * 0.6, -p.y * 1.2);
  float edge = fwidth(d) * 1.2;
  float a = 1.0 - smoothstep(0.95 - edge, 0.95, d);
  if (a < 0.02) discard;
  colour = vec4(ink.rgb, 1.0) * ink.a * a;
}`;
const EDGE = `${PLACE}
void main() {
  gl_Position = placed(true);
  ink = focus > 1.5 ? vec4(accent, 0.8) : vec4(line, focus < 0.5 ? 0.08 : faint);
}`;
const STROKE = `#version 300 es
precision mediump float; in vec4 ink; out vec4 colour;
void main() { colour = vec4(ink.rgb, 1.0) * ink.a; }`;

/** How far a node reaches, in pixels, as the shader draws it. */
export const radius = (size: number, scale: number, lit: boolean) =>
  (size * Math.max(0.55, Math.min(1.6, Math.sqrt(scale / 300))) * (lit ? 1.25 : 1) + 2) / 2;

function program(gl: WebGL2RenderingContext, vertex: string, fragment: string) {
  const made = gl.createProgram();
  for (const source of [vertex, fragment]) {
    const shader = gl.createShader(source === vertex ? gl.VERTEX_SHADER : gl.FRAGMENT_SHADER) as WebGLShader;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  ["place", "life", "focus", "kind", "size"].forEach((name, n) => gl.bindAttribLocation(made, n, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(`the graph: ${gl.getProgramInfoLog(made)}`);
  return made;
}

/** The same numbers in an order that tells nothing, so that the first of them are a fair sample. */
function mixed(list: number[]) {
  const prime = list.length % 7919 ? 7919 : 7907;
  return list.map((_, k) => list[(k * prime) % list.length]);
}

const pairs = (p: ArrayLike<number>, q: ArrayLike<number>) =>
  Float32Array.from({ length: 2 * p.length }, (_, k) => (k & 1 ? q : p)[k >> 1]);

/** What draws a graph on a canvas; null where the browser has no WebGL2. */
export function layerOf(canvas: HTMLCanvasElement, shape: Shape): Layer | null {
  const count = shape.source.length;
  const gl = canvas.getContext("webgl2", { antialias: count < 20_000, powerPreference: "low-power" });
  if (!gl) return null;
  const points = program(gl, NODE, POINT);
  const lines = program(gl, EDGE, STROKE);
  /** Vertices by their attributes, and the order in which they are drawn; gives what sets their third one, the focus. */
  const vertices = (order: number[], ...attributes: [values: Float32Array | Uint8Array, size: number][]) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(order), gl.STATIC_DRAW);
    const buffers = attributes.map(([values, size], at) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, values instanceof Uint8Array ? gl.UNSIGNED_BYTE : gl.FLOAT, false, 0, 0);
      return buffer;
    });
    const focus = (values: Uint8Array) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[2]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    };
    return { array, focus };
  };
  const { x, y, birth, death, layer, size, source, target, edgeBirth, edgeDeath } = shape;
  const plain = (length: number) => new Uint8Array(length).fill(1);
  const every = Array.from(layer.keys());
  const many = mixed(every.filter((n) => layer[n] > 1));
  const few = every.filter((n) => layer[n] < 2); // skills and task types lie above
  const ends = Array.from({ length: 2 * count }, (_, k) => (k & 1 ? target : source)[k >> 1]);
  const twice = (values: ArrayLike<number>) => ends.map((_, k) => values[k >> 1]);
  const nodes = vertices(
    [...many, ...few],
    [pairs(x, y), 2],
    [pairs(birth, death), 2],
    [plain(layer.length), 1],
    [layer, 1],
    [size, 1],
  );
  const edges = vertices(
    mixed(Array.from(source.keys())).flatMap((k) => [2 * k, 2 * k + 1]),
    [
      pairs(
        ends.map((n) => x[n]),
        ends.map((n) => y[n]),
      ),
      2,
    ],
    [pairs(twice(edgeBirth), twice(edgeDeath)), 2],
    [plain(ends.length), 1],
  );
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  return {
    focus(litNodes, litEdges) {
      nodes.focus(litNodes ?? plain(layer.length));
      edges.focus(litEdges ? Uint8Array.from(twice(litEdges)) : plain(ends.length));
    },
    draw({ seq, since, x, y, scale, layers, colours, line, accent, ratio, hasty }) {
      const { width, height } = gl.canvas;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const some = (n: number) => (hasty ? Math.min(n, SAMPLE) : n);
      const faint = Math.max(0.05, Math.min(0.55, 15 / Math.sqrt(some(count) + 1)));
      for (const used of [lines, points]) {
        gl.useProgram(used);
        const at = (name: string) => gl.getUniformLocation(used, name);
        for (const [name, value] of Object.entries({ seq, since, scale, ratio, faint })) gl.uniform1f(at(name), value);
        gl.uniform2f(at("middle"), x, y);
        gl.uniform2f(at("room"), width / ratio, height / ratio);
        gl.uniform1i(at("layers"), layers);
        gl.uniform3fv(at("colours"), colours.flat());
        gl.uniform3fv(at("line"), line);
        gl.uniform3fv(at("accent"), accent);
        gl.bindVertexArray((used === lines ? edges : nodes).array);
        const draw = (mode: number, n: number, from = 0) => gl.drawElements(mode, n, gl.UNSIGNED_INT, 4 * from);
        if (used === lines) draw(gl.LINES, 2 * some(count));
        else (draw(gl.POINTS, some(many.length)), draw(gl.POINTS, few.length, many.length));
      }
    },
  };
}
