// What all plots share: the style of axes, and numbers on them.

const PALETTE = ["#2f7fc1", "#d9722e", "#2a9d74", "#b65fa0", "#c29a1c", "#5aa9d6", "#8a6d5c", "#7a7f87"];

/** An axis of uPlot in the colours of the page. */
function plotAxis(options = {}) {
  const line = { stroke: themeColour("--line"), width: 1 };
  return {
    stroke: themeColour("--ink-soft"), grid: line, ticks: { ...line, size: 4 }, font: "11px system-ui, sans-serif", gap: 4,
    ...options,
  };
}

/** A logarithmic axis: numbers at powers of ten, and at 2 and 5 where there are few of these; unit: of the values. */
function logarithmicAxis(options = {}, unit = 1) {
  const values = (plot, ticks) => {
    const decades = Math.log10(ticks.at(-1) / ticks[0]);
    const every = decades > 14 ? 4 : decades > 7 ? 2 : 1;
    return ticks.map((tick) => {
      if (tick === null) return "";
      const power = Math.floor(Math.log10(tick) + 1e-9);
      const digit = Math.round(tick / 10 ** power);
      const shown = digit === 1 ? power % every === 0 : decades < 2.5 && (digit === 2 || digit === 5);
      return shown ? shortNumber(tick * unit, 2) : "";
    });
  };
  const axis = plotAxis({ values, filter: (_, splits) => splits, ...options });
  // of many decades no lines between the powers of ten
  const powers = (_, splits) => {
    const many = Math.log10(splits.at(-1) / splits[0]) > 5;
    return splits.map((tick) => (many && Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) > 1e-6 ? null : tick));
  };
  return { ...axis, grid: { ...axis.grid, filter: powers }, ticks: { ...axis.ticks, filter: powers } };
}

/** The numbers of an array's column, null where there is none. */
function columnOf(array, c) {
  return Array.from({ length: array.rows }, (_, t) => {
    const value = array.data[t * array.columns + c];
    return Number.isNaN(value) ? null : value;
  });
}
