// What is chosen in the knowledge graph, drawn with Cytoscape.js. Shape and colour show the kind, size the weight.
(() => {
  "use strict";
  const { $, $$, make, say, told, call, doings } = window.kept;
  const FONT = 11.5; // of a label on the screen
  let cy = null, all = { nodes: [], edges: [] }, chosen = "", wanted = "";

  const colour = (name) => getComputedStyle(probe(name)).color;
  const probe = (name) => { // an element with the present value of a colour variable, light or dark
    let element = $(`#graph-colours .c-${name}`);
    if (!element) {
      const holder = $("#graph-colours") || document.body.appendChild(Object.assign(make("div"), { id: "graph-colours", hidden: true }));
      element = holder.appendChild(make("span", "", `c-${name}`));
    }
    return element;
  };

  const sizeOf = (node) => (node.kind === "memory" ? 4 + 1.5 * Math.min(3, node.weight) : 7 + 4 * Math.log2(1 + node.weight));

  const style = () => {
    const ink = colour("ink"), paper = colour("paper");
    const kind = (name, shape) => ({ selector: `node.${name}`, style: { "background-color": colour(name), shape } });
    return [
      { selector: "node", style: {
        width: "data(size)", height: "data(size)", "background-color": colour("memory"), "border-width": 0, color: ink,
        "font-family": "system-ui, sans-serif", "text-valign": "bottom", "text-background-color": paper, "text-background-opacity": 0.85 } },
      kind("project", "round-rectangle"), kind("entity", "ellipse"), kind("resource", "diamond"), kind("memory", "ellipse"), kind("you", "star"),
      { selector: "node.labelled", style: { label: "data(label)", "z-index": 5 } },
      { selector: "node.project, node.you", style: { "font-weight": 600 } },
      { selector: "edge", style: { width: "data(width)", "line-color": colour("edge"), "curve-style": "haystack" } },
      { selector: "edge.unseen", style: { opacity: 0, events: "no" } }, // not drawn, because memories show it, but used by the layout
      { selector: "node.chosen", style: { "border-width": 3, "border-color": colour("accent"), "z-index": 9 } },
    ];
  };

  // What is chosen, what it is related to, and the things that its memories name.
  const elements = () => {
    const nextTo = (ids, edges) => new Set([...ids, ...edges.flatMap(({ source, target }) => (ids.has(source) ? [target] : ids.has(target) ? [source] : []))]);
    const near = nextTo(new Set([chosen]), all.edges), memories = new Set(all.nodes.filter((each) => each.kind === "memory" && near.has(each.id)).map((each) => each.id));
    const there = new Set([...near, ...nextTo(memories, all.edges)]);
    const nodes = all.nodes.filter((each) => there.has(each.id)), edges = all.edges.filter((each) => there.has(each.source) && there.has(each.target));
    const box = $("#graph"), covered = nodes.reduce((sum, each) => sum + sizeOf(each) ** 2, 0); // together they cover at most an eighth of the frame
    const scale = Math.min(1, Math.sqrt((box.clientWidth * box.clientHeight) / 8 / Math.max(covered, 1)));
    return [
      ...nodes.map((each) => ({
        data: { id: each.id, label: each.label, size: Math.max(3.5, scale * sizeOf(each)), weight: each.weight },
        classes: each.kind,
      })),
      ...edges.map((each, number) => ({ data: { id: `e${number}`, source: each.source, target: each.target, width: 1 + Math.log2(each.weight) }, classes: `${each.kind}${each.kind === "together" && memories.size ? " unseen" : ""}` })),
    ];
  };

  // Each connected component is laid out separately, and the components are packed into the shape of the frame. Memories surround the thing
  // that they are about, like the seeds of a sunflower; memories without a thing are placed in rows below.
  const layout = () => {
    const things = cy.nodes().difference(".memory"), wide = cy.width() / cy.height(), around = new Map(things.map((each) => [each.id(), []]));
    const adrift = [];
    for (const memory of cy.nodes(".memory")) {
      const home = memory.connectedEdges(".about").targets()[0] || memory.neighborhood("node")[0];
      (home && !home.hasClass("memory") ? around.get(home.id()) : adrift).push(memory);
    }
    const count = cy.nodes(".memory").length, step = Math.max(3.5, Math.min(22, Math.sqrt((cy.width() * cy.height() * 0.2) / (Math.PI * Math.max(count, 1)))));
    const halo = (node) => node.data("size") / 2 + (around.get(node.id()).length ? 5 + step * Math.sqrt(around.get(node.id()).length) : 3);
    const boxOf = (nodes) => nodes.reduce((box, node) => {
      const { x, y } = node.position(), r = halo(node);
      return { x1: Math.min(box.x1, x - r), y1: Math.min(box.y1, y - r), x2: Math.max(box.x2, x + r), y2: Math.max(box.y2, y + r) };
    }, { x1: 1e9, y1: 1e9, x2: -1e9, y2: -1e9 });
    const islands = things.union(cy.edges(".together")).components().map((island) => {
      const nodes = island.nodes(), many = nodes.length;
      if (many > 1) {
        const rounds = Math.max(50, Math.min(400, Math.round(1.5e7 / many ** 2))); // a round costs the square of the number of nodes
        island.layout({
          name: "cose", animate: false, randomize: true, fit: false, numIter: rounds, initialTemp: 400, coolingFactor: 400 ** (-1 / rounds), gravity: 1.2, edgeElasticity: () => 40, nestingFactor: 1,
          nodeRepulsion: (node) => 1500 + 12 * halo(node) ** 2, idealEdgeLength: (edge) => 14 + halo(edge.source()) + halo(edge.target()),
        }).run();
      } else nodes.positions(() => ({ x: 0, y: 0 }));
      const box = boxOf(nodes);
      return { nodes, x1: box.x1, y1: box.y1, w: box.x2 - box.x1, h: box.y2 - box.y1 };
    }).sort((one, two) => two.h - one.h);
    const gap = 30, area = islands.reduce((sum, each) => sum + (each.w + gap) * (each.h + gap), 0);
    const across = Math.max(islands[0]?.w || 0, Math.sqrt(area * wide) * 1.05, 300);
    let x = 0, y = 0, row = 0;
    for (const { nodes, x1, y1, w, h } of islands) {
      if (x && x + w > across) { x = 0; y += row + gap; row = 0; }
      nodes.shift({ x: x - x1, y: y - y1 + (row && h < row ? (row - h) / 2 : 0) });
      x += w + gap;
      row = Math.max(row, h);
    }
    const box = boxOf(things), room = { w: cy.width() - 60, h: cy.height() - 90 };
    const by = { x: room.w / Math.max(box.x2 - box.x1, 1), y: room.h / Math.max(box.y2 - box.y1, 1) };
    const stretch = { x: Math.min(by.x, 1.6 * by.y, 2.5), y: Math.min(by.y, 1.6 * by.x, 2.5) }; // afterwards one unit is about one pixel, whatever the number of nodes
    things.positions((node) => ({ x: node.position("x") * stretch.x, y: node.position("y") * stretch.y }));
    const apart = step * Math.min(1, stretch.x, stretch.y);
    for (const [id, memories] of around) {
      const thing = cy.getElementById(id), at = thing.position(), inner = ((thing.data("size") / 2 + 4) / apart) ** 2;
      memories.forEach((node, number) => {
        const turn = (inner + number) * 2.39996, far = apart * Math.sqrt(inner + number + 1);
        node.position({ x: at.x + far * Math.cos(turn), y: at.y + far * Math.sin(turn) });
      });
    }
    const below = cy.nodes().difference(adrift.reduce((some, each) => some.union(each), cy.collection())).boundingBox({ includeLabels: false });
    adrift.forEach((node, number) => node.position({ x: (below.x1 || 0) + (number % 60) * 12, y: (below.y2 || 0) + 30 + Math.floor(number / 60) * 12 }));
    whole();
  };

  const whole = () => {
    const box = cy.nodes().boundingBox({ includeLabels: false });
    cy.zoom(Math.min(1, (cy.width() - 16) / Math.max(box.w, 1), (cy.height() - 80) / Math.max(box.h, 1)));
    cy.center(cy.nodes());
    cy.panBy({ x: 0, y: -24 }); // the buttons are below
  };

  const draw = () => {
    const box = $("#graph");
    if (!box || !window.cytoscape) return;
    if (cy) cy.destroy();
    seeded();
    cy = window.cytoscape({
      container: box, elements: elements(), style: style(), minZoom: 0.2, maxZoom: 8, boxSelectionEnabled: false,
      textureOnViewport: all.nodes.length > 400, hideEdgesOnViewport: all.edges.length > 3000, pixelRatio: "auto", layout: { name: "null" },
    });
    layout();
    Math.random = random;
    cy.on("tap", "node", (event) => choose(event.target.id()));
    cy.on("viewport", soon);
    labels();
    box.dataset.nodes = cy.nodes().length;
  };

  // Math.random is seeded during the layout, so that the same graph always looks the same.
  const random = Math.random;
  const seeded = () => { let seed = 42; Math.random = () => { seed = (seed * 1664525 + 1013904223) % 4294967296; return seed / 4294967296; }; };

  // Everything but memories has its whole name: below it, or above it where another name is or the frame ends. Its size on the screen does not depend on the zoom.
  const labels = () => {
    const zoom = cy.zoom(), taken = [], size = FONT / Math.max(zoom, 0.35), named = cy.nodes().difference(".memory").sort((one, two) => two.data("weight") - one.data("weight"));
    cy.batch(() => named.forEach((node) => {
      const at = node.renderedPosition(), wide = 6 + node.data("label").length * 6.8, high = 15, radius = (node.data("size") * zoom) / 2;
      const x = Math.max(wide / 2, Math.min(cy.width() - wide / 2, at.x));
      const free = (y) => y >= 0 && y + high <= cy.height() && !taken.some((each) => Math.abs(each.x - x) < (each.wide + wide) / 2 && Math.abs(each.y - y) < high);
      const below = at.y + radius, y = [below, at.y - radius - high - 4, below + high, below + 2 * high].find(free) ?? below;
      taken.push({ x, y, wide });
      node.addClass("labelled").style({ "text-margin-x": (x - at.x) / zoom, "text-margin-y": (y - below + 2) / zoom });
    }));
    cy.style().selector("node").style({ "font-size": size }).update();
  };
  let later = 0;
  const soon = () => { clearTimeout(later); later = setTimeout(() => { if (cy) labels(); }, 80); };

  const choose = (id) => {
    const node = all.nodes.find((each) => each.id === id);
    wanted = node ? "" : id; // chosen before the graph was loaded
    if (!node) return;
    if (node.kind !== "memory") { chosen = id; draw(); }
    cy?.nodes().removeClass("chosen");
    cy?.getElementById(id).addClass("chosen");
    tell(node);
  };

  const link = (text, href) => Object.assign(make("a", text), { href });
  const tell = (node) => {
    const by = new Map(all.nodes.map((each) => [each.id, each]));
    const others = all.edges.flatMap((each) => (each.source === node.id ? [by.get(each.target)] : each.target === node.id ? [by.get(each.source)] : []));
    const about = others.filter((each) => each.kind === "memory"), things = others.filter((each) => each.kind !== "memory");
    const head = make("h2", node.label), where = make("p", "", "cluster small");
    if (node.kind === "memory") where.append(link("Its story", `/memories/${encodeURIComponent(node.id)}`));
    if (node.kind === "project") where.append(link("Its memories", `/?project=${encodeURIComponent(node.label)}`));
    if (node.kind === "resource" || node.kind === "entity") where.append(link("Memories that name it", `/?q=${encodeURIComponent(node.label)}`));
    if (node.page) where.append(link("Its page", `/files/edit?name=${encodeURIComponent(node.page)}`));
    const parts = [head, where];
    if (things.length) {
      const list = make("p", "", "cluster small");
      for (const each of things.slice(0, 20)) {
        const button = make("button", each.label, "quiet");
        button.type = "button";
        button.addEventListener("click", () => choose(each.id));
        list.append(button);
      }
      parts.push(list);
    }
    if (about.length) {
      const list = make("ul", "", "told");
      for (const each of about.slice(0, 30)) { const item = make("li"); item.append(link(each.label, `/memories/${encodeURIComponent(each.id)}`)); list.append(item); }
      parts.push(list);
      if (about.length > 30) parts.push(make("p", `and ${about.length - 30} more`, "small soft"));
    }
    const box = $("#node");
    box.replaceChildren(...parts);
    box.hidden = false;
  };

  const find = (words) => {
    const sought = words.trim().toLowerCase();
    for (const row of $$(".known li:has(> .name)")) {
      row.hidden = !$(".name", row).textContent.toLowerCase().includes(sought);
      if (sought && !row.hidden) for (let fold = row.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    }
  };

  doings["graph-in"] = () => cy?.zoom({ level: cy.zoom() * 1.35, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  doings["graph-out"] = () => cy?.zoom({ level: cy.zoom() / 1.35, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  doings["graph-all"] = () => { if (cy) { whole(); labels(); } };
  doings["graph-show"] = (element) => { choose(element.dataset.node); $("#graph").scrollIntoView({ block: "nearest" }); };

  const begin = async () => {
    const box = $("#graph");
    if (!box || box.dataset.begun) return;
    box.dataset.begun = "yes";
    const { ok, value } = await call("GET", box.dataset.from);
    if (!ok) { say(told(value), { bad: true }); return; }
    all = value;
    choose(wanted || box.dataset.chosen);
  };

  document.addEventListener("input", (event) => { if (event.target.id === "find") find(event.target.value); });
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "find" || event.key !== "Enter") return;
    const sought = event.target.value.trim().toLowerCase();
    const best = all.nodes.find((each) => each.label.toLowerCase() === sought) || all.nodes.find((each) => sought && each.label.toLowerCase().includes(sought));
    if (best) choose(best.id);
  });
  document.addEventListener("htmx:after:swap", begin);
  new MutationObserver(() => { if (cy) { cy.style(style()); labels(); } }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (cy) { cy.style(style()); labels(); } });
  begin();
})();
