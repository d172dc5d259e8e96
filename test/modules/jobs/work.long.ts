/**
 * Processes that run jobs: wake-up, timeouts, cancelling, closing. On both engines, on files and a server. The cases mostly
 * wait, so they run concurrently, each with its own database.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Database, Module, NoAuth, Post, type Application } from 'filigree'
import { Job, Jobs, jobs, JobStopped, type JobsOptions, type RunningJob } from 'filigree/jobs'
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'
import { waitUntil } from '../../wait-until.js'

const context = new AsyncLocalStorage<string>()

/** A case: its database, its applications, and the recorded values of its jobs. */
class Scene {
  readonly recorded: unknown[] = []
  /** Opens the gate that running jobs wait for, unless their signal is aborted. */
  open!: () => void
  readonly gate = new Promise<void>((resolve) => {
    this.open = resolve
  })
  readonly #database: string
  readonly #apps: Application[] = []

  constructor(database: string) {
    this.#database = database
  }

  async start(options: JobsOptions): Promise<[Application, Jobs]> {
    @Module({
      controllers: [JobController],
      providers: [Work, { provide: Scene, use: this }],
      imports: [jobs(options)],
    })
    class App {}
    const database = this.#database
    const app = await bootstrap(App, { listen: false, logger: false, env: {}, database })
    this.#apps.push(app)
    return [app, app.get(Jobs)]
  }

  async end(): Promise<void> {
    this.open()
    for (const app of this.#apps) await app.close()
  }
}

class Work {
  static inject = [Database, Scene]
  constructor(
    private readonly database: Database,
    private readonly scene: Scene,
  ) {}

  @Job() look({ name }: { readonly name: string }): void {
    this.scene.recorded.push([name, context.getStore(), this.database.openTransaction()])
  }

  @Job({ timeout: '1s', retries: 0 }) async deaf(_body: unknown, job: RunningJob): Promise<void> {
    const { recorded, gate } = this.scene
    recorded.push('deaf')
    job.signal.addEventListener('abort', () => recorded.push((job.signal.reason as JobStopped).why))
    await gate
  }

  @Job() async heeds(_body: unknown, job: RunningJob): Promise<void> {
    const { recorded } = this.scene
    recorded.push(`heeds ${job.attempt}`)
    await new Promise((_resolve, reject) => {
      job.signal.addEventListener('abort', () => {
        const { why } = job.signal.reason as JobStopped
        recorded.push(why)
        reject(job.signal.reason as Error)
      })
    })
  }

  @Job() async held(_body: unknown, job: RunningJob): Promise<void> {
    this.scene.recorded.push(`held ${job.attempt}`)
    await this.scene.gate
  }
}

@NoAuth
@Controller('/')
class JobController {
  static inject = [Jobs, Scene]
  constructor(
    private readonly jobs: Jobs,
    private readonly scene: Scene,
  ) {}

  @Post('/', { transaction: true }) async addJob() {
    await context.run('of the request', () => this.jobs.add(Work, 'look', { name: 'asked' }))
    return this.scene.recorded.length
  }
}

let server: PostgresServer
let folder: string
/** All cases run concurrently before the first one reports its result. */
const cases: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-jobs-'))
  server = await startPostgres()
  await Promise.all(cases.map((play) => play()))
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const addresses: readonly (readonly [string, () => Promise<string>])[] = [
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, `${Math.random()}.db`)}`)],
  ['PostgreSQL', () => server.createDatabase()],
]

describe.each(addresses)('on %s', (_name, address) => {
  const scene = (title: string, play: (scene: Scene) => Promise<void>): void => {
    let failure: unknown
    cases.push(async () => {
      const one = new Scene(await address())
      await play(one)
        .finally(() => one.end())
        .catch((error: unknown) => {
          failure = error
        })
    })
    it(title, () => {
      if (failure !== undefined) throw failure as Error
    })
  }

  scene(
    'a job runs soon after its commit, outside the request and the transaction that added it',
    async (scene) => {
      const [app] = await scene.start({ work: true })
      const { body } = await app.inject({ method: 'POST', url: '/' })
      expect(body).toBe('0')
      await waitUntil(() => scene.recorded.length === 1)
      expect(scene.recorded).toEqual([['asked', undefined, undefined]])
    },
  )

  scene('jobs run when they are due, however rarely the table is polled', async (scene) => {
    const [, queue] = await scene.start({ work: true, poll: '1h' })
    await queue.add(Work, 'look', { name: 'last' }, { in: '5s' })
    await queue.add(Work, 'look', { name: 'later' }, { in: '2s' })
    await queue.add(Work, 'look', { name: 'now' })
    await waitUntil(() => scene.recorded.length === 3)
    expect(scene.recorded.map((one) => (one as string[])[0])).toEqual(['now', 'later', 'last'])
  })

  scene('a process that only adds jobs leaves the work to others', async (scene) => {
    const [, adding] = await scene.start({})
    await adding.add(Work, 'look', { name: 'a' })
    await scene.start({ work: true })
    await adding.add(Work, 'look', { name: 'b' })
    await waitUntil(() => scene.recorded.length === 2)
    await waitUntil(async () => (await adding.counts()).done === 2)
  })

  scene(
    'a run that exceeds its timeout is notified, and fails where it does not stop',
    async (scene) => {
      const [, queue] = await scene.start({ work: true, concurrency: 1 })
      const { id } = await queue.add(Work, 'deaf')
      await queue.add(Work, 'look', { name: 'next' })
      await waitUntil(async () => (await queue.find(id))?.state === 'failed')
      expect((await queue.find(id))?.error).toContain('The run exceeded its time.')
      await waitUntil(() => scene.recorded.length === 3)
      scene.open()
      await waitUntil(async () => (await queue.counts()).done === 1)
      expect((await queue.find(id))?.state).toBe('failed')
      expect(scene.recorded.slice(0, 2)).toEqual(['deaf', 'timeout'])
    },
  )

  scene('a job whose claim did not reach its process runs soon', async (scene) => {
    const [app, queue] = await scene.start({ work: true })
    await queue.add(Work, 'held')
    const { id } = await queue.add(Work, 'look', { name: 'claimed' }, { in: '1h' })
    await waitUntil(() => scene.recorded.length === 1)
    const { kysely } = app.get(Database)
    const { worker } = await kysely
      .selectFrom('jobs')
      .select('worker')
      .where('state', '=', 'running')
      .executeTakeFirstOrThrow()
    const [past, later] = [
      new Date(0).toISOString(),
      new Date(Date.now() + 3_600_000).toISOString(),
    ]
    const claimed = { state: 'running', worker, claims: 1, attempt: 1, later_at: null }
    await kysely
      .updateTable('jobs')
      .set({ ...claimed, run_at: past, started_at: past, lease_until: later, deadline: later })
      .where('id', '=', id)
      .execute()
    await waitUntil(() => scene.recorded.length === 2)
    await waitUntil(async () => (await queue.find(id))?.state === 'done')
    expect(await queue.find(id)).toMatchObject({ attempt: 1, error: null })
  })

  scene('cancelling aborts the signal, in another process too', async (scene) => {
    await scene.start({ work: true })
    const [, queue] = await scene.start({})
    const { id } = await queue.add(Work, 'heeds')
    await waitUntil(() => scene.recorded.length === 1)
    expect(await queue.cancel(id)).toBe(true)
    await waitUntil(async () => (await queue.find(id))?.state === 'cancelled')
    expect(scene.recorded).toEqual(['heeds 1', 'cancelled'])
  })

  scene('at close running jobs may finish, and no new one starts', async (scene) => {
    const [app, queue] = await scene.start({ work: true, concurrency: 1 })
    await queue.add(Work, 'held')
    await waitUntil(() => scene.recorded.length === 1)
    await queue.add(Work, 'look', { name: 'never here' })
    const closing = app.close()
    scene.open()
    await closing
    const [, other] = await scene.start({})
    expect(await other.counts()).toMatchObject({ done: 1, waiting: 1, running: 0 })
  })

  scene(
    'at close jobs are released without counting an attempt, whether they stop on their signal or not',
    async (scene) => {
      const [app, queue] = await scene.start({ work: true, drain: 0 })
      await queue.add(Work, 'held')
      await queue.add(Work, 'heeds')
      await waitUntil(() => scene.recorded.length === 2)
      await app.close()
      const [, other] = await scene.start({})
      const entries = await other.list()
      expect(entries.map(({ state, attempt, error }) => [state, attempt, error])).toEqual([
        ['waiting', 0, null],
        ['waiting', 0, null],
      ])
      expect(scene.recorded).toContain('closing')
    },
  )
})
