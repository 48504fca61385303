"use strict";
// Without this script the form works, too: it then waits for a whole page. With it there are several texts a side,
// files that are dropped, progress, and an answer that comes in parts. It keeps the token nowhere but in its field.
(() => {
  const find = (id) => document.getElementById(id);
  const form = find("compare");
  const chosen = new Map(); // files, by side
  const reportForm = find("report-form");
  let compared = null; // the form that was compared last
  let running = null; // to stop it
  let links = []; // to what can be downloaded, to be given back

  if (find("token")) {
    find("token").closest("p").hidden = false;
    find("token-password").hidden = true; // without a script, the browser asks for it
  }

  // Several texts, and files, a side
  function setUp(side) {
    const name = side.dataset.side;
    const input = side.querySelector("input[type=file]");
    const list = side.querySelector(".files");
    const texts = side.querySelector(".texts");
    chosen.set(side, []);

    const count = () => {
      const words = [...texts.querySelectorAll("textarea")].map((each) => each.value.trim().split(/\s+/).filter(Boolean).length);
      const all = words.reduce((sum, each) => sum + each, 0);
      const number = all.toLocaleString("en");
      find(`${name}-count`).textContent = all ? `${number} ${all === 1 ? "word" : "words"}` : "";
    };

    const showFiles = () => {
      list.replaceChildren(
        ...chosen.get(side).map((file, at) => {
          const row = document.createElement("li");
          const label = document.createElement("span");
          label.textContent = `${file.name}, ${Math.max(1, Math.round(file.size / 1000)).toLocaleString("en")} kB`;
          const remove = document.createElement("button");
          remove.type = "button";
          remove.className = "plain";
          remove.textContent = "Remove";
          remove.setAttribute("aria-label", `Remove ${file.name}`);
          remove.addEventListener("click", () => {
            chosen.get(side).splice(at, 1);
            showFiles();
            input.focus();
          });
          row.append(label, remove);
          return row;
        }),
      );
    };

    const take = (files) => {
      if (!files.length) return;
      chosen.get(side).push(...files);
      showFiles();
      say(`${files.length === 1 ? files[0].name : `${files.length} files`} added to ${side.dataset.called}.`);
    };

    const addText = () => {
      const number = texts.children.length + 1;
      const text = texts.firstElementChild.cloneNode(true);
      const area = text.querySelector("textarea");
      const label = text.querySelector("label");
      area.id = `${name}-text-${number}`;
      area.value = "";
      area.rows = 6;
      area.removeAttribute("aria-invalid");
      label.htmlFor = area.id;
      label.textContent = `Another text by the same person`;
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "plain";
      remove.textContent = "Remove this text";
      remove.addEventListener("click", () => {
        text.remove();
        count();
        side.querySelector("[data-add]").focus();
      });
      text.append(remove);
      texts.append(text);
      area.focus();
    };

    input.addEventListener("change", () => {
      take([...input.files]);
      input.value = ""; // they are in the list now, and can be chosen again
    });
    side.querySelector("[data-add]")?.addEventListener("click", addText);
    side.querySelector(".more")?.removeAttribute("hidden");
    side.classList.add("listed"); // by us: what the browser says of chosen files is no longer true
    texts.addEventListener("input", count);
    const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
    side.addEventListener("dragover", (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      side.classList.add("over");
    });
    side.addEventListener("dragleave", (event) => {
      if (!side.contains(event.relatedTarget)) side.classList.remove("over");
    });
    side.addEventListener("drop", (event) => {
      side.classList.remove("over");
      if (!holdsFiles(event)) return;
      event.preventDefault();
      take([...event.dataTransfer.files]);
    });
    count();
    side.addEventListener("adhominem:filled", count);
    side.addEventListener("adhominem:files", (event) => take(event.detail));
  }
  const allSides = () => [...form.querySelectorAll("fieldset.side")];
  allSides().forEach(setUp);

  // Candidates: more of them, fewer, or all in a folder
  const candidates = find("candidates");
  const isEmpty = (side) =>
    !chosen.get(side).length && ![...side.querySelectorAll("textarea, [name$=_name]")].some((field) => field.value.trim());
  let numbered = candidates ? candidates.children.length : 0;

  function addCandidate() {
    numbered += 1;
    const made = document.createElement("div");
    made.innerHTML = find("new-candidate").innerHTML.replaceAll("andidate0", `andidate${numbered}`).replaceAll("andidate 0", `andidate ${numbered}`);
    const side = made.firstElementChild;
    candidates.append(side);
    setUpCandidate(side);
    return side;
  }

  function setUpCandidate(side) {
    if (!chosen.has(side)) setUp(side);
    side.querySelector("[data-remove-candidate]").addEventListener("click", () => {
      chosen.delete(side);
      side.remove();
      find("add-candidate").focus();
      say(`${side.querySelector("legend").textContent} is removed.`);
    });
  }

  if (candidates) {
    [...candidates.children].forEach(setUpCandidate);
    find("more-candidates").hidden = false;
    find("add-candidate").addEventListener("click", () => addCandidate().querySelector("[name$=_name]").focus());
    const folder = find("candidate-folder");
    folder.addEventListener("change", () => {
      const readable = /\.(txt|md|docx|pdf|odt)$/i;
      const byName = new Map();
      for (const file of folder.files) {
        const path = file.webkitRelativePath.split("/");
        if (path.length < 3 || !readable.test(file.name) || file.name.startsWith(".")) continue;
        const name = path[path.length - 2];
        byName.set(name, [...(byName.get(name) ?? []), file]);
      }
      folder.value = "";
      for (const [name, files] of byName) {
        const side = [...candidates.children].find(isEmpty) ?? addCandidate();
        side.querySelector("[name$=_name]").value = name;
        side.dispatchEvent(new CustomEvent("adhominem:files", { detail: files }));
      }
      say(byName.size ? `${byName.size} candidates added.` : "There is no folder with texts in this folder.");
    });
  }
  // A file that misses its mark is not to take the place of the page.
  for (const kind of ["dragover", "drop"]) {
    addEventListener(kind, (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
  }

  // The prior: a slider beside the number
  const slider = find("prior-slider");
  const prior = find("prior");
  if (slider) {
    slider.hidden = false;
    slider.addEventListener("input", () => (prior.value = slider.value));
    prior.addEventListener("input", () => (slider.value = prior.value));
  }

  // Examples, without losing what else is in the form
  for (const link of document.querySelectorAll("[data-example]")) {
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      const page = await (await fetch(link.href)).text();
      const example = new DOMParser().parseFromString(page, "text/html");
      for (const name of ["first", "second"]) {
        find(`${name}-text`).value = example.getElementById(`${name}-text`).value;
        const side = find(`${name}-side`);
        chosen.set(side, []);
        side.querySelector(".files").replaceChildren();
        for (const more of [...side.querySelectorAll(".text")].slice(1)) more.remove();
        side.dispatchEvent(new Event("adhominem:filled"));
      }
      say("The example is in the form.");
      find("submit").focus();
    });
  }

  function say(text) {
    find("status").textContent = text;
  }

  function showProblem(message, field) {
    const box = find("problem");
    const title = document.createElement("h2");
    title.textContent = "Please look again";
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

  function clearProblem() {
    find("problem").replaceChildren();
    for (const each of form.querySelectorAll("[aria-invalid]")) each.removeAttribute("aria-invalid");
  }

  // What is missing, before anything is sent
  function problemOf(data) {
    for (const side of form.querySelectorAll("[data-required]")) {
      const text = side.querySelector("textarea");
      const pasted = data.getAll(text.name).some((value) => value.trim());
      const called = side.dataset.called;
      if (!pasted && !chosen.get(side).length) return [`${called[0].toUpperCase()}${called.slice(1)} has no text`, text];
    }
    const filled = candidates ? [...candidates.children].filter((side) => !isEmpty(side)) : [];
    for (const side of filled) {
      const text = side.querySelector("textarea");
      if (!data.getAll(text.name).some((value) => value.trim()) && !chosen.get(side).length) {
        return [`${side.querySelector("legend").textContent} has no text`, text];
      }
    }
    if (candidates && filled.length < Number(candidates.dataset.fewest)) {
      return ["There are fewer than two candidates; give texts of two or more", candidates.querySelector("textarea")];
    }
    if (prior) {
      const value = prior.value.trim() ? Number(prior.value) : NaN;
      const isHigh = prior.min === "0" ? value >= 0 : value > 0;
      if (!(isHigh && value < 1)) return ["The prior is a probability: a number between 0 and 1", prior];
    }
    const sizes = [...data.values()].map((each) => (typeof each === "string" ? each.length : each.size));
    const most = Number(form.dataset.mostBytes);
    if (sizes.reduce((sum, each) => sum + each, 0) > most) {
      return [`All texts together have more than ${(most / 1e6).toFixed(0)} MB, which is more than the server takes`];
    }
    const token = find("token");
    if (token && !token.value) return ["The server wants its token", token];
    return null;
  }

  async function ask(data, signal) {
    const headers = { Accept: "application/x-ndjson" };
    if (find("token")) {
      // A header holds bytes: those of the token in UTF-8, as the server expects them.
      const bytes = new TextEncoder().encode(find("token").value);
      headers.Authorization = `Bearer ${String.fromCharCode(...bytes)}`;
    }
    const response = await fetch(form.getAttribute("action"), { method: "POST", body: data, headers, signal });
    if (!response.ok) throw new Error((await response.json()).error.message);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) show(JSON.parse(line));
    }
  }

  function show(event) {
    if (event.error) throw new Error(event.error.message);
    if (event.doing) {
      say(`${event.doing} …`);
      if (event.progress) find("progress").value = event.progress;
      else find("progress").removeAttribute("value");
    }
    if (event.verdict) {
      find("answer").innerHTML = event.verdict; // of our server, which has escaped what is not its own
      document.title = "Result – AdHominem";
      for (const name of ["verification", "ranking", "rolled"]) {
        if (event[name]) offer(`${name}.json`, "application/json", JSON.stringify(event[name], null, 2));
      }
      if (reportForm) reportForm.hidden = false;
      find("result").focus({ preventScroll: true });
      find("result").scrollIntoView({ block: "start" });
    }
    if (event.unexplained) {
      const why = document.createElement("p");
      why.className = "problem";
      why.setAttribute("role", "alert");
      why.textContent = event.unexplained;
      find("answer").append(why);
    }
    if (event.shown) {
      find("answer").insertAdjacentHTML("beforeend", event.shown);
      offer("explanation.json", "application/json", JSON.stringify(event.explanation, null, 2));
    }
    if (event.page) offer("page.html", "text/html", event.page);
    if (event.report) {
      find("downloads").querySelector("[download$=html]")?.remove();
      const link = offer("report.html", "text/html", event.report);
      link.click();
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

  function work(busy) {
    find("working").classList.toggle("busy", busy);
    find("progress").hidden = !busy;
    find("progress").removeAttribute("value");
    find("cancel").hidden = !busy;
    find("submit").disabled = busy;
    if (reportForm) find("make-report").disabled = busy;
  }

  // Sends a form, and shows what comes back until it is done, stopped or refused.
  async function run(data) {
    clearProblem();
    work(true);
    say("Sending …");
    running = new AbortController();
    try {
      await ask(data, running.signal);
      say("Done.");
    } catch (error) {
      if (error.name === "AbortError") say("Stopped.");
      else {
        say("");
        showProblem(error instanceof TypeError ? "The server cannot be reached; is it still running?" : error.message);
      }
    } finally {
      running = null;
      work(false);
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) return;
    clearProblem();
    const data = new FormData(form);
    for (const side of allSides()) {
      const field = `${side.dataset.side}_file`;
      data.delete(field);
      for (const file of chosen.get(side)) data.append(field, file);
    }
    const problem = problemOf(data);
    if (problem) {
      showProblem(...problem);
      return;
    }
    for (const link of links) URL.revokeObjectURL(link);
    links = [];
    find("answer").replaceChildren();
    if (reportForm) reportForm.hidden = true;
    compared = data;
    run(data);
  });

  // The report is of what was compared, whatever stands in the form by now.
  reportForm?.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running || !compared) return;
    const data = new FormData();
    for (const [name, value] of compared) data.append(name, value);
    for (const [name, value] of new FormData(reportForm)) data.append(name, value);
    data.append("report", "yes");
    run(data);
  });

  find("cancel").addEventListener("click", () => {
    running?.abort();
    find("submit").disabled = false;
    find("submit").focus();
  });
})();
