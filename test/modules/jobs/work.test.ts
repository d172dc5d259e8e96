/** Processes that work: waking, time-outs, cancelling, the end. On both engines, on files and a server. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Database, Module, NoAuth, Post, type Application } from 'filigree'
import { Job, Jobs, jobs, JobStopped, type JobsOptions, type RunningJob } from 'filigree/jobs'
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'

const context = new AsyncLocalStorage<string>()
const seen: unknown[] = []
/** What the running job waits for, unless it heeds its signal. */
let gate: Promise<void>
let open: () => void

class Work {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Job() look({ name }: { readonly name: string }): void {
    seen.push([name, context.getStore(), this.database.openTransaction()])
  }

  @Job({ timeout: '1s', retries: 0 }) async deaf(_body: unknown, job: RunningJob): Promise<void> {
    seen.push('deaf')
    job.signal.addEventListener('abort', () => seen.push((job.signal.reason as JobStopped).why))
    await gate
  }

  @Job() async heeds(_body: unknown, job: RunningJob): Promise<void> {
    seen.push(`heeds ${job.attempt}`)
    await new Promise((_resolve, reject) => {
      job.signal.addEventListener('abort', () => {
        const { why } = job.signal.reason as JobStopped
        seen.push(why)
        reject(job.signal.reason as Error)
      })
    })
  }

  @Job() async held(_body: unknown, job: RunningJob): Promise<void> {
    seen.push(`held ${job.attempt}`)
    await gate
  }
}

@NoAuth
@Controller('/')
class Asks {
  static inject = [Jobs]
  constructor(private readonly jobs: Jobs) {}

  @Post('/', { transaction: true }) async ask() {
    await context.run('of the request', () => this.jobs.add(Work, 'look', { name: 'asked' }))
    return seen.length
  }
}

const until = async (isSo: () => unknown): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

let server: PostgresServer | undefined
let folder: string

const addresses: readonly (readonly [string, () => Promise<string>])[] = [
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, `${Math.random()}.db`)}`)],
  ['PostgreSQL', async () => (server ??= await startPostgres()).createDatabase()],
]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-jobs-'))
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true })
})

describe.each(addresses)('on %s', (_name, address) => {
  const apps: Application[] = []
  let database: string

  const start = async (options: JobsOptions): Promise<[Application, Jobs]> => {
    @Module({ controllers: [Asks], providers: [Work], imports: [jobs(options)] })
    class App {}
    const app = await bootstrap(App, { listen: false, logger: false, env: {}, database })
    apps.push(app)
    return [app, app.get(Jobs)]
  }

  beforeEach(async () => {
    database = await address()
    seen.length = 0
    gate = new Promise((resolve) => {
      open = resolve
    })
  })
  afterEach(async () => {
    open()
    for (const app of apps.splice(0)) await app.close()
  })

  it('a job runs soon after its commit, outside of the request and the transaction that added it', async () => {
    const [app] = await start({ work: true })
    const { body } = await app.inject({ method: 'POST', url: '/' })
    expect(body).toBe('0')
    await until(() => seen.length === 1)
    expect(seen).toEqual([['asked', undefined, undefined]])
  })

  it('a job runs when its time comes', async () => {
    const [, queue] = await start({ work: true })
    await queue.add(Work, 'look', { name: 'later' }, { in: '1s' })
    await queue.add(Work, 'look', { name: 'now' })
    await until(() => seen.length === 2)
    expect(seen.map((one) => (one as string[])[0])).toEqual(['now', 'later'])
  })

  it('a process that only adds leaves the work to others', async () => {
    const [, adding] = await start({})
    await adding.add(Work, 'look', { name: 'a' })
    await start({ work: true })
    await adding.add(Work, 'look', { name: 'b' })
    await until(() => seen.length === 2)
    await until(async () => (await adding.counts()).done === 2)
  })

  it('a run that exceeds its time is told, and failed where it does not stop', async () => {
    const [, queue] = await start({ work: true, concurrency: 1 })
    const { id } = await queue.add(Work, 'deaf')
    await queue.add(Work, 'look', { name: 'next' })
    await until(async () => (await queue.find(id))?.state === 'failed')
    expect((await queue.find(id))?.error).toContain('The run exceeded its time.')
    await until(() => seen.length === 3)
    open()
    await until(async () => (await queue.counts()).done === 1)
    expect((await queue.find(id))?.state).toBe('failed')
    expect(seen.slice(0, 2)).toEqual(['deaf', 'timeout'])
  })

  it('cancelling aborts the signal, in another process too', async () => {
    await start({ work: true })
    const [, queue] = await start({})
    const { id } = await queue.add(Work, 'heeds')
    await until(() => seen.length === 1)
    expect(await queue.cancel(id)).toBe(true)
    await until(async () => (await queue.find(id))?.state === 'cancelled')
    expect(seen).toEqual(['heeds 1', 'cancelled'])
  })

  it('at the end running ones may finish, and no new one begins', async () => {
    const [app, queue] = await start({ work: true, concurrency: 1 })
    await queue.add(Work, 'held')
    await until(() => seen.length === 1)
    await queue.add(Work, 'look', { name: 'never here' })
    const closing = app.close()
    open()
    await closing
    const [, other] = await start({})
    expect(await other.counts()).toMatchObject({ done: 1, waiting: 1, running: 0 })
  })

  it('at the end what heeds its signal, and what does not, is given back without counting', async () => {
    const [app, queue] = await start({ work: true, drain: 0 })
    await queue.add(Work, 'held')
    await queue.add(Work, 'heeds')
    await until(() => seen.length === 2)
    await app.close()
    const [, other] = await start({})
    const entries = await other.list()
    expect(entries.map(({ state, attempt, error }) => [state, attempt, error])).toEqual([
      ['waiting', 0, null],
      ['waiting', 0, null],
    ])
    expect(seen).toContain('closing')
  })
})
