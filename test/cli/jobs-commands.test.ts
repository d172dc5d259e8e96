/** `filigree work` and `filigree jobs`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { bootstrap, Database, type Application } from 'filigree'
import { Jobs } from 'filigree/jobs'
import { AppModule, Work } from '../modules/jobs/fixtures/jobs-module.js'
import { root } from '../openapi/command.js'
import { runIn, type Outcome } from './run-in.js'

const file = join(root, 'test/modules/jobs/fixtures/jobs-module.ts')
let folder: string
let app: Application
let before: string | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
  before = process.env.DATABASE_URL
  process.env.DATABASE_URL = `sqlite:${join(folder, 'app.db')}`
  const options = { listen: false, logger: false, database: process.env.DATABASE_URL, env: {} }
  app = await bootstrap(AppModule, options)
})
afterEach(async () => {
  await app.close()
  if (before === undefined) delete process.env.DATABASE_URL
  else process.env.DATABASE_URL = before
  await rm(folder, { recursive: true, force: true })
})

const run = (...args: string[]): Promise<Outcome> => runIn(folder, args)

describe('filigree jobs', () => {
  it('lists, cancels and retries jobs', async () => {
    const queue = app.get(Jobs)
    const { id } = await queue.add(Work, 'plain', {})
    await queue.add(Work, 'plain', {}, { in: '1h' })
    const listed = await run('jobs', file, '--state', 'waiting')
    expect(listed).toMatchObject({ code: 0, err: '' })
    expect(listed.out).toContain('2 waiting, 0 running, 0 done, 0 failed, 0 cancelled')
    expect(await run('jobs', file, '--cancel', String(id))).toMatchObject({
      code: 0,
      out: `Job ${id} is cancelled.\n`,
    })
    const json = await run('jobs', file, '--json', '--name', 'Work.plain')
    expect(JSON.parse(json.out)).toMatchObject({
      counts: { waiting: 1, cancelled: 1 },
      jobs: [{ state: 'waiting' }, { id, state: 'cancelled' }],
    })
    expect(await run('jobs', file, '--retry', String(id))).toMatchObject({
      code: 0,
      out: '1 job waits to run again.\n',
    })
    expect(await queue.drain()).toBe(1)
    expect(await run('jobs', file, '--retry', String(id))).toMatchObject({
      code: 1,
      out: '0 jobs wait to run again.\n',
    })
  })

  it('does not retry a job if another one has its unique key', async () => {
    const queue = app.get(Jobs)
    const { id } = await queue.add(Work, 'plain', {}, { unique: 'a' })
    await queue.cancel(id)
    const other = await queue.add(Work, 'plain', {}, { unique: 'a' })
    expect(await run('jobs', file, '--retry', String(id))).toMatchObject({
      code: 1,
      out: `Job ${id} is not retried: a job with its unique key waits or runs.\n0 jobs wait to run again.\n`,
    })
    await queue.cancel(other.id)
    expect(await run('jobs', file, '--state', 'cancelled', '--retry', 'all')).toMatchObject({
      code: 1,
      out: expect.stringContaining('1 job waits to run again.'),
    })
    expect(await queue.counts()).toMatchObject({ waiting: 1, cancelled: 1 })
  })

  it.each([
    [['--state', 'old'], 'unknown state "old"'],
    [['--retry', 'x'], '--retry x is not a number'],
    [['--limit', '0'], '--limit 0 is not a number'],
    [['--stat', 'a'], 'Did you mean "--state"?'],
  ])('refuses %j', async (args, message) => {
    const { code, err } = await run('jobs', file, ...args)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })

  it('says so where an application has none', async () => {
    const { code, err } = await run('jobs', join(root, 'test/cli/desk.ts'))
    expect(code).toBe(2)
    expect(err).toContain("imports: [jobs()] from 'filigree/jobs'")
  })
})

it('filigree doctor lists jobs whose class was deleted', async () => {
  const { id } = await app.get(Jobs).add(Work, 'plain', {})
  await app
    .get(Database)
    .kysely.updateTable('jobs')
    .set({ name: 'Old.gone' })
    .where('id', '=', id)
    .execute()
  const { out } = await run('doctor', '--module', file)
  expect(out).toContain('1 jobs of Old.gone wait, but the application has no class for them')
})

describe('filigree work', () => {
  it.each([
    [['--concurrency', '0'], '--concurrency 0 is not a number from 1'],
    [['--port', 'x'], '--port x is not a number from 0'],
    [['--onyl', 'a'], 'Did you mean "--only"?'],
  ])('refuses %j', async (args, message) => {
    const { code, err } = await run('work', file, ...args)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })

  it('says so where an application has no jobs', async () => {
    const { code, err } = await run('work', join(root, 'test/cli/desk.ts'))
    expect(code).toBe(2)
    expect(err).toContain('the application has no jobs')
  })
})
