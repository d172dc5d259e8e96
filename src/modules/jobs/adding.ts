/** Checks what is added: its options, its body, its group. */
import { isStorable, readSeconds, rejectUnknownOptions, type HttpError } from '../../index.js'
import { currentTrace } from './job-events.js'
import type { KnownJob } from './registry.js'
import type { NewJob, When } from './stored-job.js'

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
