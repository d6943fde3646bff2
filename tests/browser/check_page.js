// Looks at a page as the browser laid it out and writes what is wrong with it into an element `findings`.
"use strict";
const findings = new Set();

document.addEventListener("securitypolicyviolation", (e) => findings.add(`asks for ${e.blockedURI}`));

// Corners of a text on the screen; a turned one keeps its turned box.
function corners(text) {
  const box = text.getBBox();
  const to = text.getScreenCTM();
  const xs = [box.x, box.x + box.width];
  const ys = [box.y, box.y + box.height];
  return [[0, 0], [1, 0], [1, 1], [0, 1]].map(([x, y]) => new DOMPoint(xs[x], ys[y]).matrixTransform(to));
}

// Whether a side of `a` separates the two: less than a pixel in common counts as nothing.
function separates(a, b) {
  return a.some((from, side) => {
    const to = a[(side + 1) % 4];
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const along = (p) => (p.x * (from.y - to.y) + p.y * (to.x - from.x)) / length;
    const [one, other] = [a.map(along), b.map(along)];
    return Math.max(...one) <= Math.min(...other) + 1 || Math.max(...other) <= Math.min(...one) + 1;
  });
}

function checkFigure(figure) {
  const name = figure.querySelector("title")?.textContent ?? "";
  const edge = figure.getBoundingClientRect();
  const texts = [...figure.querySelectorAll("text")].map((text) => ({ words: text.textContent, at: corners(text), box: text.getBBox() }));
  texts.forEach(({ words, at, box }, number) => {
    if (box.width < 1) findings.add(`${name}: '${words}' is not drawn`);
    const outside = (p) => p.x < edge.left - 1 || p.x > edge.right + 1 || p.y < edge.top - 1 || p.y > edge.bottom + 1;
    if (at.some(outside)) findings.add(`${name}: '${words}' sticks out`);
    for (const other of texts.slice(number + 1)) {
      if (!separates(at, other.at) && !separates(other.at, at)) findings.add(`${name}: '${words}' lies over '${other.words}'`);
    }
  });
  const axes = [...figure.querySelectorAll("text.axis-name")].map((text) => text.textContent);
  if (axes.length === 0) findings.add(`${name}: no axis has a name`);
  for (const axis of axes) {
    if (!/\S, \S/.test(axis)) findings.add(`${name}: axis '${axis}' has no unit`);
  }
  if (texts.filter(({ words }) => words.trim() !== "" && isFinite(words)).length < 2) findings.add(`${name}: no axis has numbers`);
}

function check(own) {
  for (const element of document.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      const asks = ["src", "srcset", "href", "xlink:href", "data", "action", "poster"].includes(name);
      if (asks && !value.startsWith("#")) findings.add(`asks for ${value}`);
      if (name.startsWith("on")) findings.add(`has a script in ${name}`);
    }
    if (element.localName === "script" && element !== own) findings.add("has a script");
    if (element.localName === "meta" && element.httpEquiv.toLowerCase() === "refresh") findings.add("goes to another page");
  }
  const figures = document.querySelectorAll("svg");
  if (figures.length === 0) findings.add("has no figures");
  figures.forEach(checkFigure);
  const { scrollWidth, clientWidth } = document.scrollingElement;
  if (scrollWidth > clientWidth) findings.add(`is ${scrollWidth} wide where ${clientWidth} are to be seen`);
}

const own = document.currentScript;
addEventListener("load", () =>
  // Refused requests are reported after the page is there.
  setTimeout(() => {
    check(own);
    const list = document.createElement("pre");
    list.id = "findings";
    list.textContent = [...findings].join("\n");
    document.body.append(list);
  }, 100),
);
