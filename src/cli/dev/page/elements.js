/** Elements of the development page and its requests for JSON. */
export const base = '/__filigree'
export const main = document.getElementById('content')

/** An element: `h('a', { href }, 'text', …)`. Attributes that are false or undefined are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else element.setAttribute(key, value === true ? '' : value)
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== undefined && child !== null),
  )
  return element
}

export async function getJson(path) {
  return readJson(await fetch(base + path))
}

export async function postJson(path, body) {
  return readJson(
    await fetch(base + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
}

async function readJson(response) {
  const value = await response.json()
  if (!response.ok) throw new Error(value.error)
  return value
}

export const time = (ms) => new Date(ms).toTimeString().slice(0, 8)
export const took = (ms) => (ms === null ? '…' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)
export const tone = (status) => (status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good')
export const json = (value) =>
  h('pre', { tabindex: '0' }, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
export const empty = (text) => h('p', { class: 'quiet' }, text)
/** A cell of a table that is aligned to the right. */
export const right = (text) => [{ class: 'number' }, text]

/** A cell that narrow screens leave out. */
export const roomy = (cell) => {
  const [attributes, content] = Array.isArray(cell) ? cell : [{}, cell]
  return [{ ...attributes, class: `roomy ${attributes.class ?? ''}`.trim() }, content]
}

/** A row of a table. Cells are texts, elements, or `[attributes, content]`. */
export function tableRow(cells, attributes = {}) {
  return h('tr', attributes, cells.map(toCell('td')))
}

/** A table in a region with a label, which scrolls. */
export function table(label, heads, rows) {
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    h('table', {}, h('thead', {}, h('tr', {}, heads.map(toCell('th')))), h('tbody', {}, rows)),
  )
}

const toCell = (name) => (content) =>
  Array.isArray(content) ? h(name, content[0], content[1]) : h(name, {}, content)

/** A select. The empty value is shown as `all`. */
export function select(values, value, onChange, labelOf = (one) => one) {
  const element = h(
    'select',
    { onchange: () => onChange(element.value) },
    values.map((one) => h('option', { value: one }, one === '' ? 'all' : labelOf(one))),
  )
  element.value = value
  return element
}

/** A section with the heading of a view. */
export function section(title, ...children) {
  return h('section', {}, h('h2', { id: 'view' }, title), children)
}

/** Shows a view. A refresh does not replace open details, or an input that has the focus. */
export function show(content, isNew) {
  const { activeElement } = document
  const isUsed = main.contains(activeElement) && activeElement !== main
  if (!isNew && isUsed) {
    if (activeElement.matches('input, textarea, select') || main.querySelector('details[open]'))
      return
  }
  main.replaceChildren(content)
}
