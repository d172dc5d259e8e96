/** `@Job`, `@Cron` and `@Every`: reads and checks their options, and finds the provider that runs each job. */
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
import { readCron, type NextTime } from './cron.js'

/** Any class. */
export type Class<T = object> = abstract new (...args: never[]) => T

/** The options of `@Job`, `@Cron` and `@Every`. */
export interface CommonOptions {
  /** Default `Class.method`. Set a name before you rename the class or the method: waiting jobs are found by it. */
  name?: string
  /** Retries after an error: `retries: n` allows n + 1 runs. Default 5, for `@Every` 0. */
  retries?: number
  /** Time before the first retry. It doubles with each retry up to an hour, with jitter. Default `'10s'`. */
  backoff?: number | string
  /** Time after which `job.signal` aborts. A run that does not stop within 5 s counts as failed. Default `'10m'`. */
  timeout?: number | string
  /** How many runs of this job a process allows at the same time. Default: the concurrency of the process. */
  concurrency?: number
  /** How long a finished job is stored. Default `'1d'`. */
  keep?: number | string
}

export interface JobOptions<Body = unknown> extends CommonOptions {
  /** The class of the body, which is checked when the job is added and when it runs. Default: any JSON. */
  body?: Class<Body & object>
  /** The group of a job. Jobs of one group share `perGroup`. Undefined: no group. */
  group?: (body: Body) => string | number | undefined
  /** How many jobs of a group run at the same time, in all processes together. Default 1. */
  perGroup?: number
  /** How many runs start in a period, in all processes together: `'100/m'`. Other jobs wait. */
  rate?: string
  /**
   * Clients cannot read the body, and it is deleted when the job is done or cancelled. For a failed job it is stored for `keep`, so that it
   * can be retried. Use it for sign-in links, passwords and addresses. Default false.
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
  <Body>(options?: JobOptions<Body>): ReturnType<typeof jobMetadata>
} = (options = {}) => jobMetadata(options as JobOptions)

/**
 * Runs a method at the times of a cron pattern, once in all processes together: `@Cron('0 3 * * *', { zone: 'Europe/Berlin' })`.
 */
export function Cron(pattern: string, options: CronOptions = {}): ReturnType<typeof cronMetadata> {
  return cronMetadata(pattern, options)
}

/** Runs a method repeatedly, in all processes together, and never two runs at the same time: `@Every('10m')`. */
export function Every(
  time: number | string,
  options: EveryOptions = {},
): ReturnType<typeof everyMetadata> {
  return everyMetadata(time, options)
}

const jobMetadata = createMetadata<[options: JobOptions]>('Job')
const cronMetadata = createMetadata<[pattern: string, options: CronOptions]>('Cron')
const everyMetadata = createMetadata<[time: number | string, options: EveryOptions]>('Every')

/** The schedule of a job that is added automatically. */
interface Schedule {
  /** Schedules with the same text are equal. */
  readonly text: string
  readonly next: NextTime
}

/** A job as its decorator declares it. */
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
 * @param problems receives invalid options and duplicate names
 * @returns all jobs of these classes
 */
export function readJobs(classes: readonly Class[], problems: Problem[]): DeclaredJob[] {
  const found = [...new Set(classes)].flatMap((owner) => [
    ...[...jobMetadata.read(owner)].map(([method, [options]]) =>
      readJob({ owner, method, decorator: 'Job', options }, problems),
    ),
    ...[...cronMetadata.read(owner)].map(([method, [pattern, options]]) =>
      readScheduled({ owner, method, decorator: 'Cron', options }, problems, (where) =>
        cronSchedule(pattern, options.zone, where, problems),
      ),
    ),
    ...[...everyMetadata.read(owner)].map(([method, [time, options]]) =>
      readScheduled({ owner, method, decorator: 'Every', options }, problems, (where) =>
        everySchedule(time, where, problems),
      ),
    ),
  ])
  const byName = new Map<string, DeclaredJob>()
  for (const job of found) {
    const other = byName.get(job.name)
    if (other === undefined) byName.set(job.name, job)
    else problems.push(duplicateName(job, other))
  }
  return [...byName.values()]
}

/** Logs a warning for each class with jobs that no module lists. Its jobs wait for a process that lists it. */
export function warnUnlistedJobs(application: ApplicationState): void {
  for (const metadata of [jobMetadata, cronMetadata, everyMetadata])
    metadata.warnUnlisted(application)
}

function duplicateName({ name, owner, method }: DeclaredJob, other: DeclaredJob): Problem {
  const [one, two] = [`${other.owner.name}.${other.method}`, `${owner.name}.${method}`]
  return {
    code: 'DUPLICATE_JOB',
    message: `Two jobs have the name "${name}": ${one === two ? `${one}, of two classes or with two decorators` : `${one} and ${two}`}.`,
    remedy: "Give one of them another name: @Job({ name: 'other' }).",
  }
}

interface DecoratedMethod {
  readonly owner: Class
  readonly method: string
  readonly decorator: string
  readonly options: CommonOptions
}

function readJob(decorated: DecoratedMethod, problems: Problem[]): DeclaredJob {
  const options = decorated.options as JobOptions
  const where = describeDecorator(decorated)
  const { body, group, perGroup, rate, secret = false } = options
  checkOptionNames(decorated, ['body', 'group', 'perGroup', 'rate', 'secret'], problems)
  let check: InputCheck<object> | undefined
  try {
    if (body !== undefined) check = checkOf(body, { name: 'the body' })
  } catch (error) {
    if (error instanceof DeclarationError) problems.push(...error.problems)
    else
      problems.push(
        invalid(
          where,
          'body',
          'is not a class with fields',
          'Give a class whose fields have @Field.',
        ),
      )
  }
  if (group !== undefined && typeof group !== 'function')
    problems.push(invalid(where, 'group', 'is not a function', 'Write (body) => body.orgId.'))
  if (perGroup !== undefined && group === undefined)
    problems.push(invalid(where, 'perGroup', 'has no group', 'Add group: (body) => body.orgId.'))
  if (typeof secret !== 'boolean')
    problems.push(invalid(where, 'secret', 'is not a boolean', 'Write true or false.'))
  const parsedRate = rate === undefined ? undefined : readRate(rate)
  if (rate !== undefined && parsedRate === undefined)
    problems.push(
      invalid(where, 'rate', `is ${JSON.stringify(rate)}`, "Write '100/m', '5/s' or '1000/h'."),
    )
  return {
    ...readCommon(decorated, 5, problems),
    check,
    group,
    perGroup: readCount({ where, option: 'perGroup', value: perGroup }, 1, problems),
    rate: parsedRate,
    isSecret: secret,
    schedule: undefined,
  }
}

function readScheduled(
  decorated: DecoratedMethod,
  problems: Problem[],
  readSchedule: (where: string) => Schedule | undefined,
): DeclaredJob {
  checkOptionNames(decorated, decorated.decorator === 'Cron' ? ['zone'] : [], problems)
  return {
    ...readCommon(decorated, decorated.decorator === 'Every' ? 0 : 5, problems),
    check: undefined,
    group: undefined,
    perGroup: 1,
    rate: undefined,
    isSecret: false,
    schedule: readSchedule(describeDecorator(decorated)),
  }
}

function cronSchedule(
  pattern: unknown,
  zone: unknown = 'UTC',
  where: string,
  problems: Problem[],
): Schedule | undefined {
  try {
    if (typeof pattern !== 'string') throw new Error('it is not a string')
    if (typeof zone !== 'string') throw new Error('its zone is not a string')
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
  const message = `${where}: ${JSON.stringify(time)} is not a time.`
  problems.push({ code: 'INVALID_OPTION', message, remedy: "Write '10m', '1h' or seconds." })
  return undefined
}

type Common = Pick<
  DeclaredJob,
  'name' | 'owner' | 'method' | 'retries' | 'backoff' | 'timeout' | 'concurrency' | 'keep'
>

function readCommon(
  decorated: DecoratedMethod,
  defaultRetries: number,
  problems: Problem[],
): Common {
  const { owner, method, options } = decorated
  const where = describeDecorator(decorated)
  const { name = `${owner.name}.${method}`, retries = defaultRetries, concurrency } = options
  const { backoff = '10s', timeout = '10m', keep = '1d' } = options
  if (typeof name !== 'string' || name === '' || name.length > 200)
    problems.push(
      invalid(where, 'name', 'is not a string of 1 to 200 characters', "Write 'Mail.welcome'."),
    )
  if (!Number.isSafeInteger(retries) || retries < 0 || retries > 1000)
    problems.push(invalid(where, 'retries', `is ${JSON.stringify(retries)}`, 'Write 0 to 1000.'))
  const time = (option: string, value: unknown, valueOfZero?: number): number => {
    const seconds = value === 0 || value === '0s' ? valueOfZero : readSeconds(value)
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

function checkOptionNames(
  decorated: DecoratedMethod,
  specificNames: readonly string[],
  problems: Problem[],
): void {
  problems.push(
    ...rejectUnknownOptions(
      decorated.options,
      [...commonNames, ...specificNames],
      describeDecorator(decorated),
    ),
  )
}

function describeDecorator({ owner, method, decorator }: DecoratedMethod): string {
  return `@${decorator} of ${owner.name}.${method}`
}

function invalid(where: string, option: string, problem: string, remedy: string): Problem {
  return { code: 'INVALID_OPTION', message: `${where}: ${option} ${problem}.`, remedy }
}

/** A job with the method of its provider. */
export interface RegisteredJob extends DeclaredJob {
  /** Calls the method. */
  readonly call: (...args: unknown[]) => unknown
}

export class JobRegistry {
  static readonly inject = [ApplicationState]
  readonly #state: ApplicationState
  #jobs: ReadonlyMap<string, RegisteredJob> | undefined

  constructor(state: ApplicationState) {
    this.#state = state
  }

  /** By name. */
  get jobs(): ReadonlyMap<string, RegisteredJob> {
    this.#jobs ??= this.#read()
    return this.#jobs
  }

  /** @throws {TypeError} the class has no such job, or is not a provider */
  find(owner: Class, method: string): RegisteredJob {
    for (const job of this.jobs.values())
      if (job.method === method && (job.owner === owner || owner.prototype instanceof job.owner))
        return job
    const knownNames = [...this.jobs.keys()].join(', ') || 'none'
    throw new TypeError(
      `${owner.name}.${method} is not a job: add @Job to the method, and ${owner.name} to the providers of a module. Jobs: ${knownNames}.`,
    )
  }

  #read(): Map<string, RegisteredJob> {
    const jobs = new Map<string, RegisteredJob>()
    for (const provider of this.#state.providers) {
      if (typeof provider !== 'object' || provider === null) continue
      const reportedProblems: Problem[] = []
      for (const job of readJobs([provider.constructor as Class], reportedProblems)) {
        const named = this.#state.named(`the job ${job.name}`, (args: unknown[]): unknown => {
          const method: unknown = Reflect.get(provider, job.method)
          return Reflect.apply(method as () => unknown, provider, args)
        })
        const call = (...args: unknown[]): unknown => named(args)
        // Problems have stopped the start already. An override may have a job of the same name: the first one counts.
        if (!jobs.has(job.name)) jobs.set(job.name, { ...job, call })
      }
    }
    return jobs
  }
}
