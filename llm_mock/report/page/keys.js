// Moving with the keyboard.

const heads = () => [...document.querySelectorAll("#tests > li > h2 > button")];

function move(step) {
  let all = heads();
  const here = document.activeElement?.closest("#tests > li");
  let position = here ? all.findIndex((head) => here.contains(head)) + step : step > 0 ? 0 : -1;
  if (position >= all.length && rendered < listed.length) {
    renderMore();
    all = heads();
  }
  position = Math.min(Math.max(position, 0), all.length - 1);
  all[position]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inField = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape" && inputs.query.value) {
    inputs.query.value = "";
    refresh();
  } else if (inField && event.target === inputs.query && ["Enter", "ArrowDown"].includes(event.key)) {
    refresh();
    move(1);
  } else if (inField) {
    if (event.key === "Escape") event.target.blur();
    return;
  } else if (event.key === "/") inputs.query.focus();
  else if (event.key === "j" || (event.key === "ArrowDown" && event.target.matches?.("#tests h2 > button"))) move(1);
  else if (event.key === "k" || (event.key === "ArrowUp" && event.target.matches?.("#tests h2 > button"))) move(-1);
  else return;
  event.preventDefault();
});
