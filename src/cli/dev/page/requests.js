/** The view of the requests: a list with filters, and the selected request next to it. */
import {
  empty,
  getJson,
  h,
  main,
  postJson,
  right,
  roomy,
  select,
  table,
  tableRow,
  time,
  took,
  tone,
} from './elements.js'
import { drawRequest, statusText } from './request.js'

const filter = { status: '', path: '', text: '', showsAll: false }
/** On narrow screens the selected request replaces the list. */
const isNarrow = matchMedia('(max-width: 61.99rem)')

let view
/** The drawn rows and request as JSON, to notice changes. */
let drawn = { rows: '', request: '' }
let selected
let listScroll = 0

/** @param number of the selected request, if any */
export async function drawRequests(number) {
  if (view === undefined || !main.contains(view.root)) {
    view = createView()
    drawn = { rows: '', request: '' }
    selected = undefined
    main.replaceChildren(view.root)
  }
  const { text } = filter
  const query = text === '' ? '' : `?text=${encodeURIComponent(text)}`
  const requests = (await getJson(`/requests${query}`)).reverse()
  // The text of the filter has changed meanwhile.
  if (text !== filter.text) return
  drawRows(requests, number)
  await drawSelected(requests, number)
}

function createView() {
  const status = select(
    ['', '2', '3', '4', '5'],
    filter.status,
    (value) => change({ status: value }),
    (one) => `${one}00 to ${one}99`,
  )
  const path = h('input', { type: 'search', oninput: () => change({ path: path.value }) })
  const text = h('input', { type: 'search', oninput: () => change({ text: text.value }) })
  const all = h('input', { type: 'checkbox', onchange: () => change({ showsAll: all.checked }) })
  path.value = filter.path
  text.value = filter.text
  all.checked = filter.showsAll
  const list = table(
    'Requests',
    [roomy('Time'), 'Request', right('Status'), right('Time taken'), roomy(right('Statements'))],
    [],
  )
  const count = empty('')
  const detail = h('div', { class: 'detail' })
  const root = h(
    'div',
    { class: 'split' },
    h(
      'section',
      { class: 'list' },
      h('h2', { id: 'view' }, 'Requests'),
      h(
        'div',
        { class: 'tools' },
        h('label', {}, 'Status', status),
        h('label', {}, 'Path', path),
        h('label', {}, 'Text in SQL, log, body or error', text),
        h('label', { class: 'choice' }, all, 'Assets and framework pages'),
        h('button', { type: 'button', onclick: forget }, 'Forget all'),
      ),
      count,
      list,
    ),
    detail,
  )
  return { root, list, rows: list.querySelector('tbody'), cachedRows: new Map(), count, detail }
}

function change(values) {
  Object.assign(filter, values)
  void drawRequests(selected).catch(() => undefined)
}

async function forget() {
  await postJson('/forget', {})
  location.hash = '#requests'
  await drawRequests()
}

/** Failed requests are always visible. */
function isVisible({ kind, status, url, route, method }) {
  const path = filter.path.toLowerCase()
  return (
    (filter.showsAll || kind === 'application' || status >= 500) &&
    (filter.status === '' || String(status)[0] === filter.status) &&
    `${method} ${url} ${route ?? ''}`.toLowerCase().includes(path)
  )
}

function drawRows(requests, number) {
  const visible = requests.filter(isVisible)
  const text = JSON.stringify([visible, requests.length, number])
  if (text === drawn.rows) return
  drawn.rows = text
  const hidden = requests.length - visible.length
  const { list, count } = view
  count.textContent =
    requests.length === 0
      ? 'No request yet. Send one, for example from Routes.'
      : `${visible.length} shown, ${hidden} hidden`
  list.hidden = visible.length === 0
  keepRowPosition(() => updateRows(visible, number))
}

/** Changes only rows that differ, so that the focus stays in unchanged rows. */
function updateRows(visible, number) {
  const { rows, cachedRows } = view
  let next = rows.firstChild
  for (const one of visible) {
    const text = JSON.stringify(one)
    const cached = cachedRows.get(one.number)
    const row = cached?.text === text ? cached.row : drawRow(one)
    cachedRows.set(one.number, { text, row })
    row.toggleAttribute('aria-current', false)
    if (String(one.number) === number) row.setAttribute('aria-current', 'true')
    if (row === next) next = next.nextSibling
    else rows.insertBefore(row, next)
  }
  while (next !== null) {
    const removed = next
    next = next.nextSibling
    removed.remove()
  }
}

function drawRow({ number, time: begun, method, url, status, ms, live, statements }) {
  return tableRow([
    roomy(time(begun)),
    [{ class: 'path' }, h('a', { href: `#requests/${number}` }, `${method} ${url}`)],
    [{ class: `number ${tone(status)}` }, statusText(status, live)],
    right(status === 0 && live ? 'open' : took(ms)),
    roomy(right(String(statements))),
  ])
}

const linkTo = (hash) => view.rows.querySelector(`a[href="${CSS.escape(hash)}"]`) ?? undefined

async function drawSelected(requests, number) {
  const isNew = number !== selected
  const summary = JSON.stringify(requests.find((one) => String(one.number) === number) ?? null)
  const text = `${number} ${summary}`
  // A filter can hide the selected request, which does not change it.
  if (text === drawn.request || (!isNew && summary === 'null')) return
  drawn.request = text
  if (number === undefined) {
    closeDetail()
    return
  }
  if (selected === undefined && isNarrow.matches) listScroll = scrollY
  selected = number
  const content = await drawRequest(number)
  if (selected !== number) return
  keepRowPosition(() => {
    view.root.classList.add('open')
    view.detail.replaceChildren(
      h('p', { class: 'back' }, h('a', { href: '#requests' }, 'All requests')),
      content,
    )
  })
  if (!isNew) return
  if (isNarrow.matches) scrollTo(0, 0)
  view.detail.scrollTop = 0
  view.detail.querySelector('h2').focus({ preventScroll: true })
}

function closeDetail() {
  const before = selected
  selected = undefined
  view.root.classList.remove('open')
  view.detail.replaceChildren()
  if (before === undefined) return
  if (isNarrow.matches) scrollTo(0, listScroll)
  linkTo(`#requests/${before}`)?.focus({ preventScroll: true })
}

/**
 * Updates the page without moving the row in view. New rows appear above it, and rows become higher when a request is
 * open.
 */
function keepRowPosition(update) {
  const scroller = isNarrow.matches ? document.scrollingElement : view.list
  const row = scroller.scrollTop === 0 ? undefined : findRowInView()
  const hash = row?.querySelector('a').hash
  const before = row?.getBoundingClientRect().top
  update()
  const after = hash === undefined ? undefined : linkTo(hash)?.closest('tr').getBoundingClientRect()
  if (after !== undefined && after.height > 0) scroller.scrollTop += after.top - before
}

/** The selected row if it is visible, otherwise the first visible one. */
function findRowInView() {
  const { top, bottom } = view.list.getBoundingClientRect()
  const start = Math.max(0, top)
  const end = Math.min(innerHeight, bottom)
  const visible = [...view.rows.children].filter((row) => {
    const box = row.getBoundingClientRect()
    return box.height > 0 && box.bottom > start && box.top < end
  })
  return visible.find((row) => row.matches('[aria-current], :focus-within')) ?? visible[0]
}
