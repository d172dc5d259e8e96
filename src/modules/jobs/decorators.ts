/** `@Job`, `@Cron` and `@Every`: reads and checks their options, and finds the provider that runs each job. */
import {
  checkOf,
  createMetadata,
  DeclarationError,
  declareOptions,
  option,
  readRate,
  readSeconds,
  type InputCheck,
  type Class,
  type OptionsOf,
  type Problem,
  type Rate,
  type ValuesOf,
  ApplicationState,
} from '../../index.js'
import { readCron, type NextTime } from './cron.js'

const timeRemedy = "Write '10s', '5m' or seconds."

const commonOptions = declareOptions({
  /** Default `Class.method`. Set a name before you rename the class or the method: waiting jobs are found by it. */
  name: option.text("Write 1 to 200 characters: 'Mail.welcome'.", /^[^]{1,200}$/),
  /** Retries after an error: `retries: n` allows n + 1 runs. Default 5, for `@Every` 0. */
  retries: option.integer(0, 1000, 'Write 0 to 1000.').shown(),
  /** Time before the first retry. It doubles with each retry up to an hour, with jitter. Default `'10s'`. */
  backoff: option.seconds(timeRemedy, 0).shown().default('10s'),
  /** Time after which `job.signal` aborts. A run that does not stop within 5 s counts as failed. Default `'10m'`. */
  timeout: option.seconds(timeRemedy).shown().default('10m'),
  /** How many runs of this job a process allows at the same time. Default: the concurrency of the process. */
  concurrency: option.integer(1, undefined, 'Write a number from 1.').shown(),
  /** How long a finished job is stored. Default `'1d'`. */
  keep: option.seconds(timeRemedy, 0).shown().default('1d'),
})

/** The options of `@Job`, `@Cron` and `@Every`. */
export interface CommonOptions extends OptionsOf<typeof commonOptions> {}

const jobOptions = declareOptions({
  ...commonOptions.all,
  body: option.of<Class>(
    (value) => typeof value === 'function',
    'Give a class whose fields have @Field.',
  ),
  group: option.of<(body: never) => string | number | undefined>(
    (value) => typeof value === 'function',
    'Write (body) => body.orgId.',
  ),
  /** How many jobs of a group run at the same time, in all processes together. Default 1. */
  perGroup: option.integer(1, undefined, 'Write a number from 1.').shown().default(1),
  /** How many runs start in a period, in all processes together: `'100/m'`. Other jobs wait. */
  rate: option.parsed<string, Rate>(readRate, "Write '100/m', '5/s' or '1000/h'.").shown(),
  /**
   * Clients cannot read the body, and it is deleted when the job is done or cancelled. For a failed job it is stored for `keep`, so that it
   * can be retried. Use it for sign-in links, passwords and addresses. Default false.
   */
  secret: option.flag().default(false),
})

export interface JobOptions<Body = unknown> extends OptionsOf<typeof jobOptions> {
  /** The class of the body, which is checked when the job is added and when it runs. Default: any JSON. */
  body?: Class<Body & object>
  /** The group of a job. Jobs of one group share `perGroup`. Undefined: no group. */
  group?: (body: Body) => string | number | undefined
}

const cronOptions = declareOptions({
  ...commonOptions.all,
  /** An IANA zone. Default UTC. */
  zone: option.text("Write a zone: 'Europe/Berlin'.").default('UTC'),
})

export interface CronOptions extends OptionsOf<typeof cronOptions> {}

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
interface JobSchedule {
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
  readonly schedule: JobSchedule | undefined
}

/** A part of a declaration that was read, and what is wrong with it. */
interface ReadResult<T> {
  readonly value: T
  readonly problems: readonly Problem[]
}

/** Reads all jobs of these classes. Invalid options have their defaults, and are problems, as are repeated names. */
export function readJobs(classes: readonly Class[]): {
  readonly jobs: readonly DeclaredJob[]
  readonly problems: readonly Problem[]
} {
  const found = [...new Set(classes)].flatMap((owner) => [
    ...[...jobMetadata.read(owner)].map(([method, [options]]) =>
      readJob({ owner, method, decorator: 'Job', options }),
    ),
    ...[...cronMetadata.read(owner)].map(([method, [pattern, options]]) =>
      readCronJob(pattern, { owner, method, decorator: 'Cron', options }),
    ),
    ...[...everyMetadata.read(owner)].map(([method, [time, options]]) =>
      readEveryJob(time, { owner, method, decorator: 'Every', options }),
    ),
  ])
  const byName = new Map<string, DeclaredJob>()
  const problems = found.flatMap((reading) => reading.problems)
  for (const { value: job } of found) {
    const other = byName.get(job.name)
    if (other === undefined) byName.set(job.name, job)
    else problems.push(duplicateName(job, other))
  }
  return { jobs: [...byName.values()], problems }
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

function readJob(decorated: DecoratedMethod): ReadResult<DeclaredJob> {
  const where = describeDecorator(decorated)
  const declared: JobOptions = decorated.options
  const options = jobOptions.read(declared)
  const body = readBody(where, options.body)
  const problems = [...jobOptions.findProblems(declared, where), ...body.problems]
  if (declared.perGroup !== undefined && options.group === undefined) {
    const message = `${where}: perGroup has no group.`
    problems.push({ code: 'INVALID_OPTION', message, remedy: 'Add group: (body) => body.orgId.' })
  }
  const { group, perGroup, rate, secret: isSecret } = options
  const common = toCommon(decorated, options, 5)
  const schedule = undefined
  const value = { ...common, check: body.value, group, perGroup, rate, isSecret, schedule }
  return { value, problems }
}

function readBody(
  where: string,
  body: Class | undefined,
): ReadResult<InputCheck<object> | undefined> {
  try {
    const value = body === undefined ? undefined : checkOf(body, { name: 'the body' })
    return { value, problems: [] }
  } catch (error) {
    if (error instanceof DeclarationError) return { value: undefined, problems: error.problems }
    const message = `${where}: body is not a class with fields.`
    const remedy = 'Give a class whose fields have @Field.'
    return { value: undefined, problems: [{ code: 'INVALID_OPTION', message, remedy }] }
  }
}

function readCronJob(pattern: string, decorated: DecoratedMethod): ReadResult<DeclaredJob> {
  const where = describeDecorator(decorated)
  const options = cronOptions.read(decorated.options)
  const schedule = readCronSchedule(where, pattern, options.zone)
  return {
    value: toScheduledJob(toCommon(decorated, options, 5), schedule.value),
    problems: [...cronOptions.findProblems(decorated.options, where), ...schedule.problems],
  }
}

function readEveryJob(time: number | string, decorated: DecoratedMethod): ReadResult<DeclaredJob> {
  const where = describeDecorator(decorated)
  const options = commonOptions.read(decorated.options)
  const schedule = readEverySchedule(where, time)
  return {
    value: toScheduledJob(toCommon(decorated, options, 0), schedule.value),
    problems: [...commonOptions.findProblems(decorated.options, where), ...schedule.problems],
  }
}

function toScheduledJob(common: CommonValues, schedule: JobSchedule | undefined): DeclaredJob {
  const single = { check: undefined, group: undefined, perGroup: 1, rate: undefined }
  return { ...common, ...single, isSecret: false, schedule }
}

function readCronSchedule(
  where: string,
  pattern: unknown,
  zone: string,
): ReadResult<JobSchedule | undefined> {
  try {
    if (typeof pattern !== 'string') throw new Error('it is not a string')
    const value = { text: `cron ${pattern.trim()} ${zone}`, next: readCron(pattern, zone) }
    return { value, problems: [] }
  } catch (error) {
    const message = `${where}: ${JSON.stringify(pattern)} cannot be used: ${(error as Error).message}.`
    const remedy = "Write five fields and a zone: @Cron('0 3 * * *', { zone: 'Europe/Berlin' })."
    return { value: undefined, problems: [{ code: 'INVALID_OPTION', message, remedy }] }
  }
}

function readEverySchedule(where: string, time: unknown): ReadResult<JobSchedule | undefined> {
  const seconds = readSeconds(time)
  if (seconds !== undefined) {
    const next: NextTime = (after) => after + seconds * 1000
    return { value: { text: `every ${seconds}`, next }, problems: [] }
  }
  const message = `${where}: ${JSON.stringify(time)} is not a time.`
  const remedy = "Write '10m', '1h' or seconds."
  return { value: undefined, problems: [{ code: 'INVALID_OPTION', message, remedy }] }
}

type CommonValues = Pick<
  DeclaredJob,
  'name' | 'owner' | 'method' | 'retries' | 'backoff' | 'timeout' | 'concurrency' | 'keep'
>

function toCommon(
  { owner, method }: DecoratedMethod,
  options: ValuesOf<typeof commonOptions>,
  defaultRetries: number,
): CommonValues {
  const { name = `${owner.name}.${method}`, retries = defaultRetries, keep } = options
  const { backoff, timeout, concurrency = Infinity } = options
  const times = { backoff: backoff * 1000, timeout: timeout * 1000, keep }
  return { name, owner, method, retries, concurrency, ...times }
}

function describeDecorator({ owner, method, decorator }: DecoratedMethod): string {
  return `@${decorator} of ${owner.name}.${method}`
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
      for (const job of readJobs([provider.constructor as Class]).jobs) {
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
