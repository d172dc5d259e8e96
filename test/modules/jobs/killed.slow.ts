/** `filigree work` as a process: it runs jobs, answers probes, returns its jobs at SIGTERM, and loses none when it is killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, type Application } from 'filigree'
import { Jobs } from 'filigree/jobs'
import { startPostgres, type PostgresServer } from '../../records/postgres-server.js'
import { AppModule, Other, Work } from './fixtures/jobs-module.js'
import { waitUntil } from '../../wait-until.js'

const root = join(import.meta.dirname, '../../..')
let server: PostgresServer | undefined
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-jobs-'))
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true })
})

const addresses: readonly (readonly [string, () => Promise<string>])[] = [
  ['SQLite', () => Promise.resolve(`sqlite:${join(folder, 'app.db')}`)],
  ['PostgreSQL', async () => (server ??= await startPostgres()).createDatabase()],
]

describe.each(addresses)('on %s', (name, address) => {
  const children = new Set<ChildProcess>()
  let app: Application
  let queue: Jobs
  let database: string
  let notes: string

  beforeAll(async () => {
    database = await address()
    notes = join(folder, `${name}.notes`)
    app = await bootstrap(AppModule, { listen: false, logger: false, env: {}, database })
    queue = app.get(Jobs)
  })
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  afterAll(() => app.close())

  async function work(...args: string[]): Promise<{ child: ChildProcess; log: () => string }> {
    const file = 'test/modules/jobs/fixtures/jobs-module.ts'
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', 'src/cli/main.ts', 'work', file, ...args],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          NODE_ENV: 'development',
          DATABASE_URL: database,
          JOBS_NOTES: notes,
          TSX_TSCONFIG_PATH: 'test/tsconfig.json',
        },
      },
    )
    children.add(child)
    let log = ''
    child.stdout.on('data', (bytes: Buffer) => (log += bytes.toString()))
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`It ended: ${log}`)))
    ended.catch(() => undefined)
    await Promise.race([waitUntil(() => log.includes('working')), ended])
    return { child, log: () => log }
  }

  const lines = (): string[] =>
    existsSync(notes)
      ? readFileSync(notes, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
      : []

  it('runs its jobs, and serves its operators', async () => {
    const { child, log } = await work('--only', 'Other', '--port', '0')
    await queue.add(Work, 'plain', {})
    await queue.add(Other, 'run')
    await waitUntil(async () => (await queue.counts()).done === 1)
    expect(await queue.list({ state: 'waiting' })).toMatchObject([{ name: 'Work.plain' }])
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(log()) ?? []
    expect((await fetch(`${url}/health`)).status).toBe(200)
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('jobs_waiting 1')
    expect((await fetch(`${url}/secret`)).status).toBe(404)
    const exit = once(child, 'exit')
    child.kill('SIGTERM')
    expect((await exit)[0]).toBe(0)
  })

  it('a job of a killed process runs again in another, as its second attempt', async () => {
    const first = await work()
    const { id } = await queue.add(Work, 'plain', { ms: 4000 })
    await waitUntil(() => lines().some((line) => line.startsWith(`began Work.plain ${id} 1 `)))
    first.child.kill('SIGKILL')
    await work()
    await waitUntil(async () => (await queue.find(id))?.state === 'done')
    expect(await queue.find(id)).toMatchObject({ attempt: 2 })
  })

  it('a blocked event loop loses no lease', async () => {
    const { id } = await queue.add(Work, 'busy', { ms: 20_000 })
    await work()
    await waitUntil(() => lines().some((line) => line.startsWith(`began Work.busy ${id} 1 `)))
    await work()
    await waitUntil(async () => (await queue.find(id))?.state === 'done')
    expect(await queue.find(id)).toMatchObject({ attempt: 1 })
  })
})
