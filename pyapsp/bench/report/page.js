"use strict";

// A cell's number, or its text; null when there is nothing in it.
function valueOf(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value === undefined) return cell.textContent || null;
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

// What is missing comes last in either direction; equal rows keep their order.
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number") return sign * (a - b);
  return sign * a.localeCompare(b, "en", { numeric: true });
}

function sortBy(table, column) {
  const heading = table.tHead.rows[0].cells[column];
  const descending = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column), descending ? -1 : 1));
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, column));
    heading.append(button);
  });
}

// A row stays if it has every word.
for (const field of document.querySelectorAll(".filter")) {
  const input = field.querySelector("input");
  const rows = [...document.getElementById(input.dataset.table).tBodies[0].rows];
  const texts = new Map(
    rows.map((row) => [row, [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase()]),
  );
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => texts.get(row).includes(word));
    const left = rows.filter((row) => !row.hidden).length;
    field.querySelector("output").textContent = `${left} of ${rows.length}`;
  });
  field.hidden = false;
}

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// The rows that are shown, in their order, with the text of their cells.
function csvOf(table) {
  const rows = [...table.rows].filter((row) => !row.hidden);
  const quoted = (cell) => `"${cell.textContent.replaceAll('"', '""')}"`;
  return rows.map((row) => `${[...row.cells].map(quoted).join(",")}\r\n`).join("");
}

// A figure, with the text that it has on the page, or a table as a file.
for (const button of document.querySelectorAll("button.save")) {
  button.addEventListener("click", () => {
    const name = button.dataset.table;
    if (name) {
      save(`${name}.csv`, csvOf(document.getElementById(name)), "text/csv");
    } else {
      const figure = button.closest("figure").querySelector("svg");
      const text = new XMLSerializer().serializeToString(figure);
      save(button.dataset.name, text, "image/svg+xml");
    }
  });
  button.hidden = false;
}

// What is wider than its box says so.
const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth;
  }
});
for (const box of document.querySelectorAll(".wide")) boxes.observe(box);
