// Elements of the page. What comes from tests and models is put into it as text, never as markup.

const byId = (id) => document.getElementById(id);

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function button(label, action, className = "plain") {
  const element = make("button", className, label);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
}

function option(value, label) {
  const element = make("option", "", label);
  element.value = value;
  return element;
}
