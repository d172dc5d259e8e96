/** The jobs of an application: which there are, and which provider runs each. */

import {
  checkOf,
  createMetadata,
  DeclarationError,
  readRate,
  readSeconds,
  rejectUnknownOptions,
  type InputCheck,
  type Problem,
  type Rate,
  ApplicationState,
} from '../../index.js'
import { readCron, type NextMoment } from './cron.js'

/** Reads what `@Job`, `@Cron` and `@Every` say of the methods of providers; finds their faults before the start. */

/** Any class. */
export type Class<T = object> = abstract new (...args: never[]) => T

/** The options that all three decorators have. */
export interface CommonOptions {
  /** Default `Class.method`. Give one before you rename either: jobs that wait are found by it. */
  name?: string
  /** How often it runs again after a fault: `retries: n` is n + 1 runs at most. Default 5; of `@Every` 0. */
  retries?: number
  /** Before the first repetition; doubled for each further one up to an hour, with jitter. Default `'10s'`. */
  backoff?: number | string
  /** Then `job.signal` aborts; 5 s later the run counts as failed, whatever it does. Default `'10m'`. */
  timeout?: number | string
  /** How many of it run at once in a process. Default: as many as the process runs. */
  concurrency?: number
  /** How long it is kept when it is done. Default `'1d'`. */
  keep?: number | string
}

export interface JobOptions<Body = unknown> extends CommonOptions {
  /** The class of its body, checked when it is added and when it runs. Without one the body is any JSON. */
  body?: Class<Body & object>
  /** Jobs of one group share `perGroup`. Undefined is no group. */
  group?: (body: Body) => string | number | undefined
  /** How many of a group run at once, over all processes. Default 1. */
  perGroup?: number
  /** How many begin in a time, over all processes: `'100/m'`; others wait. */
  rate?: string
  /**
   * No client reads the body, whatever its role, and it is emptied when the job is done or cancelled; a failed one keeps it
   * for `keep`, to be run again. For links that sign in, passwords, addresses. Default false.
   */
  secret?: boolean
}

export interface CronOptions extends CommonOptions {
  /** An IANA zone. Default UTC. */
  zone?: string
}

export type EveryOptions = CommonOptions

/**
 * Makes a method of a provider a job: `jobs.add(Mail, 'welcome', body)` runs it later, at least once.
 */
export const Job: {
  <Body>(options?: JobOptions<Body>): ReturnType<typeof jobNote>
} = (options = {}) => jobNote(options as JobOptions)

/** Runs a method at the times of a pattern, once over all processes: `@Cron('0 3 * * *', { zone: 'Europe/Berlin' })`. */
export function Cron(pattern: string, options: CronOptions = {}): ReturnType<typeof cronNote> {
  return cronNote(pattern, options)
}

/** Runs a method again and again, once over all processes and never two at once: `@Every('10m')`. */
export function Every(
  time: number | string,
  options: EveryOptions = {},
): ReturnType<typeof everyNote> {
  return everyNote(time, options)
}

const jobNote = createMetadata<[options: JobOptions]>('Job')
const cronNote = createMetadata<[pattern: string, options: CronOptions]>('Cron')
const everyNote = createMetadata<[time: number | string, options: EveryOptions]>('Every')

/** When a job is added by itself. */
interface Schedule {
  /** Two of one text are the same. */
  readonly text: string
  readonly next: NextMoment
}

/** A job as its class declares it. */
interface DeclaredJob {
  readonly name: string
  readonly owner: Class
  readonly method: string
  readonly check: InputCheck<object> | undefined
  readonly retries: number
  /** Milliseconds. */
  readonly backoff: number
  /** Milliseconds. */
  readonly timeout: number
  readonly concurrency: number
  /** Seconds. */
  readonly keep: number
  readonly group: ((body: never) => string | number | undefined) | undefined
  readonly perGroup: number
  readonly rate: Rate | undefined
  readonly isSecret: boolean
  readonly schedule: Schedule | undefined
}

const commonNames = ['name', 'retries', 'backoff', 'timeout', 'concurrency', 'keep']

/**
 * @param problems gets faults of options, and names that two have
 * @returns every job of these classes
 */
export function readJobs(classes: readonly Class[], problems: Problem[]): DeclaredJob[] {
  const found = [...new Set(classes)].flatMap((owner) => [
    ...[...jobNote.read(owner)].map(([method, [options]]) =>
      readJob({ owner, method, decorator: 'Job', options }, problems),
    ),
    ...[...cronNote.read(owner)].map(([method, [pattern, options]]) =>
      readScheduled({ owner, method, decorator: 'Cron', options }, problems, (where) =>
        cronSchedule(pattern, options.zone, where, problems),
      ),
    ),
    ...[...everyNote.read(owner)].map(([method, [time, options]]) =>
      readScheduled({ owner, method, decorator: 'Every', options }, problems, (where) =>
        everySchedule(time, where, problems),
      ),
    ),
  ])
  const byName = new Map<string, DeclaredJob>()
  for (const job of found) {
    const other = byName.get(job.name)
    if (other === undefined) byName.set(job.name, job)
    else problems.push(twice(job, other))
  }
  return [...byName.values()]
}

/** @returns problems of jobs whose class was forgotten among the providers: nothing would ever run them */
export function findUnlistedJobs(providers: readonly Class[]): Problem[] {
  return [jobNote, cronNote, everyNote].flatMap((note) => note.findUnlisted(providers))
}

function twice({ name, owner, method }: DeclaredJob, other: DeclaredJob): Problem {
  const [one, two] = [`${other.owner.name}.${other.method}`, `${owner.name}.${method}`]
  return {
    code: 'DUPLICATE_JOB',
    message: `Two jobs are called "${name}": ${one === two ? `${one}, of two classes or with two decorators` : `${one} and ${two}`}.`,
    remedy: "Give one of them another name: @Job({ name: 'other' }).",
  }
}

interface Noted {
  readonly owner: Class
  readonly method: string
  readonly decorator: string
  readonly options: CommonOptions
}

function readJob(noted: Noted, problems: Problem[]): DeclaredJob {
  const options = noted.options as JobOptions
  const where = whereOf(noted)
  const { body, group, perGroup, rate, secret = false } = options
  checkNames(noted, ['body', 'group', 'perGroup', 'rate', 'secret'], problems)
  let check: InputCheck<object> | undefined
  try {
    if (body !== undefined) check = checkOf(body, { whole: 'the body' })
  } catch (error) {
    if (error instanceof DeclarationError) problems.push(...error.problems)
    else
      problems.push(
        invalid(where, 'body', 'is no class with fields', 'Give a class whose fields have @Field.'),
      )
  }
  if (group !== undefined && typeof group !== 'function')
    problems.push(invalid(where, 'group', 'is no function', 'Write (body) => body.orgId.'))
  if (perGroup !== undefined && group === undefined)
    problems.push(invalid(where, 'perGroup', 'has no group', 'Add group: (body) => body.orgId.'))
  if (typeof secret !== 'boolean')
    problems.push(invalid(where, 'secret', 'is no boolean', 'Write true or false.'))
  const read = rate === undefined ? undefined : readRate(rate)
  if (rate !== undefined && read === undefined)
    problems.push(
      invalid(where, 'rate', `is ${JSON.stringify(rate)}`, "Write '100/m', '5/s' or '1000/h'."),
    )
  return {
    ...readCommon(noted, 5, problems),
    check,
    group: group,
    perGroup: readCount({ where, option: 'perGroup', value: perGroup }, 1, problems),
    rate: read,
    isSecret: secret,
    schedule: undefined,
  }
}

function readScheduled(
  noted: Noted,
  problems: Problem[],
  read: (where: string) => Schedule | undefined,
): DeclaredJob {
  checkNames(noted, noted.decorator === 'Cron' ? ['zone'] : [], problems)
  return {
    ...readCommon(noted, noted.decorator === 'Every' ? 0 : 5, problems),
    check: undefined,
    group: undefined,
    perGroup: 1,
    rate: undefined,
    isSecret: false,
    schedule: read(whereOf(noted)),
  }
}

function cronSchedule(
  pattern: unknown,
  zone: unknown = 'UTC',
  where: string,
  problems: Problem[],
): Schedule | undefined {
  try {
    if (typeof pattern !== 'string') throw new Error('it is no text')
    if (typeof zone !== 'string') throw new Error('its zone is no text')
    return { text: `cron ${pattern.trim()} ${zone}`, next: readCron(pattern, zone) }
  } catch (error) {
    problems.push({
      code: 'INVALID_OPTION',
      message: `${where}: ${JSON.stringify(pattern)} cannot be used: ${(error as Error).message}.`,
      remedy: "Write five fields and a zone: @Cron('0 3 * * *', { zone: 'Europe/Berlin' }).",
    })
    return undefined
  }
}

function everySchedule(time: unknown, where: string, problems: Problem[]): Schedule | undefined {
  const seconds = readSeconds(time)
  if (seconds !== undefined)
    return { text: `every ${seconds}`, next: (after) => after + seconds * 1000 }
  const message = `${where}: ${JSON.stringify(time)} is no time.`
  problems.push({ code: 'INVALID_OPTION', message, remedy: "Write '10m', '1h' or seconds." })
  return undefined
}

type Common = Pick<
  DeclaredJob,
  'name' | 'owner' | 'method' | 'retries' | 'backoff' | 'timeout' | 'concurrency' | 'keep'
>

function readCommon(noted: Noted, defaultRetries: number, problems: Problem[]): Common {
  const { owner, method, options } = noted
  const where = whereOf(noted)
  const { name = `${owner.name}.${method}`, retries = defaultRetries, concurrency } = options
  const { backoff = '10s', timeout = '10m', keep = '1d' } = options
  if (typeof name !== 'string' || name === '' || name.length > 200)
    problems.push(invalid(where, 'name', 'is no short text', "Write 'Mail.welcome'."))
  if (!Number.isSafeInteger(retries) || retries < 0 || retries > 1000)
    problems.push(invalid(where, 'retries', `is ${JSON.stringify(retries)}`, 'Write 0 to 1000.'))
  const time = (option: string, value: unknown, least?: number): number => {
    const seconds = value === 0 || value === '0s' ? least : readSeconds(value)
    if (seconds === undefined)
      problems.push(
        invalid(where, option, `is ${JSON.stringify(value)}`, "Write '10s', '5m' or seconds."),
      )
    return seconds ?? 1
  }
  return {
    name,
    owner,
    method,
    retries,
    concurrency: readCount(
      { where, option: 'concurrency', value: concurrency },
      Infinity,
      problems,
    ),
    backoff: time('backoff', backoff, 0) * 1000,
    timeout: time('timeout', timeout) * 1000,
    keep: time('keep', keep, 0),
  }
}

function readCount(
  {
    where,
    option,
    value,
  }: { readonly where: string; readonly option: string; readonly value: unknown },
  fallback: number,
  problems: Problem[],
): number {
  if (value === undefined) return fallback
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value)
  problems.push(invalid(where, option, `is ${JSON.stringify(value)}`, 'Write a number from 1.'))
  return 1
}

function checkNames(noted: Noted, more: readonly string[], problems: Problem[]): void {
  problems.push(...rejectUnknownOptions(noted.options, [...commonNames, ...more], whereOf(noted)))
}

function whereOf({ owner, method, decorator }: Noted): string {
  return `@${decorator} of ${owner.name}.${method}`
}

function invalid(where: string, option: string, what: string, remedy: string): Problem {
  return { code: 'INVALID_OPTION', message: `${where}: ${option} ${what}.`, remedy }
}

/** A job and the provider that has it. */
export interface KnownJob extends DeclaredJob {
  /** Calls the method. */
  readonly call: (...args: unknown[]) => unknown
}

export class Registry {
  static readonly inject = [ApplicationState]
  readonly #state: ApplicationState
  #jobs: ReadonlyMap<string, KnownJob> | undefined

  constructor(state: ApplicationState) {
    this.#state = state
  }

  /** By name. */
  get jobs(): ReadonlyMap<string, KnownJob> {
    this.#jobs ??= this.#read()
    return this.#jobs
  }

  /** @throws {TypeError} the class has no such job, or is no provider */
  find(owner: Class, method: string): KnownJob {
    for (const job of this.jobs.values())
      if (job.method === method && (job.owner === owner || owner.prototype instanceof job.owner))
        return job
    const known = [...this.jobs.keys()].join(', ') || 'none'
    throw new TypeError(
      `${owner.name}.${method} is no job: add @Job to the method, and ${owner.name} to the providers of a module. Jobs: ${known}.`,
    )
  }

  #read(): Map<string, KnownJob> {
    const jobs = new Map<string, KnownJob>()
    for (const provider of this.#state.providers) {
      if (typeof provider !== 'object' || provider === null) continue
      const ignored: Problem[] = []
      for (const job of readJobs([provider.constructor as Class], ignored)) {
        const named = this.#state.named(`the job ${job.name}`, (args: unknown[]): unknown => {
          const method: unknown = Reflect.get(provider, job.method)
          return Reflect.apply(method as () => unknown, provider, args)
        })
        const call = (...args: unknown[]): unknown => named(args)
        // Declared faults have stopped the start; an override may have a job of the same name.
        if (!jobs.has(job.name)) jobs.set(job.name, { ...job, call })
      }
    }
    return jobs
  }
}
