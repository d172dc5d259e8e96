/** One request with its error, steps, body and log lines. */
import { empty, getJson, h, json, table, tableRow, time, took, tone } from './elements.js'

export async function drawRequest(number) {
  let one
  try {
    one = await getJson(`/request?number=${encodeURIComponent(number)}`)
  } catch (error) {
    return h('section', {}, h('h2', { tabindex: '-1' }, `Request ${number}`), empty(error.message))
  }
  return drawInspected(one)
}

/** Draws a request once it has ended. */
export async function drawEnded(number) {
  for (;;) {
    const one = await getJson(`/request?number=${encodeURIComponent(number)}`)
    if (one.status !== 0) return drawInspected(one)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function drawInspected(one) {
  const { hints, fault, steps, explained, body, lines, headers } = one
  return h(
    'section',
    {},
    h('h2', { id: 'request', tabindex: '-1' }, `${one.method} ${one.url}`),
    h('p', {}, drawFacts(one)),
    part(hints.length > 0, () =>
      h(
        'ul',
        { class: 'hints' },
        hints.map((hint) => h('li', {}, hint)),
      ),
    ),
    part(fault !== null, () => drawError(fault, one.editor)),
    h('h3', {}, 'Steps'),
    steps.length === 0 ? empty('No step was recorded.') : drawSteps(steps, one.ms || 1),
    part(explained !== null, () => drawExplained(explained)),
    part(body !== undefined && body !== null, () => [h('h3', {}, 'Body'), drawBody(body)]),
    part(lines.length > 0, () => [h('h3', {}, 'Logged'), drawLines(lines)]),
    h('details', {}, h('summary', {}, 'Headers of the request'), json(headers)),
  )
}

const part = (isPresent, draw) => (isPresent ? draw() : undefined)

/** A live connection is one response, which lasts. */
export const statusText = (status, live) =>
  live ? (status === 0 ? 'live' : `live, ${status}`) : status === 0 ? '…' : String(status)

function drawFacts({ status, ms, bytes, caller, handler, live, time: begun }) {
  const callers = caller === null ? 'without a token' : `as ${caller}`
  return [
    h('b', { class: tone(status) }, statusText(status, live)),
    status === 0 && live
      ? ` open since ${time(begun)}: a live query, which sends events until the client leaves, `
      : ` ${live ? 'open for' : 'in'} ${took(ms)}, ${bytes} bytes, `,
    caller === 'key' ? 'by the static key' : callers,
    handler === null ? '' : ` → ${handler}`,
  ]
}

/** The document of an operation is easier to read by itself. */
function drawBody(body) {
  if (typeof body.query !== 'string') return json(body)
  const { query, ...rest } = body
  return [json(query), Object.keys(rest).length === 0 ? undefined : json(rest)]
}

function drawLines(lines) {
  return h(
    'ul',
    {},
    lines.map(({ level, message, details }) =>
      h(
        'li',
        {},
        h('span', { class: levelTone(level) }, level),
        ` ${describeLine(message, details)}`,
      ),
    ),
  )
}

/** What happened: the message, the plain details, and the first line of the error. */
export function describeLine(message, details) {
  const { err, requestId: _id, ...rest } = details ?? {}
  const facts = Object.entries(rest)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .filter(([, value]) => !message.split(' ').includes(String(value)))
    .map(([name, value]) => (plainDetails.has(name) ? String(value) : `${name}=${value}`))
  const [error] = String(err?.error ?? err ?? '').split('\n')
  return [message, ...facts].join(' ') + (error === '' ? '' : `: ${error}`)
}

/** Details that are understood without their name. */
const plainDetails = new Set(['method', 'route', 'path', 'url', 'status'])

export const levelTone = (level) => ({ error: 'bad', warn: 'warn', info: 'good' })[level] ?? 'quiet'

function drawError(error, editor) {
  const location = `${error.file}:${error.line}`
  const lines = error.source.map(({ line, text }) => {
    const written = `${String(line).padStart(5)}  ${text}\n`
    return line === error.line ? h('mark', {}, written) : written
  })
  const link =
    editor === null ? location : h('a', { href: editor }, `Open ${location} in the editor`)
  return h(
    'div',
    {},
    h('h3', { class: 'bad' }, `${error.name}: ${error.message}`),
    part(error.file !== null, () => h('p', {}, link)),
    part(lines.length > 0, () => h('pre', { tabindex: '0' }, lines)),
    part(error.stack !== '', () => h('details', {}, h('summary', {}, 'Stack'), json(error.stack))),
  )
}

function drawExplained({ pattern, steps, others }) {
  return [
    h('h3', {}, 'How it is handled'),
    pattern === null ? empty('No route matches.') : h('p', {}, h('code', {}, pattern)),
    part(steps.length > 0, () =>
      table(
        'Steps of the route',
        ['Step', 'What it does'],
        steps.map(({ step, what }) => tableRow([step, [{ class: 'path' }, what]])),
      ),
    ),
    part(pattern === null && others.length > 0, () =>
      table(
        'Similar routes',
        ['Similar route', 'Why it does not match'],
        others.map(({ route, reason }) => tableRow([[{ class: 'path' }, route], reason])),
      ),
    ),
  ]
}

/** Maximum number of bars of a group. */
const maxBars = 100

function drawSteps(steps, duration) {
  return h(
    'ol',
    { class: 'steps' },
    groupSteps(steps).map((group) => drawGroup(group, duration)),
  )
}

/** Equal statements of a step are one group. */
function groupSteps(steps) {
  const groups = new Map()
  for (const step of steps) {
    const key = step.kind === 'statement' ? step.name : step
    groups.set(key, [...(groups.get(key) ?? []), step])
  }
  return [...groups.values()]
}

function drawGroup(group, duration) {
  const [first] = group
  const isRunning = group.some(({ ms }) => ms === null)
  const total = isRunning ? null : group.reduce((sum, { ms }) => sum + ms, 0)
  const head = [
    first.kind === 'statement'
      ? h('code', {}, short(first.name))
      : h('b', {}, `${first.kind === first.name ? '' : `${first.kind} `}${first.name}`),
    ' ',
    h('span', { class: 'quiet' }, took(total)),
    drawMarks(group),
  ]
  const inner = group.flatMap(({ steps }) => steps)
  return h(
    'li',
    { class: 'step' },
    first.kind === 'statement' ? drawStatement(head, group) : h('div', {}, head),
    drawBar(group, duration),
    part(inner.length > 0, () => drawSteps(inner, duration)),
  )
}

function drawMarks(group) {
  const [{ repeats, scans, cost }] = group
  const times = Math.max(group.length, repeats)
  const mark = (tone, text) => h('span', { class: `mark ${tone}` }, text)
  return [
    part(times > 1, () => mark(times >= 3 ? 'warn' : 'quiet', `sent ${times} times`)),
    part(scans.length > 0, () => mark('warn', `reads all of ${scans.join(', ')}`)),
    part(cost !== undefined, () => mark('quiet', `costs ${cost}`)),
    part(
      group.some(({ failed }) => failed),
      () => mark('bad', 'failed'),
    ),
  ]
}

function drawStatement(head, group) {
  const [{ name, plan }] = group
  const times = group.map(({ at, ms }) => `at ${took(at)}: ${took(ms)}`)
  return h(
    'details',
    {},
    h('summary', {}, head),
    json(name),
    part(plan.length > 0, () => json(plan.join('\n'))),
    part(group.length > 1, () => json(times.join('\n'))),
  )
}

function drawBar(group, duration) {
  const bars = group.slice(0, maxBars).map(({ at, ms }) => {
    const bar = h('i')
    bar.style.left = `${Math.min(99, (at / duration) * 100)}%`
    bar.style.width = `${Math.min(100, ((ms ?? 0) / duration) * 100)}%`
    return bar
  })
  return h('span', { class: 'bar' }, bars)
}

const short = (sql) => (sql.length > 120 ? `${sql.slice(0, 120)}…` : sql)
