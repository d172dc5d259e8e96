/** The views of the records, of pending work and of the log. */
import {
  empty,
  getJson,
  h,
  json,
  postJson,
  right,
  roomy,
  section,
  select,
  show,
  table,
  tableRow,
  time,
} from './elements.js'
import { describeLine, levelTone } from './request.js'

/** The drawn data as JSON, to notice changes. */
let drawnText = ''

export async function drawRecords() {
  const records = await getJson('/records')
  const ofPackages = records.filter(({ own }) => !own)
  show(
    section(
      'Records',
      records.length === 0
        ? empty('The application has no records.')
        : records.filter(({ own }) => own).map(drawRecord),
      ofPackages.length === 0
        ? undefined
        : h(
            'details',
            {},
            h('summary', {}, `Records of packages (${ofPackages.length})`),
            ofPackages.map(drawRecord),
          ),
    ),
    true,
  )
}

function drawRecord({ name, table: tableName, read, write, rows, fields, doors, ...rest }) {
  const { relations = [], constraints = [], indexes = [] } = rest
  return h(
    'section',
    {},
    h('h3', {}, name),
    h(
      'p',
      {},
      `Read by ${read}; written by ${write}`,
      rows ? '; `rows` limits the rows.' : '.',
      h('span', { class: 'quiet' }, ` Table ${tableName}.`),
    ),
    list(`Fields of ${name}`, ['Field', 'Kind', 'Rules'], fields, (field) => [
      field.name,
      field.kind,
      field.marks.join(', '),
    ]),
    list(`Relations of ${name}`, ['Relation', 'Kind', 'Keys'], relations, (relation) => [
      relation.name,
      relation.kind ?? `to ${relation.to}`,
      relation.keys ?? '',
    ]),
    list(`Constraints of ${name}`, ['Constraint', 'Rule'], constraints, toNameAndRule),
    list(`Indexes of ${name}`, ['Index', 'Columns'], indexes, toNameAndRule),
    empty(doors.length === 0 ? 'It is not available to clients.' : doors.join(', ')),
  )
}

const toNameAndRule = ({ name, rule }) => [
  [{ class: 'path' }, name],
  [{ class: 'path' }, rule],
]

const list = (label, heads, entries, toCells) =>
  entries.length === 0
    ? undefined
    : table(
        label,
        heads,
        entries.map((entry) => tableRow(toCells(entry))),
      )

let jobState = ''

export async function drawWaiting(isNew) {
  const query = jobState === '' ? '' : `?state=${jobState}`
  const { providers, process, jobs, mail } = await getJson(`/waiting${query}`)
  const text = JSON.stringify(['waiting', providers, jobs, mail])
  if (text === drawnText && !isNew) return
  drawnText = text
  // Jobs have a table of their own.
  const otherProviders = providers.filter(({ of }) => of !== 'Jobs')
  const parts = otherProviders.map(({ of, entries }) => {
    const heads = [...new Set(entries.flatMap((entry) => Object.keys(entry)))]
    const rows = entries.map((entry) => tableRow(heads.map((head) => toCell(entry[head]))))
    return h(
      'section',
      {},
      h('h3', {}, of),
      rows.length === 0 ? empty('No pending work.') : table(`Pending work of ${of}`, heads, rows),
    )
  })
  const handles = Object.entries(process).map(([name, count]) =>
    tableRow([name, right(String(count))]),
  )
  show(
    section(
      'Pending work',
      empty(
        'What the application still has to do: jobs of filigree/jobs, mail that was caught instead of sent, and what providers list with a method `waiting`.',
      ),
      jobs === null ? undefined : drawJobs(jobs),
      mail === null ? undefined : drawMail(mail),
      parts,
      jobs === null && mail === null && parts.length === 0
        ? empty('This application uses none of them.')
        : undefined,
      h('h3', {}, 'The process'),
      empty(
        'What keeps the process busy. Sockets and timers of open connections are normal. A number that only grows is a leak.',
      ),
      table('Handles of the process', ['Handle', right('Number')], handles),
    ),
    isNew,
  )
}

const jobTones = { failed: 'bad', running: 'warn', done: 'good' }

function drawJobs({ counts, jobs }) {
  const choice = select(
    ['', ...Object.keys(counts)],
    jobState,
    (state) => {
      jobState = state
      void drawWaiting(true)
    },
    (state) => `${state} (${counts[state]})`,
  )
  const rows = jobs.map((job) =>
    tableRow([
      right(String(job.id)),
      job.schedule === null ? job.name : `${job.name} (${job.schedule})`,
      h('span', { class: jobTones[job.state] ?? 'quiet' }, job.state),
      right(`${job.attempt} of ${job.retries + 1}`),
      `${new Date(job.runAt).toLocaleString()}${job.progress === null ? '' : `, ${job.progress}`}`,
      job.error === null
        ? ''
        : h('details', {}, h('summary', {}, job.error.split('\n')[0]), json(job.error)),
      drawJobButton(job),
    ]),
  )
  return h(
    'section',
    {},
    h('h3', {}, 'Jobs'),
    h('div', { class: 'tools' }, h('label', {}, 'State', choice)),
    rows.length === 0
      ? empty('None.')
      : table('Jobs', [right('Id'), 'Job', 'State', right('Run'), 'At', 'Error', 'Change'], rows),
  )
}

function drawJobButton({ id, name, state }) {
  const [label, path] = ['failed', 'cancelled'].includes(state)
    ? ['Retry', '/jobs/retry']
    : state === 'done'
      ? []
      : ['Cancel', '/jobs/cancel']
  if (label === undefined) return ''
  const press = async () => {
    await postJson(path, { id })
    await drawWaiting(true)
  }
  return h(
    'button',
    { type: 'button', 'aria-label': `${label} ${name} ${id}`, onclick: press },
    label,
  )
}

function drawMail(mails) {
  return h(
    'section',
    {},
    h('h3', {}, 'Caught mail'),
    mails.length === 0
      ? empty('None. Outside production, mail is stored here instead of being sent.')
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
      : empty('Tokens in links are hidden here. The log in your terminal has the complete links.'),
  )
}

const toCell = (value) =>
  value === undefined || value === null
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

let level = ''

export async function drawLog(isNew) {
  const lines = (await getJson('/log')).reverse()
  const text = JSON.stringify(['log', lines.length, lines[0]?.time, level])
  if (text === drawnText && !isNew) return
  drawnText = text
  const choice = select(['', 'debug', 'info', 'warn', 'error'], level, (value) => {
    level = value
    void drawLog(true)
  })
  const rows = lines
    .filter((line) => level === '' || line.level === level)
    .map((line) =>
      tableRow([
        roomy(time(line.time)),
        h('span', { class: levelTone(line.level) }, line.level),
        [
          { class: 'path' },
          h(
            'details',
            {},
            h('summary', {}, describeLine(line.message, line.details)),
            json(line.details),
          ),
        ],
        line.request === null
          ? ''
          : h('a', { href: `#requests/${line.request}` }, String(line.request)),
      ]),
    )
  show(
    section(
      'Log',
      h('div', { class: 'tools' }, h('label', {}, 'Level', choice)),
      rows.length === 0
        ? empty(
            lines.length === 0
              ? 'No line yet. Here is everything that the application logs: warnings of the start, errors with their stack, and lines of `request.log` with their request.'
              : `No line at ${level}. Choose another level.`,
          )
        : table('Lines of the log', [roomy('Time'), 'Level', 'Message', 'Request'], rows),
    ),
    isNew,
  )
}
