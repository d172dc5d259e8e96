/** Adding jobs: checks options, bodies and groups, and inserts the rows. One statement inserts one job or many jobs of one method. */
import { channel } from 'node:diagnostics_channel'
import {
  declareOptions,
  isStorable,
  option,
  type HttpError,
  type JobAddedEvent,
  type OptionsOf,
  type SqlRow,
  type SqlFragments,
} from '../../index.js'
import type { RegisteredJob } from './decorators.js'
import type { NewJob, When, JobTable } from './job-table.js'

const addOptions = declareOptions({
  /** Delay before the job is due: `'10m'`, or seconds. */
  in: option.seconds("Write '10m' or seconds.", 0).shown(),
  /** When the job is due. */
  at: option.of<Date | string | number>(isDate, 'Give a valid Date.').shown(),
  /** 0 to 100. Higher priorities run first. Default 0. */
  priority: option.integer(0, 100, 'Write 0 to 100.').shown().default(0),
  /** A key that at most one waiting or running job has. */
  unique: option.of<string>(
    (value) =>
      typeof value === 'string' && value.length >= 1 && value.length <= 500 && isStorable(value),
    'Write 1 to 500 characters, without NUL and unpaired surrogates.',
  ),
})

export interface AddOptions extends OptionsOf<typeof addOptions> {}

function isDate(value: unknown): boolean {
  const year = new Date(value as Date).getUTCFullYear()
  return year >= 1 && year <= 9999
}

/** Bytes of JSON. */
const maxBodyBytes = 256 * 1024

/** @throws {TypeError} unknown or invalid options */
export function readWhen(where: string, options: AddOptions): When {
  addOptions.check(where, options)
  const { in: wait, at } = addOptions.read(options)
  if (wait !== undefined && at !== undefined)
    throw new TypeError(`${where}: in and at exclude each other. Give one of them.`)
  if (at !== undefined) return { kind: 'at', at: new Date(at) }
  return wait === undefined || wait === 0 ? { kind: 'now' } : { kind: 'in', ms: wait * 1000 }
}

/** @throws {TypeError} the body is invalid, is not JSON, or is too large */
export async function toNewJob(
  where: string,
  job: RegisteredJob,
  body: unknown,
  { priority = 0, unique }: AddOptions,
): Promise<NewJob> {
  if (unique?.startsWith(schedulePrefix) === true)
    throw new TypeError(
      `${where}: unique must not begin with "${schedulePrefix}", which is reserved for schedules.`,
    )
  const text = toText(where, body)
  const checked = await checkBody(where, job, text)
  return {
    name: job.name,
    // A secret body of null is stored as no body.
    body: job.isSecret && text === 'null' ? null : text,
    isSecret: job.isSecret,
    priority,
    retries: job.retries,
    backoff: job.backoff,
    keep: job.keep,
    unique: unique ?? null,
    group: groupOf(where, job, checked),
    trace: currentTrace(job.name),
  }
}

/** The deepest nesting of a body. SQLite reads at most 1,000 levels. */
const maxDepth = 500

/** Escapes of NUL and of surrogates in JSON, unless the backslash itself is escaped. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** The prefix of the unique keys of schedules. */
export const schedulePrefix = 'schedule:'

function toText(where: string, body: unknown): string | null {
  if (body === undefined) return null
  let text: string | undefined
  try {
    text = (JSON.stringify as (body: unknown) => string | undefined)(body)
  } catch (cause) {
    throw new TypeError(
      `${where}: the body cannot be converted to JSON: ${(cause as Error).message}`,
      { cause },
    )
  }
  if (text === undefined) throw new TypeError(`${where}: the body cannot be converted to JSON.`)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBodyBytes)
    throw new TypeError(
      `${where}: the body has ${bytes} bytes of JSON, at most ${maxBodyBytes} are stored. Store it elsewhere and give its key.`,
    )
  if (unstorable.test(text))
    throw new TypeError(
      `${where}: the body contains NUL or an unpaired surrogate, which databases reject.`,
    )
  if (isTooDeep(text))
    throw new TypeError(`${where}: the body is nested more than ${maxDepth} levels deep.`)
  return text
}

/** Brackets inside strings are ignored. */
function isTooDeep(text: string): boolean {
  if (text.length < 2 * maxDepth) return false
  let depth = 0
  for (const [sign] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (sign === '[' || sign === '{') depth++
    else if (sign === ']' || sign === '}') depth--
    if (depth > maxDepth) return true
  }
  return false
}

/**
 * Parses the body and creates the instance that the method gets.
 *
 * @throws {TypeError} the class rejects it; the message names every field
 */
export async function checkBody(
  where: string,
  { check }: Pick<RegisteredJob, 'check'>,
  text: string | null,
): Promise<unknown> {
  const body: unknown = text === null ? undefined : JSON.parse(text)
  if (check === undefined) return body
  try {
    return await check(body)
  } catch (cause) {
    const fieldErrors = (cause as Partial<HttpError>).errors
    if (fieldErrors === undefined) throw cause
    throw new TypeError(`${where}: ${(cause as Error).message}`, { cause })
  }
}

function groupOf(where: string, { group }: RegisteredJob, body: unknown): string | null {
  const key: unknown = group?.(body as never)
  if (key === undefined || key === null) return null
  if (typeof key !== 'string' && typeof key !== 'number')
    throw new TypeError(`${where}: group returns ${typeof key}. Return a string or a number.`)
  const text = String(key)
  if (text.length > 500 || !isStorable(text))
    throw new TypeError(
      `${where}: group returns more than 500 characters, NUL or an unpaired surrogate.`,
    )
  return text
}

const addedChannel = channel('filigree:job-added')

/** @returns the `traceparent` of the current span, if tracing is on */
function currentTrace(job: string): string | null {
  if (!addedChannel.hasSubscribers) return null
  const event: JobAddedEvent = { job, trace: undefined }
  addedChannel.publish(event)
  return event.trace?.slice(0, 200) ?? null
}

/** Limits of one insert statement. */
const maxRowsPerStatement = 5_000
const maxCharactersPerStatement = 4_000_000

/** @returns the id; undefined if an active job has the same unique key */
export async function addRow(
  table: JobTable,
  job: NewJob,
  when: When,
): Promise<number | undefined> {
  const { name, body, isSecret, priority, retries, backoff, keep, unique, group, trace } = job
  const isUnique = unique !== null
  const statement = table.prepare(
    `add ${when.kind} ${isUnique} ${isSecret}`,
    'insert',
    (fragments) => {
      const { value } = fragments
      const cells = [
        ...[
          value('name'),
          `'waiting'`,
          value('body'),
          value('priority'),
          ...timeColumns(fragments, when),
        ],
        ...['0', value('retries'), value('backoff'), value('keep'), '0'],
        ...[value('unique'), value('group'), value('trace'), fragments.now(value('shift'))],
      ]
      const onConflict = isUnique ? ' on conflict do nothing' : ''
      return `insert into jobs (${columns(isSecret)}) values (${cells.join(', ')})${onConflict} returning id`
    },
  )
  const [row] = await statement.rows({
    name,
    body,
    priority,
    retries,
    backoff,
    keep,
    unique,
    group,
    trace,
    ...timeValues(table, when),
  })
  return row && Number(row[0])
}

/** Adds jobs of one method with the same options and without `unique`. @returns the ids, in order */
export async function addRows(
  table: JobTable,
  jobs: readonly NewJob[],
  when: When,
): Promise<number[]> {
  const batches = toBatches(jobs)
  const add = async (): Promise<number[]> => {
    const ids: number[] = []
    for (const batch of batches) ids.push(...(await addBatch(table, batch, when)))
    return ids
  }
  return batches.length < 2
    ? add()
    : table.database.transaction(add, { isolation: 'read committed' })
}

function toBatches(jobs: readonly NewJob[]): NewJob[][] {
  const batches: NewJob[][] = []
  let size = Infinity
  for (const job of jobs) {
    const length = job.body?.length ?? 0
    let batch = batches.at(-1)
    if (
      batch === undefined ||
      batch.length >= maxRowsPerStatement ||
      size + length > maxCharactersPerStatement
    ) {
      batch = []
      batches.push(batch)
      size = 0
    }
    batch.push(job)
    size += length
  }
  return batches
}

async function addBatch(table: JobTable, jobs: readonly NewJob[], when: When): Promise<number[]> {
  const [first] = jobs
  if (first === undefined) return []
  const { name, isSecret, priority, retries, backoff, keep, trace } = first
  const statement = table.prepare(`add many ${when.kind} ${isSecret}`, 'insert', (fragments) => {
    const { value, items, now } = fragments
    const number = (of: string): string => `cast(${value(of)} as bigint)`
    const text = (of: string): string => `cast(${value(of)} as text)`
    const cells = [
      ...[text('name'), `'waiting'`, "value -> 'b'", number('priority')],
      ...[
        ...timeColumns(fragments, when),
        '0',
        number('retries'),
        number('backoff'),
        number('keep'),
      ],
      ...['0', 'null', "value ->> 'g'", text('trace'), now(value('shift'))],
    ]
    return `insert into jobs (${columns(isSecret)})
select ${cells.join(', ')} from (${items('jobs')}) as items returning id`
  })
  const rows = await statement.rows({
    name,
    priority,
    retries,
    backoff,
    keep,
    trace,
    jobs: toList(jobs),
    ...timeValues(table, when),
  })
  return toIds(rows)
}

/** Bodies are JSON text already. */
function toList(jobs: readonly NewJob[]): string {
  const items = jobs.map(({ body, group }) => {
    const parts = body === null ? [] : [`"b":${body}`]
    if (group !== null) parts.push(`"g":${JSON.stringify(group)}`)
    return `{${parts.join(',')}}`
  })
  return `[${items.join(',')}]`
}

function columns(isSecret: boolean): string {
  const body = isSecret ? 'secret_body' : 'body'
  return `name, state, ${body}, priority, run_at, later_at, attempt, retries, backoff, keep, claims, unique_key, group_key, trace, added_at`
}

/** The SQL of `run_at` and `later_at`. */
function timeColumns({ value, now }: SqlFragments, { kind }: When): [string, string] {
  if (kind === 'at') return [value('at'), value('at')]
  return [now(value('runAt')), kind === 'now' ? 'null' : now(value('runAt'))]
}

function timeValues(table: JobTable, when: When): Record<string, string | number> {
  const { shift } = table
  if (when.kind === 'at') return { shift, at: when.at.toISOString() }
  return { shift, runAt: when.kind === 'in' ? shift + when.ms : shift }
}

/** Ids ascend in the order of the inserted rows, but `returning` has no order. */
function toIds(rows: readonly SqlRow[]): number[] {
  return rows.map(([id]) => Number(id)).sort((one, other) => one - other)
}

/** The id of the waiting or running job with this unique key. */
export async function findActiveJob(table: JobTable, unique: string): Promise<number | undefined> {
  const statement = table.prepare(
    'active job',
    'select',
    ({ value }) =>
      `select id from jobs where unique_key = ${value('unique')} and state in ('waiting', 'running')`,
  )
  const [row] = await statement.rows({ unique })
  return row && Number(row[0])
}
