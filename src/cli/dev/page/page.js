/** The development page: loads its JSON every second while it is visible, and draws the view of the URL. */
const base = '/__filigree'
const main = document.getElementById('content')
const state = document.getElementById('state')

/** An element: `h('a', { href }, 'text', …)`. Attributes that are false or undefined are left out. */
function h(name, attributes = {}, ...children) {
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

async function getJson(path) {
  const answer = await fetch(base + path)
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.error)
  return value
}

async function postJson(path, body) {
  const answer = await fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.error)
  return value
}

const time = (ms) => new Date(ms).toTimeString().slice(0, 8)
const took = (ms) => (ms === null ? '…' : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)
const tone = (status) => (status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good')
const json = (value) =>
  h('pre', { tabindex: '0' }, typeof value === 'string' ? value : JSON.stringify(value, null, 2))
const empty = (text) => h('p', { class: 'quiet' }, text)

/** A table with a caption for those who hear it; cells are texts, elements, or `[attributes, content]`. */
function table(label, heads, rows) {
  const cell = (name) => (content) =>
    Array.isArray(content) ? h(name, content[0], content[1]) : h(name, {}, content)
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label },
    h(
      'table',
      {},
      h('thead', {}, h('tr', {}, heads.map(cell('th')))),
      h(
        'tbody',
        {},
        rows.map(({ current, cells }) =>
          h('tr', { 'aria-current': current ? 'true' : undefined }, cells.map(cell('td'))),
        ),
      ),
    ),
  )
}

const right = (text) => [{ class: 'number' }, text]

// --- Requests

let requests = []
let drawnText = ''

async function drawRequests(number) {
  const found = await getJson('/requests')
  // An application that has started again counts from one.
  const text = JSON.stringify([found, number])
  if (text === drawnText) return
  const isNew = !drawnText.endsWith(`,${number ?? 'null'}]`)
  drawnText = text
  requests = found.reverse()
  const list = table(
    'Requests',
    ['Time', 'Request', right('Status'), right('Time taken'), right('Statements')],
    requests.map((one) => ({
      current: String(one.number) === number,
      cells: [
        time(one.time),
        [
          { class: 'path' },
          h('a', { href: `#requests/${one.number}` }, `${one.method} ${one.url}`),
        ],
        [{ class: `number ${tone(one.status)}` }, one.status === 0 ? '…' : String(one.status)],
        right(took(one.ms)),
        right(String(one.statements)),
      ],
    })),
  )
  const tools = h(
    'div',
    { class: 'tools' },
    h('button', { type: 'button', onclick: forget }, 'Forget all'),
  )
  const left = h(
    'section',
    {},
    h('h2', { id: 'view' }, 'Requests'),
    requests.length === 0
      ? empty('No request yet. Send one, for example from Routes.')
      : [tools, list],
  )
  const detail = number === undefined ? undefined : await drawRequest(number)
  show(h('div', { class: `split${detail ? ' open' : ''}` }, left, detail), isNew)
  if (isNew && detail) detail.querySelector('h2').focus()
}

async function forget() {
  await postJson('/forget', {})
  location.hash = '#requests'
  await draw()
}

async function drawRequest(number) {
  let one
  try {
    one = await getJson(`/request?number=${encodeURIComponent(number)}`)
  } catch (error) {
    return h('section', {}, h('h2', { tabindex: '-1' }, `Request ${number}`), empty(error.message))
  }
  const facts = [
    h('b', { class: tone(one.status) }, String(one.status)),
    ` in ${took(one.ms)}, ${one.bytes} bytes, `,
    one.caller === null
      ? 'nobody signed in'
      : one.caller === 'key'
        ? 'by the static key'
        : `as ${one.caller}`,
    one.handler === null ? '' : ` → ${one.handler}`,
  ]
  return h(
    'section',
    {},
    h('h2', { id: 'request', tabindex: '-1' }, `${one.method} ${one.url}`),
    h('p', {}, facts),
    one.hints.length === 0
      ? undefined
      : h(
          'ul',
          { class: 'hints' },
          one.hints.map((hint) => h('li', {}, hint)),
        ),
    one.fault === null ? undefined : drawError(one.fault),
    h('h3', {}, 'Steps'),
    one.steps.length === 0 ? empty('None that is watched.') : drawSteps(one.steps, one.ms || 1),
    one.body === undefined || one.body === null
      ? undefined
      : [h('h3', {}, 'Body'), drawBody(one.body)],
    one.lines.length === 0
      ? undefined
      : [
          h('h3', {}, 'Logged'),
          h(
            'ul',
            {},
            one.lines.map((line) =>
              h(
                'li',
                {},
                h('span', { class: levelTone(line.level) }, line.level),
                ` ${line.message}`,
              ),
            ),
          ),
        ],
    h('details', {}, h('summary', {}, 'Headers of the request'), json(one.headers)),
  )
}

/** The document of an operation is easier to read by itself. */
function drawBody(body) {
  if (typeof body?.query !== 'string') return json(body)
  const { query, ...rest } = body
  return [json(query), Object.keys(rest).length === 0 ? undefined : json(rest)]
}

function drawError(error) {
  const lines = error.source.map(({ line, text }) => {
    const written = `${String(line).padStart(5)}  ${text}\n`
    return line === error.line ? h('mark', {}, written) : written
  })
  return h(
    'div',
    {},
    h('h3', { class: 'bad' }, `${error.name}: ${error.message}`),
    error.file === null ? undefined : h('p', { class: 'quiet' }, `${error.file}:${error.line}`),
    lines.length === 0 ? undefined : h('pre', { tabindex: '0' }, lines),
    error.stack === ''
      ? undefined
      : h('details', {}, h('summary', {}, 'Where it came from'), json(error.stack)),
  )
}

function drawSteps(steps, duration) {
  return h(
    'ol',
    { class: 'steps' },
    steps.map((step) => {
      const bar = h('span', { class: 'bar' }, h('i'))
      bar.firstChild.style.marginLeft = `${Math.min(99, (step.at / duration) * 100)}%`
      bar.firstChild.style.width = `${Math.min(100, ((step.ms ?? 0) / duration) * 100)}%`
      const marks = [
        step.repeats >= 3
          ? h('span', { class: 'mark warn' }, `sent ${step.repeats} times`)
          : undefined,
        step.scans.length > 0
          ? h('span', { class: 'mark warn' }, `reads all of ${step.scans.join(', ')}`)
          : undefined,
        step.cost === undefined
          ? undefined
          : h('span', { class: 'mark quiet' }, `costs ${step.cost}`),
        step.failed ? h('span', { class: 'mark bad' }, 'failed') : undefined,
      ]
      const head = [
        step.kind === 'statement'
          ? h('code', {}, short(step.name))
          : h('b', {}, `${step.kind === step.name ? '' : `${step.kind} `}${step.name}`),
        ' ',
        h('span', { class: 'quiet' }, took(step.ms)),
        marks,
      ]
      const text =
        step.kind === 'statement'
          ? h(
              'details',
              {},
              h('summary', {}, head),
              json(step.name),
              step.plan.length === 0 ? undefined : json(step.plan.join('\n')),
            )
          : h('div', {}, head)
      return h(
        'li',
        { class: 'step' },
        text,
        bar,
        step.steps.length === 0 ? undefined : drawSteps(step.steps, duration),
      )
    }),
  )
}

const short = (sql) => (sql.length > 120 ? `${sql.slice(0, 120)}…` : sql)

// --- Routes

async function drawRoutes() {
  const routes = await getJson('/routes')
  const list = h('div', {}, routes.map(drawRoute))
  const search = h('input', {
    type: 'search',
    oninput: () => {
      const filterText = search.value.toLowerCase()
      for (const [index, entry] of [...list.children].entries()) {
        const { method, path, name, words } = routes[index]
        entry.hidden = !`${method} ${path} ${name} ${words}`.toLowerCase().includes(filterText)
      }
    },
  })
  show(
    h(
      'section',
      {},
      h('h2', { id: 'view' }, 'Routes'),
      h('div', { class: 'tools' }, h('label', {}, 'Filter', search)),
      list,
    ),
    true,
  )
}

function drawRoute(route) {
  const details = h(
    'details',
    { class: 'route' },
    h(
      'summary',
      {},
      h('b', {}, route.method),
      h('span', {}, route.path),
      h('span', { class: 'quiet' }, route.name),
      h('span', { class: 'who' }, route.words),
    ),
  )
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(drawForm(route))
  })
  return details
}

let claims = '{ "sub": "1" }'

function drawForm(route) {
  const parameters = route.parameters.map(({ name, type }) => [
    name,
    h('input', { name, required: true, value: /int|float/.test(type) ? '1' : undefined }),
  ])
  const query = h('input', {
    name: 'query',
    placeholder: route.query.map((name) => `${name}=`).join('&'),
  })
  const body =
    route.body === undefined
      ? undefined
      : h('textarea', { name: 'body', spellcheck: 'false' }, JSON.stringify(route.body, null, 2))
  const caller = h(
    'select',
    {},
    h('option', { value: '' }, 'nobody'),
    h('option', { value: 'token' }, 'a token with these claims'),
  )
  const claimsInput = h('input', { value: claims, spellcheck: 'false' })
  if (route.access !== 'everybody') caller.value = 'token'
  const claimsLabel = h('label', {}, 'Claims of the token', claimsInput)
  const showClaims = () => {
    claimsLabel.hidden = caller.value === ''
  }
  caller.addEventListener('change', showClaims)
  showClaims()
  const answer = h('div', { role: 'status' })
  const send = async (event) => {
    event.preventDefault()
    answer.replaceChildren('…')
    try {
      answer.replaceChildren(
        ...(await tryRoute(route, { parameters, query, body, caller, claimsInput })),
      )
    } catch (error) {
      answer.replaceChildren(h('p', { class: 'bad' }, error.message))
    }
  }
  return h(
    'form',
    { onsubmit: send },
    parameters.map(([name, input]) => h('label', {}, name, input)),
    route.method === 'GET' || route.query.length > 0 ? h('label', {}, 'Query', query) : undefined,
    body === undefined ? undefined : h('label', {}, 'Body (JSON)', body),
    h('label', {}, 'Sent by', caller),
    claimsLabel,
    h('button', {}, 'Send'),
    answer,
  )
}

async function tryRoute({ method, path }, { parameters, query, body, caller, claimsInput }) {
  const headers = {}
  if (caller.value === 'token') {
    claims = claimsInput.value
    const { token } = await postJson('/token', { claims: JSON.parse(claimsInput.value) })
    headers.authorization = `Bearer ${token}`
  }
  let target = path
  for (const [name, input] of parameters) {
    const value = encodeURIComponent(input.value)
    target = target.replace(
      new RegExp(`[<{]${name}(?::\\w+)?[>}]`),
      /:path/.test(target) ? value.replaceAll('%2F', '/') : value,
    )
  }
  if (query.value !== '') target += `?${query.value.replace(/^\?/, '')}`
  if (body !== undefined && body.value.trim() !== '') headers['content-type'] = 'application/json'
  const began = performance.now()
  const got = await fetch(target, {
    method,
    headers,
    body: body?.value.trim() || undefined,
    redirect: 'manual',
  })
  const text = await got.text()
  let value = text
  try {
    value = JSON.parse(text)
  } catch {
    // It is no JSON.
  }
  const last = (await getJson('/requests')).at(-1)
  return [
    h(
      'p',
      {},
      h('b', { class: tone(got.status) }, String(got.status || 'redirected')),
      ` in ${took(performance.now() - began)} `,
      last === undefined ? '' : h('a', { href: `#requests/${last.number}` }, 'what happened'),
    ),
    text === '' ? empty('No body.') : json(value),
  ]
}

// --- Records, pending work, the log

async function drawRecords() {
  const records = await getJson('/records')
  const entries = records.map(
    ({ name, table: tableName, read, write, rows, fields, relations, doors }) =>
      h(
        'section',
        {},
        h('h3', {}, name),
        h(
          'p',
          {},
          `Read by ${read}; written by ${write}`,
          rows ? '; `rows` says which rows.' : '.',
          h('span', { class: 'quiet' }, ` Table ${tableName}.`),
        ),
        table(
          `Fields of ${name}`,
          ['Field', 'Kind', 'Rules'],
          fields.map((field) => ({ cells: [field.name, field.kind, field.marks.join(', ')] })),
        ),
        relations.length === 0
          ? undefined
          : h(
              'p',
              {},
              'Relations: ',
              relations.map(({ name: relation, to }) => `${relation} → ${to}`).join(', '),
            ),
        h(
          'p',
          { class: 'quiet' },
          doors.length === 0 ? 'No route or field exposes it.' : doors.join(', '),
        ),
      ),
  )
  show(
    h(
      'section',
      {},
      h('h2', { id: 'view' }, 'Records'),
      entries.length === 0 ? empty('The application has no records.') : entries,
    ),
    true,
  )
}

let jobState = ''

async function drawWaiting(isNew) {
  const query = jobState === '' ? '' : `?state=${jobState}`
  const { providers, process, jobs, mail } = await getJson(`/waiting${query}`)
  const text = JSON.stringify(['waiting', providers, jobs, mail])
  if (text === drawnText && !isNew) return
  drawnText = text
  // Jobs have a table of their own.
  const otherProviders = providers.filter(({ of }) => of !== 'Jobs')
  const parts = otherProviders.map(({ of, entries }) => {
    const heads = [...new Set(entries.flatMap((entry) => Object.keys(entry)))]
    const rows = entries.map((entry) => ({ cells: heads.map((head) => toCell(entry[head])) }))
    return h(
      'section',
      {},
      h('h3', {}, of),
      rows.length === 0 ? empty('Nothing waits.') : table(`What waits in ${of}`, heads, rows),
    )
  })
  const handles = Object.entries(process).map(([name, count]) => ({
    cells: [name, right(String(count))],
  }))
  show(
    h(
      'section',
      {},
      h('h2', { id: 'view' }, 'What waits'),
      jobs === null ? undefined : drawJobs(jobs),
      mail === null ? undefined : drawMail(mail),
      parts,
      h('h3', {}, 'The process'),
      table('Handles of the process', ['What keeps it busy', right('How many')], handles),
    ),
    isNew,
  )
}

const jobTones = { failed: 'bad', running: 'warn', done: 'good' }

function drawJobs({ counts, jobs }) {
  const choice = h(
    'select',
    {
      onchange: () => {
        jobState = choice.value
        void drawWaiting(true)
      },
    },
    ['', ...Object.keys(counts)].map((one) =>
      h('option', { value: one }, one === '' ? 'all' : `${one} (${counts[one]})`),
    ),
  )
  choice.value = jobState
  const rows = jobs.map((job) => ({
    cells: [
      right(String(job.id)),
      job.schedule === null ? job.name : `${job.name} (${job.schedule})`,
      h('span', { class: jobTones[job.state] ?? 'quiet' }, job.state),
      right(`${job.attempt} of ${job.retries + 1}`),
      `${new Date(job.runAt).toLocaleString()}${job.progress === null ? '' : `, ${job.progress}`}`,
      job.error === null
        ? ''
        : h('details', {}, h('summary', {}, job.error.split('\n')[0]), json(job.error)),
      drawJobButton(job),
    ],
  }))
  return h(
    'section',
    {},
    h('h3', {}, 'Jobs'),
    h('div', { class: 'tools' }, h('label', {}, 'State', choice)),
    rows.length === 0
      ? empty('None.')
      : table('Jobs', [right('Id'), 'Job', 'State', right('Run'), 'At', 'Fault', 'Change'], rows),
  )
}

function drawJobButton({ id, name, state }) {
  const [word, path] = ['failed', 'cancelled'].includes(state)
    ? ['Retry', '/jobs/retry']
    : state === 'done'
      ? []
      : ['Cancel', '/jobs/cancel']
  if (word === undefined) return ''
  const press = async () => {
    await postJson(path, { id })
    await drawWaiting(true)
  }
  return h(
    'button',
    { type: 'button', 'aria-label': `${word} ${name} ${id}`, onclick: press },
    word,
  )
}

function drawMail(mails) {
  return h(
    'section',
    {},
    h('h3', {}, 'Mail that was caught'),
    mails.length === 0
      ? empty('None. Outside production mail is not sent, but kept here.')
      : mails.map(({ to, subject, text, html, ...rest }) =>
          h(
            'details',
            {},
            h('summary', {}, `${subject} `, h('span', { class: 'quiet' }, `to ${to.join(', ')}`)),
            json(text ?? html ?? ''),
            json(rest),
          ),
        ),
    mails.length === 0
      ? undefined
      : empty('Links with tokens are left out here; the log in your terminal has them.'),
  )
}

const toCell = (value) =>
  value === undefined || value === null
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)
const levelTone = (level) => ({ error: 'bad', warn: 'warn', info: 'good' })[level] ?? 'quiet'

let level = ''

async function drawLog(isNew) {
  const lines = (await getJson('/log')).reverse()
  const text = JSON.stringify(['log', lines.length, lines[0]?.time, level])
  if (text === drawnText && !isNew) return
  drawnText = text
  const choice = h(
    'select',
    {
      onchange: () => {
        level = choice.value
        void drawLog(true)
      },
    },
    ['', 'debug', 'info', 'warn', 'error'].map((one) =>
      h('option', { value: one }, one === '' ? 'all' : one),
    ),
  )
  choice.value = level
  const rows = lines
    .filter((line) => level === '' || line.level === level)
    .map((line) => ({
      cells: [
        time(line.time),
        h('span', { class: levelTone(line.level) }, line.level),
        [{ class: 'path' }, h('details', {}, h('summary', {}, line.message), json(line.details))],
        line.request === null
          ? ''
          : h('a', { href: `#requests/${line.request}` }, `request ${line.request}`),
      ],
    }))
  show(
    h(
      'section',
      {},
      h('h2', { id: 'view' }, 'Log'),
      h('div', { class: 'tools' }, h('label', {}, 'Level', choice)),
      rows.length === 0
        ? empty('No lines.')
        : table('Lines of the log', ['Time', 'Level', 'Message', 'Request'], rows),
    ),
    isNew,
  )
}

// --- Which view, and when

const views = {
  requests: drawRequests,
  routes: drawRoutes,
  records: drawRecords,
  waiting: () => drawWaiting(true),
  log: () => drawLog(true),
}

function show(content, isNew) {
  // What somebody has opened or is in stays as it is.
  if (!isNew && main.contains(document.activeElement) && document.activeElement !== main) {
    const { activeElement } = document
    if (activeElement.matches('input, textarea, select') || main.querySelector('details[open]'))
      return
  }
  main.replaceChildren(content)
}

async function draw() {
  const [name = 'requests', number] = location.hash.slice(1).split('/')
  const view = views[name] ?? drawRequests
  for (const link of document.querySelectorAll('nav a'))
    if (link.hash === `#${view === drawRequests ? 'requests' : name}`)
      link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  drawnText = ''
  try {
    await view(number)
    state.textContent = ''
  } catch (error) {
    state.textContent = `Waiting for the application: ${error.message}`
  }
}

async function look() {
  const [name = '', number] = location.hash.slice(1).split('/')
  if (document.hidden) return
  try {
    if (name === '' || name === 'requests') await drawRequests(number)
    else if (name === 'log') await drawLog(false)
    else if (name === 'waiting') await drawWaiting(false)
    state.textContent = ''
  } catch {
    state.textContent = 'Waiting for the application.'
  }
}

addEventListener('hashchange', () => {
  if (location.hash !== '#content') void draw()
})
await draw()
setInterval(look, 1000)
