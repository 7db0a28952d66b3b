// Puts the page to work.

inputs.query.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(refresh, 150);
});
for (const name of ["model", "outcome", "silent"]) inputs[name].addEventListener("change", refresh);
inputs.test.addEventListener("change", () => {
  fillTests();
  refresh();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("reset").addEventListener("click", () => resetFilters());
byId("more").addEventListener("click", () => renderMore());
byId("toggle-all").addEventListener("click", (event) => {
  allOpen = !allOpen;
  groups.forEach((group) => { group.open = allOpen; });
  event.target.textContent = allOpen ? "Close all" : "Open all";
  refresh();
});
new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting) && rendered < listed.length) renderMore();
}, { rootMargin: "600px" }).observe(byId("more"));
addEventListener("hashchange", showLinked);

fillHead();
fillGrids();
fillFilters();
resetFilters();
showLinked();
document.documentElement.dataset.ready = "true";
