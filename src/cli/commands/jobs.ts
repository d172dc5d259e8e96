/** `filigree jobs`: lists, retries and cancels jobs, without starting the application. */
import { HttpError } from '../../errors/http-error.js'
import type { Database } from '../../records/database.js'
import type { Repository } from '../../records/repository.js'
import {
  defineCommand,
  flag,
  moduleFileOf,
  moduleOption,
  option,
  readInteger,
  type Terminal,
  UsageError,
} from '../command.js'
import { createPaint, toHeading, toJson, toTable } from '../output.js'
import {
  findJobRecord,
  openDatabase,
  loadApplication,
  planForDatabase,
} from '../load-application.js'

const states = ['waiting', 'running', 'done', 'failed', 'cancelled']

export const jobsCommand = defineCommand({
  group: 'Operate',
  usage: 'filigree jobs [file]',
  summary: 'lists jobs, retries and cancels them',
  description:
    'Lists jobs, the newest first, and the number of jobs in each state. The application is not started.',
  options: {
    state: option('<state>', `only jobs in this state: ${states.join(', ')}`, states),
    name: option('<name>', 'only jobs of this name: Mail.welcome'),
    limit: option('<number>', 'the maximum number of jobs. Default: 50'),
    retry: option('<id>', 'runs a failed or cancelled job again. "all" runs all listed jobs again'),
    cancel: option('<id>', 'cancels a waiting job, or asks a running job to stop'),
    module: moduleOption,
    json: flag('prints { counts, jobs }'),
  },
  examples: ['filigree jobs --state failed', 'filigree jobs --state failed --retry all'],
  run: async (args, terminal) => {
    const { values } = args
    const { state, name } = values
    if (state !== undefined && !states.includes(state))
      throw new UsageError(`unknown state "${state}". States: ${states.join(', ')}.`)
    const limit = readInteger('--limit', values.limit ?? '50')
    const application = await loadApplication(moduleFileOf(args), terminal)
    const plan = await planForDatabase(application)
    const type = findJobRecord(plan.records)
    const database = await openDatabase(plan, application.options.database, terminal)
    try {
      const records = database.records(type) as Repository<Entry & object>
      const where = {
        ...(state === undefined ? {} : { state }),
        ...(name === undefined ? {} : { name }),
      }
      const list = (): Promise<Entry[]> =>
        records.list({ where, orderBy: { id: 'desc' }, limit } as never)
      if (values.retry !== undefined)
        return await retry(await idsOf(values.retry, list), { records, database, terminal })
      if (values.cancel !== undefined)
        return await cancel(readInteger('--cancel', values.cancel), { records, database, terminal })
      const counts = await countStates(records)
      const jobs = await list()
      await terminal.out(
        values.json
          ? toJson({ counts, jobs: jobs.map(withoutSecretBody) })
          : toLines(counts, jobs, terminal),
      )
      return true
    } finally {
      await database.close()
    }
  },
})

/** The columns of a job that the list shows. */
interface Entry {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly attempt: number
  readonly runAt: string
  readonly error: string | null
}

interface JobAccess {
  readonly records: Repository<Entry & object>
  readonly database: Database
  readonly terminal: Terminal
}

/** Removes the bodies of secret jobs, which are never shown. */
function withoutSecretBody(entry: Entry): object {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== 'secretBody'))
}

async function idsOf(text: string, list: () => Promise<Entry[]>): Promise<number[]> {
  if (text !== 'all') return [readInteger('--retry', text)]
  return (await list()).map(({ id }) => id)
}

async function retry(
  ids: readonly number[],
  { records, database, terminal }: JobAccess,
): Promise<boolean> {
  let done = 0
  for (const id of ids) {
    const where = { id, state: { in: ['failed', 'cancelled'] }, emptiedAt: { isNull: true } }
    const now = new Date(database.now()).toISOString()
    const cleared = {
      laterAt: null,
      cancelAt: null,
      startedAt: null,
      endedAt: null,
      keepUntil: null,
    }
    const change = { state: 'waiting', attempt: 0, runAt: now, progress: null, ...cleared }
    done += await records.updateWhere(where as never, change).catch(async (error: unknown) => {
      if (!(error instanceof HttpError) || error.status !== 409) throw error
      await terminal.out(`Job ${id} is not retried: a job with its unique key waits or runs.\n`)
      return 0
    })
  }
  if (done > 0) await database.signal('jobs')
  await terminal.out(`${done === 1 ? '1 job waits' : `${done} jobs wait`} to run again.\n`)
  return done === ids.length
}

async function cancel(id: number, { records, database, terminal }: JobAccess): Promise<boolean> {
  const now = new Date(database.now()).toISOString()
  const waiting = { id, state: 'waiting' }
  const cancelled = { state: 'cancelled', cancelAt: now, laterAt: null, endedAt: now }
  const wasWaiting = await records.updateWhere(waiting as never, cancelled)
  const secret = { id, state: 'cancelled', secretBody: { isNull: false } }
  const erasedBody = { secretBody: null, emptiedAt: now }
  await records.updateWhere(secret as never, erasedBody as never)
  const running = { id, state: 'running' }
  const wasRunning =
    wasWaiting > 0 ? 0 : await records.updateWhere(running as never, { cancelAt: now } as never)
  const result = wasWaiting > 0 ? 'is cancelled' : wasRunning > 0 ? 'was asked to stop' : undefined
  await terminal.out(`Job ${id} ${result ?? 'neither waits nor runs'}.\n`)
  return result !== undefined
}

async function countStates(records: Repository<Entry & object>): Promise<Record<string, number>> {
  const rows = (await records.aggregate({ groupBy: ['state'], count: true } as never)) as {
    readonly state: string
    readonly count: number
  }[]
  return Object.fromEntries(
    states.map((state) => [state, rows.find((row) => row.state === state)?.count ?? 0]),
  )
}

function toLines(
  counts: Readonly<Record<string, number>>,
  jobs: readonly Entry[],
  { hasColours }: Terminal,
): string {
  const head = Object.entries(counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
  if (jobs.length === 0) return `${head}\n`
  const rows = jobs.map(({ id, name, state, attempt, runAt, error }) => [
    String(id),
    name,
    state,
    String(attempt),
    runAt,
    error?.split('\n')[0]?.slice(0, 100) ?? '',
  ])
  const paint = createPaint(hasColours)
  const headings = toHeading(paint, 'ID', 'JOB', 'STATE', 'ATTEMPT', 'RUNS AT', 'ERROR')
  return `${head}\n${toTable([headings, ...rows])}`
}
