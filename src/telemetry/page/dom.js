/** An element with attributes and children; a child that is not a node becomes text. */
export function node(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Makes `old` equal to `next` and keeps the elements that stay, so that focus, selection and open details stay too. */
export function morph(old, next) {
  for (const { name, value } of next.attributes)
    if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of old.getAttributeNames())
    if (name !== 'open' && !next.hasAttribute(name)) old.removeAttribute(name);
  const wanted = [...next.childNodes];
  const keys = new Set(wanted.map(keyOf));
  // Removes elements first, so that the others need not move: an element that moves loses the focus.
  const kept = new Map([...old.childNodes].map((child) => [keyOf(child), child]));
  for (const [key, child] of kept) if (key !== undefined && !keys.has(key)) child.remove();
  for (const [at, child] of wanted.entries()) {
    const found = keyOf(child) === undefined ? undefined : kept.get(keyOf(child));
    if (found !== undefined && found !== old.childNodes[at]) old.childNodes[at].before(found);
    const current = old.childNodes[at];
    if (current === undefined) old.append(child);
    else if (current.nodeName !== child.nodeName || keyOf(current) !== keyOf(child)) {
      if (keyOf(child) === undefined) current.replaceWith(child);
      else current.before(child);
    } else if (child.nodeType === Node.ELEMENT_NODE) morph(current, child);
    else if (current.nodeValue !== child.nodeValue) current.nodeValue = child.nodeValue;
  }
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

function keyOf(child) {
  return child?.dataset?.key;
}
