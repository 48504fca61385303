// What the page says: how far the work is, what is wrong, and the answer as it comes in parts.
import { remember } from "./history.js";

const find = (id) => document.getElementById(id);
const RESULTS = ["verification", "ranking", "rolled", "clustering", "contrast", "search_result"];
let links = []; // to what can be downloaded, to be given back

export function say(text) {
  find("status").textContent = text;
}

export function showProblem(message, field) {
  const box = find("problem");
  const title = document.createElement("h2");
  title.textContent = "This cannot be answered yet";
  const text = document.createElement("p");
  const capital = /^[a-z]+ /.test(message) ? message[0].toUpperCase() + message.slice(1) : message; // no file's name
  text.textContent = capital + (/[.!?]$/.test(message) ? "" : ".");
  box.replaceChildren(title, text);
  if (field) {
    field.setAttribute("aria-invalid", "true");
    const go = document.createElement("a");
    go.href = `#${field.id}`;
    go.textContent = "Go to the field";
    go.addEventListener("click", (event) => {
      event.preventDefault();
      field.focus();
    });
    const line = document.createElement("p");
    line.append(go);
    box.append(line);
  }
  box.focus();
  box.scrollIntoView({ block: "start" });
}

export function clearProblem() {
  find("problem").replaceChildren();
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

export function clearAnswer() {
  for (const link of links) URL.revokeObjectURL(link);
  links = [];
  find("answer").replaceChildren();
  find("evidence").replaceChildren();
}

// An answer that is kept in the browser: without its downloads, and what else was made with it.
export function showAgain(html) {
  clearAnswer();
  showVerdict(html);
  if (find("report-part")) find("report-part").hidden = true;
}

function showVerdict(html) {
  find("answer").innerHTML = html; // of our server, which has escaped what is not its own
  document.title = "Result – AdHominem";
  const heading = find("result");
  heading.focus({ preventScroll: true });
  const { top } = heading.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) heading.scrollIntoView({ block: "start" });
}

export function show(event) {
  if (event.error) throw new Error(event.error.message);
  if (event.doing) {
    say(`${event.doing} …`);
    if (event.progress) find("progress").value = event.progress;
    else find("progress").removeAttribute("value");
  }
  if (event.verdict) {
    showVerdict(event.verdict);
    for (const name of RESULTS) {
      if (event[name]) offer(`${name}.json`, "application/json", JSON.stringify(event[name], null, 2));
    }
    find("report-part")?.removeAttribute("hidden");
    remember(event.verdict, find("answer").querySelector("[data-label]")?.dataset.label ?? "");
  }
  if (event.unexplained) {
    const why = document.createElement("p");
    why.className = "problem";
    why.setAttribute("role", "alert");
    why.textContent = event.unexplained;
    find("evidence").append(why);
  }
  if (event.shown) {
    find("evidence").insertAdjacentHTML("beforeend", event.shown);
    offer("explanation.json", "application/json", JSON.stringify(event.explanation, null, 2));
  }
  if (event.page) offer("page.html", "text/html", event.page);
  if (event.report) {
    find("downloads").querySelector("[download$=html]")?.remove();
    offer("report.html", "text/html", event.report).click();
    say("The report is saved.");
  }
}

function offer(name, type, text) {
  let line = find("downloads");
  if (!line) {
    line = document.createElement("p");
    line.id = "downloads";
    line.className = "downloads";
    line.append("Download:");
    find("answer").append(line);
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = `adhominem-${name}`;
  const labels = { "explanation.json": "explanation as JSON", "page.html": "result as a page", "report.html": "report" };
  link.textContent = labels[name] ?? "result as JSON";
  links.push(link.href);
  line.append(link);
  return link;
}
