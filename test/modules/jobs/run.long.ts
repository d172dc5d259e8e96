/** Running jobs: attempts, order, groups, rates, errors, time. On both engines, with `drain` and a test clock. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Database, Field, Module } from 'filigree'
import { GiveUp, Job, JobEntry, Jobs, jobs, type RunningJob } from 'filigree/jobs'
import { testApplication, type TestApplication } from 'filigree/testing'
import { closeJobDatabases, jobDatabases } from './databases.js'

class Parcel {
  @Field('string') name!: string
  @Field('string', { optional: true }) org?: string
}

const ran: string[] = []
let meanwhile: () => Promise<void>
let maxConcurrent = 0
let running = 0

/** Waits during a run, so that concurrent runs can be counted. */
async function counted(name: string): Promise<void> {
  running++
  maxConcurrent = Math.max(maxConcurrent, running)
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  ran.push(name)
  running--
}

const no = (): never => {
  throw new Error('no')
}
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const throws = (thrown: () => unknown) => (): never => {
  throw thrown() as Error
}

/** Values that jobs may throw and return, and that break code that inspects them. */
const poisons: Readonly<Record<string, () => unknown>> = {
  'throws null': throws(() => null),
  'throws an object without text': throws(() => Object.create(null)),
  'throws a revoked proxy': throws(revoked),
  'throws an error whose message throws': throws(() =>
    Object.defineProperties(new Error('a'), { message: { get: no }, stack: { get: no } }),
  ),
  'throws a frozen error': throws(() => Object.freeze(new Error('a'))),
  'throws an error with secrets': throws(() =>
    Object.assign(new Error('no https://desk:open-sesame@example.com'), {
      config: { headers: { Authorization: 'Bearer open-sesame' } },
    }),
  ),
  'throws an error that is its own cause': throws(() => {
    const error = new Error('a')
    return Object.assign(error, { cause: error })
  }),
  'throws NUL and half of a character': throws(() => new Error('a\0b\ud800')),
  'throws a long text': throws(() => new Error('a'.repeat(3_000_000))),
  'returns what throws when it is awaited': () => ({ then: no }),
  'returns what throws when it is looked at': () => Object.defineProperty({}, 'then', { get: no }),
  'returns what cannot be looked at': revoked,
  'rejects with what cannot be looked at': async () => Promise.resolve().then(throws(revoked)),
}

class Work {
  @Job({ retries: 2, backoff: '10s' })
  flaky({ ok }: { readonly ok: number }, job: RunningJob): void {
    ran.push(`flaky ${job.attempt}`)
    if (job.attempt < ok) throw new Error(`not yet ${job.attempt}`)
  }

  @Job({ retries: 5 })
  hopeless(): void {
    ran.push('hopeless')
    throw new GiveUp('no use')
  }

  @Job() async plain({ name }: { readonly name: string }): Promise<void> {
    await counted(name)
  }

  @Job({ concurrency: 2 }) async two({ name }: { readonly name: string }): Promise<void> {
    await counted(name)
  }

  @Job({ body: Parcel, group: ({ org }) => org, perGroup: 1 })
  async grouped({ name }: Parcel): Promise<void> {
    await counted(name)
  }

  @Job({ rate: '3/m' }) rated({ name }: { readonly name: string }): void {
    ran.push(name)
  }

  @Job({ body: Parcel }) strict({ name }: Parcel): void {
    ran.push(name)
  }

  static inject = [Jobs]
  constructor(private readonly jobs: Jobs) {}

  @Job() async adds({ left }: { readonly left: number }): Promise<void> {
    ran.push(`adds ${left}`)
    if (left > 0) await this.jobs.add(Work, 'adds', { left: left - 1 })
  }

  @Job() async held({ fails }: { readonly fails: boolean }): Promise<void> {
    await meanwhile()
    if (fails) throw new Error('no')
  }

  @Job({ retries: 0 }) poison({ kind }: { readonly kind: string }): unknown {
    return poisons[kind]?.()
  }

  @Job({ keep: '1h' }) async reports(_body: unknown, job: RunningJob): Promise<void> {
    await job.progress(0.5, 'half')
    job.log.info({ more: 1 }, 'in the middle')
    ran.push(`${job.name} ${job.id > 0} ${job.signal.aborted}`)
  }
}

describe.each(jobDatabases)('on %s', (_name, open) => {
  let desk: TestApplication
  let queue: Jobs
  let database: Database

  beforeAll(async () => {
    @Module({ providers: [Work], imports: [jobs({ concurrency: 4 })] })
    class App {}
    desk = await testApplication(App, { database: await open() })
    queue = desk.get(Jobs)
    database = desk.get(Database)
  })

  afterEach(async () => {
    ran.length = 0
    maxConcurrent = 0
    await desk.reset({ emptyTables: true })
  })
  afterAll(() => desk.close())

  describe('an error', () => {
    it('is retried after a delay, which doubles, and then the job is done', async () => {
      const { id } = await queue.add(Work, 'flaky', { ok: 3 })
      expect(await queue.drain()).toBe(1)
      expect(await queue.find(id)).toMatchObject({ state: 'waiting', attempt: 1 })
      await desk.clock.advance('8s')
      expect(await queue.drain()).toBe(0)
      await desk.clock.advance('2s')
      expect(await queue.drain()).toBe(1)
      await desk.clock.advance('11s')
      expect(await queue.drain()).toBe(0)
      await desk.clock.advance('9s')
      expect(await queue.drain()).toBe(1)
      expect(ran).toEqual(['flaky 1', 'flaky 2', 'flaky 3'])
      expect(await queue.find(id)).toMatchObject({ state: 'done', attempt: 3 })
    })

    it('fails after the last attempt, with all errors, and stays', async () => {
      const { id } = await queue.add(Work, 'flaky', { ok: 9 })
      for (let run = 0; run < 5; run++) {
        await queue.drain()
        await desk.clock.advance('1h')
      }
      expect(ran).toEqual(['flaky 1', 'flaky 2', 'flaky 3'])
      const entry = await queue.find(id)
      expect(entry).toMatchObject({ state: 'failed', attempt: 3 })
      expect(entry?.error).toMatch(/not yet 3[^]*run\.long/)
      const lines = entry?.errors
        ?.trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object)
      expect(lines).toMatchObject([
        { attempt: 1, message: 'not yet 1' },
        { attempt: 2, message: 'not yet 2' },
        { attempt: 3, message: 'not yet 3' },
      ])
      await desk.clock.advance('30d')
      expect(await queue.find(id)).toMatchObject({ state: 'failed' })
    })

    it('that gives up fails immediately', async () => {
      const { id } = await queue.add(Work, 'hopeless')
      await queue.drain()
      await desk.clock.advance('2h')
      await queue.drain()
      expect([ran, (await queue.find(id))?.state]).toEqual([['hopeless'], 'failed'])
    })

    it('is logged with the job, its id and its attempt, and never its body', async () => {
      const { id } = await queue.add(Work, 'flaky', { ok: 987654 })
      await queue.drain()
      const line = desk.log.find(({ message }) => message === 'a job failed and will run again')
      expect(line).toMatchObject({
        level: 'warn',
        details: { job: 'Work.flaky', jobId: id, attempt: 1 },
      })
      expect(JSON.stringify(desk.log)).not.toContain('987654')
    })
  })

  it.each(Object.keys(poisons))('a job that %s fails, and affects no other', async (kind) => {
    const { id } = await queue.add(Work, 'poison', { kind })
    await queue.add(Work, 'plain', { name: 'next' })
    await queue.drain()
    const entry = await queue.find(id)
    expect([entry?.state, ran]).toEqual(['failed', ['next']])
    expect(entry?.error?.length).toBeLessThanOrEqual(8000)
    expect(JSON.stringify([entry, desk.log])).not.toContain('open-sesame')
  })

  it('retry runs a failed job again, with all its attempts', async () => {
    const { id } = await queue.add(Work, 'hopeless')
    await queue.drain()
    expect(await queue.retry(id)).toBe(true)
    expect(await queue.retry(id)).toBe(false)
    expect(await queue.find(id)).toMatchObject({ state: 'waiting', attempt: 0 })
    await queue.drain()
    expect(ran).toEqual(['hopeless', 'hopeless'])
  })

  it('retry does not break unique', async () => {
    const { id } = await queue.add(Work, 'hopeless', undefined, { unique: 'a' })
    await queue.drain()
    const other = await queue.add(Work, 'hopeless', undefined, { unique: 'a' })
    expect(other.added).toBe(true)
    expect(await queue.retry(id)).toBe(false)
  })

  it('cancel: a waiting job never runs', async () => {
    const { id } = await queue.add(Work, 'plain', { name: 'a' })
    expect(await queue.cancel(id)).toBe(true)
    expect(await queue.cancel(id)).toBe(false)
    expect(await queue.drain()).toBe(0)
    expect(await queue.counts()).toEqual({
      waiting: 0,
      running: 0,
      done: 0,
      failed: 0,
      cancelled: 1,
    })
  })

  it('higher priorities run first, then by time', async () => {
    const add = async (name: string, priority: number): Promise<void> => {
      await queue.add(Work, 'two', { name }, { priority })
    }
    await add('c', 0)
    await add('b', 5)
    await add('d', 0)
    await add('a', 100)
    await queue.drain()
    expect(ran).toEqual(['a', 'b', 'c', 'd'])
  })

  it('no more of them run concurrently than the process and the job allow', async () => {
    const bodies = Array.from({ length: 12 }, (_, index) => ({ name: `${index}` }))
    await queue.addMany(Work, 'plain', bodies)
    await queue.drain()
    expect([maxConcurrent, ran.length]).toEqual([4, 12])
    maxConcurrent = 0
    await queue.addMany(Work, 'two', bodies)
    await queue.drain()
    expect([maxConcurrent, ran.length]).toEqual([2, 24])
  })

  it('a job at its limit does not delay another', async () => {
    await queue.addMany(
      Work,
      'two',
      Array.from({ length: 6 }, () => ({ name: 'two' })),
    )
    await queue.add(Work, 'plain', { name: 'plain' })
    await queue.drain()
    expect(ran.indexOf('plain')).toBeLessThan(3)
  })

  it('in a group one runs at a time, and a full group does not delay another', async () => {
    for (const [name, org] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['a3', 'a'],
      ['b1', 'b'],
    ] as const)
      await queue.add(Work, 'grouped', { name, org })
    await queue.add(Work, 'grouped', { name: 'none' })
    await queue.add(Work, 'plain', { name: 'plain' })
    await queue.drain()
    expect(ran.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
    expect(ran.indexOf('b1')).toBeLessThan(ran.indexOf('a2'))
    expect(ran.indexOf('plain')).toBeLessThan(ran.indexOf('a2'))
    expect(maxConcurrent).toBeLessThanOrEqual(4)
  })

  it('a group of hundreds does not delay another', async () => {
    await queue.addMany(
      Work,
      'grouped',
      Array.from({ length: 200 }, () => ({ name: 'a', org: 'a' })),
      { in: '1m' },
    )
    await queue.add(Work, 'grouped', { name: 'b', org: 'b' }, { in: '1m' })
    await desk.clock.advance('2m')
    const runs = await queue.drain()
    expect(runs).toBe(201)
    expect(ran.indexOf('b')).toBeLessThan(4)
  })

  it('a rate limits how many start in its time, and the others wait', async () => {
    await queue.addMany(
      Work,
      'rated',
      ['1', '2', '3', '4', '5', '6', '7'].map((name) => ({ name })),
    )
    await queue.add(Work, 'plain', { name: 'plain' })
    await queue.drain()
    expect(ran.toSorted()).toEqual(['1', '2', '3', 'plain'])
    await desk.clock.advance('59s')
    expect(await queue.drain()).toBe(0)
    await desk.clock.advance('2s')
    expect(await queue.drain()).toBe(3)
    await desk.clock.advance('61s')
    expect(await queue.drain()).toBe(1)
  })

  it('a body that no longer matches its class fails with the fields, and does not run', async () => {
    const { id } = await queue.add(Work, 'strict', { name: 'a' })
    await database.kysely
      .updateTable('jobs')
      .set({ body: JSON.stringify({ nam: 'a' }) })
      .where('id', '=', id)
      .execute()
    await queue.drain()
    const entry = await queue.find(id)
    expect(entry?.state).toBe('failed')
    expect(entry?.error).toContain('name is required')
    expect(ran).toEqual([])
  })

  it('a job without a class waits', async () => {
    const { id } = await queue.add(Work, 'plain', { name: 'a' })
    await database.kysely
      .updateTable('jobs')
      .set({ name: 'Old.gone' })
      .where('id', '=', id)
      .execute()
    expect(await queue.drain()).toBe(0)
    expect(await queue.find(id)).toMatchObject({ state: 'waiting', attempt: 0 })
  })

  it('reports its progress and logs with its name, id and attempt', async () => {
    const { id } = await queue.add(Work, 'reports')
    await queue.drain()
    expect(ran).toEqual(['Work.reports true false'])
    expect(await queue.find(id)).toMatchObject({
      progress: 0.5,
      progressText: 'half',
      state: 'done',
    })
    const line = desk.log.find(({ message }) => message === 'in the middle')
    expect(line?.details).toEqual({ job: 'Work.reports', jobId: id, attempt: 1, more: 1 })
  })

  it('a process that lost the lease can neither complete nor fail the job', async () => {
    for (const fails of [false, true]) {
      const { id } = await queue.add(Work, 'held', { fails })
      // While the job runs, another process claims it.
      meanwhile = async () => {
        await database.kysely
          .updateTable('jobs')
          .set({ worker: 'other', claims: 2, attempt: 2 })
          .where('id', '=', id)
          .execute()
      }
      await queue.drain()
      const entry = await database.records(JobEntry).find(id)
      expect(entry).toMatchObject({ state: 'running', worker: 'other', error: null })
    }
  })

  it('an expired lease counts as an attempt, and the job runs again', async () => {
    const { id } = await queue.add(Work, 'flaky', { ok: 2 })
    const abandoned = { state: 'running', worker: 'gone', claims: 1, attempt: 1 }
    const past = new Date(0).toISOString()
    await database.kysely
      .updateTable('jobs')
      .set({ ...abandoned, lease_until: past, deadline: past })
      .where('id', '=', id)
      .execute()
    await queue.drain()
    expect([ran, (await queue.find(id))?.state]).toEqual([['flaky 2'], 'done'])
  })

  it('a lease from before the clock was set back expires as soon as another', async () => {
    const { id } = await queue.add(Work, 'flaky', { ok: 2 })
    const ahead = new Date(Date.now() + 3_600_000).toISOString()
    const abandoned = { state: 'running', worker: 'gone', claims: 1, attempt: 1 }
    await database.kysely
      .updateTable('jobs')
      .set({ ...abandoned, lease_until: ahead, deadline: ahead })
      .where('id', '=', id)
      .execute()
    expect(await queue.drain()).toBe(0)
    await desk.clock.advance('16s')
    expect(await queue.drain()).toBe(1)
    expect((await queue.find(id))?.state).toBe('done')
  })

  it('finished jobs are kept for the configured time', async () => {
    const day = await queue.add(Work, 'plain', { name: 'a' })
    const hour = await queue.add(Work, 'reports')
    await queue.drain()
    await desk.clock.advance('59m')
    await queue.drain()
    expect((await queue.find(hour.id))?.state).toBe('done')
    await desk.clock.advance('2m')
    await queue.drain()
    expect([await queue.find(hour.id), (await queue.find(day.id))?.state]).toEqual([
      undefined,
      'done',
    ])
    await desk.clock.advance('1d')
    await queue.drain()
    expect(await queue.find(day.id)).toBeUndefined()
  })

  it('list returns pages, the newest first, by name and state', async () => {
    for (const name of ['1', '2', '3']) await queue.add(Work, 'plain', { name })
    await queue.add(Work, 'hopeless')
    await queue.drain()
    const names = (entries: readonly JobEntry[]): unknown[] =>
      entries.map(({ name, body }) => [name, body])
    expect(names(await queue.list({ state: 'failed' }))).toEqual([['Work.hopeless', null]])
    const first = await queue.list({ name: 'Work.plain', limit: 2 })
    expect(names(first)).toEqual([
      ['Work.plain', { name: '3' }],
      ['Work.plain', { name: '2' }],
    ])
    const rest = await queue.list({ name: 'Work.plain', limit: 2, after: first[1]?.id ?? 0 })
    expect(names(rest)).toEqual([['Work.plain', { name: '1' }]])
  })
})

afterAll(closeJobDatabases)

describe('in tests', () => {
  it('desk.jobs runs due jobs, lists added jobs, and runs a job immediately', async () => {
    @Module({ providers: [Work], imports: [jobs({ work: true })] })
    class App {}
    await using desk = await testApplication(App)
    const queue = desk.get(Jobs)
    await queue.add(Work, 'plain', { name: 'a' })
    await queue.add(Work, 'plain', { name: 'b' }, { in: '1h' })
    const added = await desk.jobs.added(Work, 'plain')
    expect(added.map(({ body, state }) => [body, state])).toEqual([
      [{ name: 'a' }, 'waiting'],
      [{ name: 'b' }, 'waiting'],
    ])
    expect(await desk.jobs.run()).toBe(1)
    await desk.clock.advance('1h')
    expect(await desk.jobs.run()).toBe(1)
    desk.jobs.inline = true
    await queue.add(Work, 'plain', { name: 'c' })
    expect(ran).toEqual(['a', 'b', 'c'])
    await desk.get(Database).transaction(async () => {
      await queue.add(Work, 'plain', { name: 'd' })
      expect(ran).toHaveLength(3)
    })
    expect(ran).toHaveLength(4)
    await queue.add(Work, 'adds', { left: 2 })
    expect(ran.slice(4)).toEqual(['adds 2', 'adds 1', 'adds 0'])
    await desk.reset()
    expect(await desk.jobs.added(Work, 'plain')).toEqual([])
  })

  it('desk.jobs reports what is missing', async () => {
    @Module({})
    class App {}
    await using desk = await testApplication(App)
    expect(() => desk.jobs.run()).toThrow('filigree.jobs')
  })
})
