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
  const sources: [number, string][] = [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ];
  for (const [kind, source] of sources) {
    const shader = gl.createShader(kind) as WebGLShader;
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

/** What draws a graph on a canvas; null where the browser has no WebGL2. */
export function layerOf(canvas: HTMLCanvasElement, shape: Shape): Layer | null {
  const antialias = shape.source.length < 20_000;
  const gl = canvas.getContext("webgl2", { antialias, powerPreference: "low-power" });
  if (!gl) return null;
  const points = program(gl, NODE, POINT);
  const lines = program(gl, EDGE, STROKE);
  const attribute = (at: number, values: Float32Array | Uint8Array, size: number) => {
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, values instanceof Uint8Array ? gl.UNSIGNED_BYTE : gl.FLOAT, false, 0, 0);
    return buffer;
  };
  const pairs = (order: number[], p: (k: number) => number, q: (k: number) => number) =>
    Float32Array.from({ length: 2 * order.length }, (_, k) => (k & 1 ? q : p)(order[k >> 1]));
  const every = Array.from(shape.layer.keys());
  const many = mixed(every.filter((k) => shape.layer[k] > 1));
  const order = [...many, ...every.filter((k) => shape.layer[k] < 2)]; // skills and task types lie above
  const nodes = gl.createVertexArray();
  gl.bindVertexArray(nodes);
  attribute(0, pairs(order, (k) => shape.x[k], (k) => shape.y[k]), 2); // prettier-ignore
  attribute(1, pairs(order, (k) => shape.birth[k], (k) => shape.death[k]), 2); // prettier-ignore
  const nodeFocus = attribute(2, new Uint8Array(order.length).fill(1), 1);
  attribute(
    3,
    Uint8Array.from(order, (k) => shape.layer[k]),
    1,
  );
  attribute(
    4,
    Float32Array.from(order, (k) => shape.size[k]),
    1,
  );
  const edges = gl.createVertexArray();
  gl.bindVertexArray(edges);
  const ends = mixed(Array.from(shape.source.keys())).flatMap((k) => [2 * k, 2 * k + 1]);
  const end = (k: number) => (k & 1 ? shape.target : shape.source)[k >> 1];
  attribute(0, pairs(ends, (k) => shape.x[end(k)], (k) => shape.y[end(k)]), 2); // prettier-ignore
  attribute(1, pairs(ends, (k) => shape.edgeBirth[k >> 1], (k) => shape.edgeDeath[k >> 1]), 2); // prettier-ignore
  const edgeFocus = attribute(2, new Uint8Array(ends.length).fill(1), 1);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const fill = (buffer: WebGLBuffer, values: Uint8Array) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
  };
  return {
    focus(litNodes, litEdges) {
      fill(
        nodeFocus,
        Uint8Array.from(order, (k) => litNodes?.[k] ?? 1),
      );
      fill(
        edgeFocus,
        Uint8Array.from(ends, (k) => litEdges?.[k >> 1] ?? 1),
      );
    },
    draw({ seq, since, x, y, scale, layers, colours, line, accent, ratio, hasty }) {
      const { width, height } = gl.canvas;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      const some = (n: number) => (hasty ? Math.min(n, SAMPLE) : n);
      for (const used of [lines, points]) {
        gl.useProgram(used);
        const at = (name: string) => gl.getUniformLocation(used, name);
        const faint = Math.max(0.05, Math.min(0.55, 15 / Math.sqrt(some(ends.length / 2) + 1)));
        for (const [name, value] of Object.entries({ seq, since, scale, ratio, faint })) gl.uniform1f(at(name), value);
        gl.uniform2f(at("middle"), x, y);
        gl.uniform2f(at("room"), width / ratio, height / ratio);
        gl.uniform1i(at("layers"), layers);
        gl.uniform3fv(at("colours"), colours.flat());
        gl.uniform3fv(at("line"), line);
        gl.uniform3fv(at("accent"), accent);
        gl.bindVertexArray(used === lines ? edges : nodes);
        if (used === lines) gl.drawArrays(gl.LINES, 0, 2 * some(ends.length / 2));
        else {
          gl.drawArrays(gl.POINTS, 0, some(many.length));
          gl.drawArrays(gl.POINTS, many.length, order.length - many.length);
        }
      }
    },
  };
}
