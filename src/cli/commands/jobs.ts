/** `filigree jobs`: lists, retries and cancels jobs, without starting the application. */
import { Clock } from '../../core/time.js'
import type { Class } from '../../metadata/class.js'
import {
  cancelRow,
  countStates,
  hasActiveDuplicate,
  jobStates,
  JobTable,
  retryRow,
  type JobEntry,
  type JobState,
} from '../../modules/jobs/job-table.js'
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
import { toHeading, toJson, toTable } from '../output.js'
import { createPaint } from '../../core/paint.js'
import {
  findJobRecord,
  openDatabase,
  loadApplication,
  planForDatabase,
} from '../load-application.js'

export const jobsCommand = defineCommand({
  group: 'Operate',
  usage: 'filigree jobs [file]',
  summary: 'lists jobs, retries and cancels them',
  description:
    'Lists jobs, the newest first, and the number of jobs in each state. The application is not started.',
  options: {
    state: option('<state>', `only jobs in this state: ${jobStates.join(', ')}`, jobStates),
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
    if (state !== undefined && !jobStates.includes(state as JobState))
      throw new UsageError(`unknown state "${state}". States: ${jobStates.join(', ')}.`)
    const limit = readInteger('--limit', values.limit ?? '50')
    const application = await loadApplication(moduleFileOf(args), terminal)
    const plan = await planForDatabase(application)
    const type = findJobRecord(plan.records)
    const database = await openDatabase(plan, application.options.database, terminal)
    try {
      const table = new JobTable(database, new Clock())
      const records = database.records(type as Class<JobEntry>)
      const where = {
        ...(state === undefined ? {} : { state: state as JobState }),
        ...(name === undefined ? {} : { name }),
      }
      const list = (): Promise<JobEntry[]> =>
        records.list({ where, orderBy: { id: 'desc' }, limit })
      if (values.retry !== undefined)
        return await retry(await idsOf(values.retry, list), table, terminal)
      if (values.cancel !== undefined)
        return await cancel(readInteger('--cancel', values.cancel), table, terminal)
      const counts = await countStates(table)
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

/** Removes the bodies of secret jobs, which are never shown. */
function withoutSecretBody(entry: JobEntry): object {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => name !== 'secretBody'))
}

async function idsOf(text: string, list: () => Promise<JobEntry[]>): Promise<number[]> {
  if (text !== 'all') return [readInteger('--retry', text)]
  return (await list()).map(({ id }) => id)
}

async function retry(ids: readonly number[], table: JobTable, { out }: Terminal): Promise<boolean> {
  let done = 0
  for (const id of ids) {
    if (await retryRow(table, id)) done++
    else if (await hasActiveDuplicate(table, id))
      await out(`Job ${id} is not retried: a job with its unique key waits or runs.\n`)
  }
  if (done > 0) await table.database.signal('jobs')
  await out(`${done === 1 ? '1 job waits' : `${done} jobs wait`} to run again.\n`)
  return done === ids.length
}

async function cancel(id: number, table: JobTable, { out }: Terminal): Promise<boolean> {
  const previousState = await cancelRow(table, id)
  const results = { waiting: 'is cancelled', running: 'was asked to stop' }
  const result = previousState === undefined ? 'neither waits nor runs' : results[previousState]
  await out(`Job ${id} ${result}.\n`)
  return previousState !== undefined
}

function toLines(
  counts: Readonly<Record<string, number>>,
  jobs: readonly JobEntry[],
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
