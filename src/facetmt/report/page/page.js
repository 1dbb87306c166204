"use strict";
/* Draws the charts of the page from its data, and lets the reader search, sort and switch. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  // ---- arrays: each is stored once, as bytes -----------------------------------------------
  const views = { Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Uint8Array, Uint16Array, Uint32Array };
  const arrays = data.arrays.map(([kind, text]) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new views[kind](bytes.buffer);
  });
  const unpack = (value) => {
    if (Array.isArray(value)) return value.map(unpack);
    if (value === null || typeof value !== "object") return value;
    if ("array" in value && Object.keys(value).length === 1) return arrays[value.array];
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpack(item)]));
  };
  const charts = unpack(data.charts); // id -> one figure, or one per run
  const facets = data.facets; // [{name, share, size, bleu, gain}]

  // ---- what the reader chose; kept across reloads ------------------------------------------
  const memory = "facetmt " + document.title;
  const state = { run: data.run, search: "", top: facets.length > 20 ? "10" : "all", sort: "share", axis: "step" };
  try {
    Object.assign(state, JSON.parse(sessionStorage.getItem(memory) || "{}"));
  } catch (error) {
    /* browsers may forbid storage for files; then a reload starts over */
  }
  if (state.run >= data.runs.length) state.run = data.run;
  const hidden = {}; // chart id -> labels that the reader hid
  const remember = () => {
    try {
      sessionStorage.setItem(memory, JSON.stringify(state));
    } catch (error) {
      /* as above */
    }
  };

  // ---- which facets are shown, in which order ----------------------------------------------
  const order = () => {
    const key = state.sort;
    const value = (facet) => (facet[key] === null ? -Infinity : facet[key]);
    const compare = key === "name" ? (a, b) => a.name.localeCompare(b.name) : (a, b) => value(b) - value(a);
    return facets.slice().sort(compare).map((facet) => facet.name);
  };
  const shown = () => {
    const wanted = state.search.trim().toLowerCase().split(/[\s,]+/).filter(Boolean);
    if (wanted.length) return order().filter((name) => wanted.some((part) => name.toLowerCase().includes(part)));
    return state.top === "all" ? order() : order().slice(0, Number(state.top));
  };

  // ---- colours follow the page -------------------------------------------------------------
  const theme = () => {
    const style = getComputedStyle(document.body);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line"), linecolor: colour("--line"), automargin: true };
    return {
      ink: colour("--ink"),
      axis,
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { family: style.fontFamily, size: 12, color: colour("--soft") },
        modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") },
        hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      },
    };
  };

  // ---- from the stored figure to the figure on the screen ---------------------------------
  const hours = data.seconds > 2 * 3600;
  const timeTitle = hours ? "hours of wall-clock" : "minutes of wall-clock";
  const inTime = (seconds) => Array.from(seconds, (second) => second / (hours ? 3600 : 60));

  const mean = (values) => {
    const known = values.filter((value) => Number.isFinite(value));
    return known.length ? known.reduce((total, value) => total + value, 0) / known.length : null;
  };
  const otherLabel = (count) => (count === 1 ? "1 other" : `mean of ${count} others`);

  const facetLines = (traces, names) => {
    const place = new Map(names.map((name, index) => [name, index]));
    const kept = traces.filter((trace) => place.has(trace.meta.facet));
    const rest = traces.filter((trace) => !place.has(trace.meta.facet));
    kept.sort((a, b) => place.get(a.meta.facet) - place.get(b.meta.facet));
    if (!rest.length || state.search.trim()) return kept;
    const label = otherLabel(rest.length);
    const line = { color: "#b0b7bf", width: 1.5, dash: "dot" };
    const y = Array.from(rest[0].y, (_, place) => mean(rest.map((trace) => trace.y[place])));
    return [...kept, { ...rest[0], y, name: label, line, meta: { ...rest[0].meta, label } }];
  };
  const facetBars = (trace, names) => {
    const known = new Map(trace.meta.bars.map((name, index) => [name, index]));
    const kept = names.filter((name) => known.has(name));
    const chosen = new Set(kept);
    const rest = trace.meta.bars.map((name, index) => index).filter((index) => !chosen.has(trace.meta.bars[index]));
    const x = kept.map((name) => trace.x[known.get(name)]);
    const y = kept.map((name) => trace.y[known.get(name)]);
    if (rest.length && !state.search.trim()) {
      x.push(otherLabel(rest.length));
      y.push(mean(rest.map((index) => trace.y[index])));
    }
    return { ...trace, x, y };
  };

  const view = (figure, colours) => {
    const names = shown();
    const lines = facetLines(figure.data.filter((trace) => trace.meta && trace.meta.facet !== undefined), names);
    const others = figure.data.filter((trace) => !trace.meta || trace.meta.facet === undefined);
    const timed = state.axis === "time" && figure.data.some((trace) => trace.meta && trace.meta.seconds);
    const traces = [...others, ...lines].map((trace) => {
      let drawn = trace.meta && trace.meta.bars ? facetBars(trace, names) : { ...trace };
      if (timed && trace.meta && trace.meta.seconds) drawn = { ...drawn, x: inTime(trace.meta.seconds) };
      if (trace.meta && trace.meta.ink) drawn.marker = { ...drawn.marker, color: colours.ink };
      drawn.showlegend = false;
      return drawn;
    });
    const layout = {
      ...figure.layout,
      ...colours.layout,
      xaxis: { ...figure.layout.xaxis, ...colours.axis },
      yaxis: { ...figure.layout.yaxis, ...colours.axis },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    };
    if (timed) layout.xaxis.title = { text: timeTitle };
    if (figure.data.some((trace) => trace.meta && trace.meta.bars)) layout.xaxis.type = "category";
    return { traces, layout };
  };

  // ---- charts and their legends ------------------------------------------------------------
  const figureOf = (id) => (Array.isArray(charts[id]) ? charts[id][state.run] : charts[id]);
  const swatch = (trace) => (trace.line && trace.line.color) || (trace.marker && trace.marker.color) || "#b0b7bf";

  const legend = (box, id, traces) => {
    const gone = (hidden[id] = hidden[id] || new Set());
    box.replaceChildren();
    if (traces.length < 2) return;
    for (const trace of traces) {
      const label = trace.meta.label;
      const button = document.createElement("button");
      const dot = document.createElement("i");
      const marks = trace.mode === "markers";
      dot.className = marks ? "mark" : trace.line && trace.line.dash && trace.line.dash !== "solid" ? "dashed" : "";
      if (marks) dot.textContent = { "line-ew-open": "–", "diamond-open": "◇", "circle-open": "○" }[trace.marker.symbol];
      dot.style.color = swatch(trace);
      button.type = "button";
      button.append(dot, label);
      button.setAttribute("aria-pressed", String(!gone.has(label)));
      button.addEventListener("click", () => {
        if (gone.has(label)) gone.delete(label);
        else gone.add(label);
        draw(id);
      });
      box.append(button);
    }
  };

  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["toImage", "resetScale2d"]],
    toImageButtonOptions: { format: "svg", filename: "facetmt" },
  };
  const draw = (id) => {
    const box = document.querySelector(`[data-chart="${id}"]`);
    const figure = figureOf(id);
    const plot = box.querySelector(".plot");
    box.classList.toggle("empty", !figure);
    if (!figure) {
      Plotly.purge(plot);
      legend(box.querySelector(".legend"), id, []);
      return undefined;
    }
    const { traces, layout } = view(figure, theme());
    legend(box.querySelector(".legend"), id, traces);
    // a printed page has another width, and printing does not wait for plotly to resize
    if (document.body.classList.contains("printing")) Object.assign(layout, { width: plot.clientWidth, height: plot.clientHeight });
    const visible = traces.filter((trace) => !(trace.meta && hidden[id].has(trace.meta.label)));
    return Plotly.react(plot, visible, layout, config);
  };

  // ---- tables ------------------------------------------------------------------------------
  const filterRows = () => {
    const names = new Set(shown());
    all("[data-facet]").forEach((row) => row.classList.toggle("away", !names.has(row.dataset.facet)));
    const missing = facets.length - names.size;
    all(".more").forEach((line) => {
      line.textContent = missing ? `${names.size} of ${facets.length} facets shown.` : "";
    });
  };
  const sortRows = (header) => {
    const table = header.closest("table");
    const column = Array.from(header.parentElement.children).indexOf(header);
    const down = header.getAttribute("aria-sort") !== "descending";
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.children[column];
      return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent;
    };
    const rows = all("tbody tr[data-facet]", table);
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -order : order;
    });
    rows.forEach((row) => row.parentElement.append(row));
  };

  // ---- everything at once ------------------------------------------------------------------
  const ids = all("[data-chart]").map((box) => box.dataset.chart);
  const refresh = () => {
    all("[data-run-panel]").forEach((panel) => {
      panel.hidden = Number(panel.dataset.runPanel) !== state.run;
    });
    all("[data-run]").forEach((tab) => tab.setAttribute("aria-pressed", String(Number(tab.dataset.run) === state.run)));
    all("[data-axis]").forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.axis === state.axis)));
    all(".run-name").forEach((place) => (place.textContent = data.runs[state.run]));
    filterRows();
    return Promise.all(ids.map(draw));
  };
  const choose = (key, value) => {
    state[key] = value;
    remember();
    return refresh();
  };

  all("[data-run]").forEach((tab) => tab.addEventListener("click", () => choose("run", Number(tab.dataset.run))));
  all("[data-axis]").forEach((tab) => tab.addEventListener("click", () => choose("axis", tab.dataset.axis)));
  for (const key of ["search", "top", "sort"]) {
    const field = byId(key);
    if (!field) continue;
    field.value = state[key];
    field.addEventListener("input", () => choose(key, field.value));
  }
  all("th[data-sort]").forEach((header) => {
    header.tabIndex = 0;
    header.addEventListener("click", () => sortRows(header));
    header.addEventListener("keydown", (event) => event.key === "Enter" && sortRows(header));
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
  const print = (on) => {
    document.body.classList.toggle("printing", on);
    refresh();
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  refresh().then(() => document.body.classList.add("drawn"));

  // ---- a live page checks for news ---------------------------------------------------------
  if (data.reload) {
    const served = location.protocol.startsWith("http");
    const changed = async () => {
      if (document.hidden) return false;
      if (!served) return true;
      try {
        const answer = await fetch("/", { cache: "no-cache" });
        const tag = answer.headers.get("ETag");
        return answer.ok && tag !== null && tag !== data.tag;
      } catch (error) {
        return false; // the server was stopped; the page stays as it is
      }
    };
    const look = async () => {
      if (await changed()) location.reload();
      else setTimeout(look, data.reload * 1000);
    };
    setTimeout(look, data.reload * 1000);
  }
})();
