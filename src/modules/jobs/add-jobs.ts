/** Statements that add jobs: one by its own, many by a JSON list of what differs. */

import { channel } from 'node:diagnostics_channel'
import {
  isStorable,
  readSeconds,
  rejectUnknownOptions,
  type HttpError,
  type JobAddedEvent,
  type SqlRow,
  type SqlFragments,
} from '../../index.js'
import type { KnownJob } from './decorators.js'
import type { NewJob, When, JobTable } from './job-table.js'

/** Checks what is added: its options, its body, its group. */

export interface AddOptions {
  /** How long it waits at least: `'10m'`, or seconds. */
  readonly in?: number | string
  /** When it runs at the earliest. */
  readonly at?: Date | string | number
  /** 0 to 100, higher ones are first. Default 0. */
  readonly priority?: number
  /** Of one text at most one job waits or runs. */
  readonly unique?: string
}

/** The most bytes of a body's JSON. */
const mostBytes = 256 * 1024

const optionNames = ['in', 'at', 'priority', 'unique']

/** @throws {TypeError} unknown and invalid options */
export function readWhen(where: string, options: AddOptions): When {
  const [fault] = rejectUnknownOptions(options, optionNames, where)
  if (fault !== undefined) throw new TypeError(`${fault.message} ${fault.remedy}`)
  const { in: wait, at } = options
  if (wait !== undefined && at !== undefined)
    throw new TypeError(`${where}: in and at exclude each other. Give one of them.`)
  if (wait !== undefined) {
    const seconds = wait === 0 ? 0 : readSeconds(wait)
    if (seconds === undefined)
      throw new TypeError(`${where}: in is ${JSON.stringify(wait)}. Write '10m' or seconds.`)
    return seconds === 0 ? { kind: 'now' } : { kind: 'in', ms: seconds * 1000 }
  }
  if (at === undefined) return { kind: 'now' }
  const moment = new Date(at)
  const year = moment.getUTCFullYear()
  if (Number.isNaN(year) || year < 1 || year > 9999)
    throw new TypeError(`${where}: at is ${String(at)}, which is no moment. Give a Date.`)
  return { kind: 'at', at: moment }
}

/** @throws {TypeError} a body that the class refuses, that is no JSON, or that is too large */
export async function toNewJob(
  where: string,
  job: KnownJob,
  body: unknown,
  { priority = 0, unique }: AddOptions,
): Promise<NewJob> {
  if (!Number.isSafeInteger(priority) || priority < 0 || priority > 100)
    throw new TypeError(`${where}: priority is ${String(priority)}. Write 0 to 100.`)
  if (unique !== undefined && (typeof unique !== 'string' || unique === '' || unique.length > 500))
    throw new TypeError(`${where}: unique is no text of 1 to 500 characters.`)
  if (unique !== undefined && !isStorable(unique))
    throw new TypeError(`${where}: unique has the character NUL, or half of a character.`)
  if (unique?.startsWith(schedulePrefix) === true)
    throw new TypeError(
      `${where}: unique begins with "${schedulePrefix}", as those of schedules do.`,
    )
  const text = toText(where, body)
  const checked = await checkBody(where, job, text)
  return {
    name: job.name,
    // One that says null has nothing to hide.
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

/** How deep lists and objects of a body may be: SQLite reads JSON of 1,000 at most. */
const deepest = 500

/** NUL and halves of characters in JSON, not a backslash and `u0000` that somebody wrote. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** Before the unique keys of schedules. */
export const schedulePrefix = 'schedule:'

function toText(where: string, body: unknown): string | null {
  if (body === undefined) return null
  let text: string | undefined
  try {
    text = (JSON.stringify as (body: unknown) => string | undefined)(body)
  } catch (cause) {
    throw new TypeError(`${where}: the body is no JSON: ${(cause as Error).message}`, { cause })
  }
  if (text === undefined) throw new TypeError(`${where}: the body is no JSON.`)
  const bytes = Buffer.byteLength(text)
  if (bytes > mostBytes)
    throw new TypeError(
      `${where}: the body has ${bytes} bytes of JSON, at most ${mostBytes} are stored. Store it elsewhere and give its key.`,
    )
  if (unstorable.test(text))
    throw new TypeError(
      `${where}: the body has the character NUL, or half of a character, which databases refuse.`,
    )
  if (isTooDeep(text))
    throw new TypeError(
      `${where}: the body has lists or objects that are more than ${deepest} deep.`,
    )
  return text
}

/** What stands in texts counts for nothing. */
function isTooDeep(text: string): boolean {
  if (text.length < 2 * deepest) return false
  let depth = 0
  for (const [sign] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (sign === '[' || sign === '{') depth++
    else if (sign === ']' || sign === '}') depth--
    if (depth > deepest) return true
  }
  return false
}

/**
 * Makes the instance that the method is given.
 *
 * @throws {TypeError} the class refuses it; the message names every field
 */
export async function checkBody(
  where: string,
  { check }: Pick<KnownJob, 'check'>,
  text: string | null,
): Promise<unknown> {
  const body: unknown = text === null ? undefined : JSON.parse(text)
  if (check === undefined) return body
  try {
    return await check(body)
  } catch (cause) {
    const faults = (cause as Partial<HttpError>).errors
    if (faults === undefined) throw cause
    throw new TypeError(`${where}: ${(cause as Error).message}`, { cause })
  }
}

function groupOf(where: string, { group }: KnownJob, body: unknown): string | null {
  const key: unknown = group?.(body as never)
  if (key === undefined || key === null) return null
  if (typeof key !== 'string' && typeof key !== 'number')
    throw new TypeError(`${where}: group gives ${typeof key}. Give a text or a number.`)
  const text = String(key)
  if (text.length > 500 || !isStorable(text))
    throw new TypeError(
      `${where}: group gives more than 500 characters, the character NUL, or half of a character.`,
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

/** How many rows a statement adds at most, and how many characters of bodies. */
const mostRows = 5_000
const mostText = 4_000_000

/** @returns its id; undefined if one with its `unique` stands */
export async function addRow(
  table: JobTable,
  job: NewJob,
  when: When,
): Promise<number | undefined> {
  const { name, body, isSecret, priority, retries, backoff, keep, unique, group, trace } = job
  const isUnique = unique !== null
  const statement = table.prepare(`add ${when.kind} ${isUnique} ${isSecret}`, 'insert', (words) => {
    const { value } = words
    const cells = [
      ...[value('name'), `'waiting'`, value('body'), value('priority'), ...writeTimes(words, when)],
      ...['0', value('retries'), value('backoff'), value('keep'), '0'],
      ...[value('unique'), value('group'), value('trace'), words.now(value('shift'))],
    ]
    const otherwise = isUnique ? ' on conflict do nothing' : ''
    return `insert into jobs (${columns(isSecret)}) values (${cells.join(', ')})${otherwise} returning id`
  })
  const [row] = await statement.rows({
    ...{ name, body, priority, retries, backoff, keep, unique, group, trace },
    ...timesOf(table, when),
  })
  return row && Number(row[0])
}

/** Adds jobs of one method that share their options, without `unique`. @returns the ids, in order */
export async function addRows(
  table: JobTable,
  jobs: readonly NewJob[],
  when: When,
): Promise<number[]> {
  const pieces = toPieces(jobs)
  const add = async (): Promise<number[]> => {
    const ids: number[] = []
    for (const piece of pieces) ids.push(...(await addPiece(table, piece, when)))
    return ids
  }
  return pieces.length < 2
    ? add()
    : table.database.transaction(add, { isolation: 'read committed' })
}

function toPieces(jobs: readonly NewJob[]): NewJob[][] {
  const pieces: NewJob[][] = []
  let size = Infinity
  for (const job of jobs) {
    const length = job.body?.length ?? 0
    let piece = pieces.at(-1)
    if (piece === undefined || piece.length >= mostRows || size + length > mostText) {
      piece = []
      pieces.push(piece)
      size = 0
    }
    piece.push(job)
    size += length
  }
  return pieces
}

async function addPiece(table: JobTable, jobs: readonly NewJob[], when: When): Promise<number[]> {
  const [first] = jobs
  if (first === undefined) return []
  const { name, isSecret, priority, retries, backoff, keep, trace } = first
  const statement = table.prepare(`add many ${when.kind} ${isSecret}`, 'insert', (words) => {
    const { value, items, now } = words
    const number = (of: string): string => `cast(${value(of)} as bigint)`
    const text = (of: string): string => `cast(${value(of)} as text)`
    const cells = [
      ...[text('name'), `'waiting'`, "value -> 'b'", number('priority')],
      ...[...writeTimes(words, when), '0', number('retries'), number('backoff'), number('keep')],
      ...['0', 'null', "value ->> 'g'", text('trace'), now(value('shift'))],
    ]
    return `insert into jobs (${columns(isSecret)})
select ${cells.join(', ')} from (${items('jobs')}) as items returning id`
  })
  const rows = await statement.rows({
    ...{ name, priority, retries, backoff, keep, trace, jobs: toList(jobs) },
    ...timesOf(table, when),
  })
  return toIds(rows)
}

/** Bodies are JSON already. */
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

/** `run_at` and `later_at`. */
function writeTimes({ value, now }: SqlFragments, { kind }: When): [string, string] {
  if (kind === 'at') return [value('at'), value('at')]
  return [now(value('waits')), kind === 'now' ? 'null' : now(value('waits'))]
}

function timesOf(table: JobTable, when: When): Record<string, string | number> {
  const { shift } = table
  if (when.kind === 'at') return { shift, at: when.at.toISOString() }
  return { shift, waits: when.kind === 'in' ? shift + when.ms : shift }
}

/** Keys are given in the order of the rows, whatever the order of the answer. */
function toIds(rows: readonly SqlRow[]): number[] {
  return rows.map(([id]) => Number(id)).sort((one, other) => one - other)
}

/** The job that stands with this key. */
export async function standingRow(table: JobTable, unique: string): Promise<number | undefined> {
  const statement = table.prepare(
    'standing',
    'select',
    ({ value }) =>
      `select id from jobs where unique_key = ${value('unique')} and state in ('waiting', 'running')`,
  )
  const [row] = await statement.rows({ unique })
  return row && Number(row[0])
}
