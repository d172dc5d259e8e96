/** `@Cron` and `@Every`: once across all processes, missed runs once, and days with a clock change. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { Database, bootstrap, Module } from 'filigree'
import { Cron, Every, Job, Jobs, jobs, type RunningJob } from 'filigree/jobs'
import { testApplication } from 'filigree/testing'
import { closeJobDatabases, jobDatabases } from './databases.js'

const quiet = { listen: false, logger: false, database: 'sqlite::memory:', env: {} } as const

/** The runs of a pattern after `from`, while the test clock advances in steps. */
async function runsOf(
  pattern: string,
  zone: string,
  from: string,
  hours: number,
): Promise<string[]> {
  const ran: string[] = []
  class Timed {
    @Cron(pattern, { zone }) run(job: RunningJob): void {
      ran.push(job.runAt.toISOString().replace(':00.000Z', ''))
    }
  }
  @Module({ providers: [Timed], imports: [jobs()] })
  class App {}
  await using desk = await testApplication(App)
  await desk.clock.set(from)
  // Earlier plans use the time of the machine.
  await desk.reset()
  await desk.clock.set(from)
  const queue = desk.get(Jobs)
  await queue.drain()
  for (let step = 0; step < hours * 4; step++) {
    await desk.clock.advance('15m')
    await queue.drain()
  }
  return ran
}

describe('a pattern with hours', () => {
  it.each([
    [
      'in Berlin in spring',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T00:05Z',
      49,
      ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      'twice in the hour that is left out',
      '0,30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:05Z',
      24,
      ['2026-03-29T01:00'],
    ],
    [
      'in Berlin in autumn',
      '30 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:05Z',
      38,
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'in New York in spring',
      '30 2 * * *',
      'America/New_York',
      '2026-03-07T12:05Z',
      43,
      ['2026-03-08T07:00', '2026-03-09T06:30'],
    ],
    [
      'in New York in autumn',
      '30 1 * * *',
      'America/New_York',
      '2026-10-31T12:05Z',
      43,
      ['2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    [
      'on Lord Howe in spring',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:05Z',
      28,
      ['2026-10-03T15:30', '2026-10-04T15:15'],
    ],
    [
      'on Lord Howe in autumn',
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T12:05Z',
      28,
      ['2026-04-04T14:45', '2026-04-05T15:15'],
    ],
  ])('%s', async (_name, pattern, zone, from, hours, runs) => {
    expect(await runsOf(pattern, zone, from, hours)).toEqual(runs)
  })
})

describe('a pattern of every hour continues by elapsed time', () => {
  it.each([
    [
      'in Berlin in spring',
      '30 * * * *',
      'Europe/Berlin',
      '2026-03-28T23:05Z',
      4,
      ['2026-03-28T23:30', '2026-03-29T00:30', '2026-03-29T01:30', '2026-03-29T02:30'],
    ],
    [
      'in Berlin in autumn',
      '30 * * * *',
      'Europe/Berlin',
      '2026-10-24T23:05Z',
      4,
      ['2026-10-24T23:30', '2026-10-25T00:30', '2026-10-25T01:30', '2026-10-25T02:30'],
    ],
    [
      'on Lord Howe in autumn',
      '*/30 * * * *',
      'Australia/Lord_Howe',
      '2026-04-04T14:05Z',
      2,
      ['2026-04-04T14:30', '2026-04-04T15:00', '2026-04-04T15:30', '2026-04-04T16:00'],
    ],
  ])('%s', async (_name, pattern, zone, from, hours, runs) => {
    expect(await runsOf(pattern, zone, from, hours)).toEqual(runs)
  })
})

it('leap days come every four years', async () => {
  const ran: string[] = []
  class Timed {
    @Cron('0 0 29 2 *') run(job: RunningJob): void {
      ran.push(job.runAt.toISOString().slice(0, 10))
    }
  }
  @Module({ providers: [Timed], imports: [jobs()] })
  class App {}
  await using desk = await testApplication(App)
  await desk.clock.set('2027-01-01')
  const queue = desk.get(Jobs)
  await queue.drain()
  for (let month = 0; month < 64; month++) {
    await desk.clock.advance('30d')
    await queue.drain()
  }
  expect(ran).toEqual(['2028-02-29', '2032-02-29'])
})

it.each<[string, object, string]>([
  ['four fields', Cron('0 3 * *'), 'it needs five fields'],
  ['seconds', Cron('0 0 3 * * *'), 'it needs five fields'],
  ['a minute of 60', Cron('60 3 * * *'), 'cannot be used'],
  ['a day that never comes', Cron('0 0 31 2 *'), 'it never matches'],
  [
    'a zone that is none',
    Cron('0 3 * * *', { zone: 'Mars/Base' }),
    '"Mars/Base" is not an IANA zone',
  ],
  ['no time', Every('soon'), '"soon" is not a time'],
  ['a name that is taken', Job({ name: 'Other.run' }), 'Two jobs have the name "Other.run"'],
  ['perGroup without group', Job({ perGroup: 2 }), 'perGroup has no group'],
  ['a wrong rate', Job({ rate: 'often' }), 'rate is "often"'],
  ['minus one retry', Job({ retries: -1 }), 'retries is -1'],
  ['a body that is not a class', Job({ body: 'text' as never }), 'body'],
  ['an unknown option', Job({ retry: 1 } as never), 'unknown option "retry"'],
])('%s is a problem at the start', async (_name, decorate, message) => {
  class Odd {
    run(): void {
      return
    }
  }
  class Other {
    @Job() run(): void {
      return
    }
  }
  ;(decorate as MethodDecorator)(Odd.prototype, 'run', { value: () => undefined })
  class App {}
  Module({ providers: [Odd, Other], imports: [jobs()] })(App)
  await expect(bootstrap(App, quiet)).rejects.toThrow(message)
})

describe.each(jobDatabases)('on %s', (_name, open) => {
  const ran: string[] = []
  class Timed {
    @Cron('0 3 * * *', { zone: 'Europe/Berlin' }) nightly(job: RunningJob): void {
      ran.push(`nightly ${job.runAt.toISOString()}`)
    }

    @Every('10m') often(): void {
      ran.push('often')
    }
  }
  @Module({ providers: [Timed], imports: [jobs()] })
  class App {}
  const start = async (database: string) => {
    const desk = await testApplication(App, { database })
    return desk
  }

  /** An address that several applications may open. */
  const shared = async (): Promise<string> => {
    const address = await open()
    return address === 'sqlite::memory:'
      ? `sqlite:${join(await mkdtemp(join(tmpdir(), 'filigree-jobs-')), 'app.db')}`
      : address
  }

  it('missed runs are made up once', async () => {
    ran.length = 0
    await using desk = await start(await open())
    await desk.clock.set('2026-06-01T10:00:00Z')
    const queue = desk.get(Jobs)
    await queue.drain()
    ran.length = 0
    await desk.clock.advance('5d')
    await queue.drain()
    expect(ran.toSorted()).toEqual(['nightly 2026-06-02T01:00:00.000Z', 'often'])
    await desk.clock.advance('15h')
    await queue.drain()
    expect(ran.filter((one) => one !== 'often').at(-1)).toBe('nightly 2026-06-07T01:00:00.000Z')
  })

  it('every runs again after its interval, and not before', async () => {
    ran.length = 0
    await using desk = await start(await open())
    const queue = desk.get(Jobs)
    await desk.clock.advance('9m')
    await queue.drain()
    expect(ran.filter((one) => one === 'often')).toHaveLength(0)
    for (let step = 0; step < 6; step++) {
      await desk.clock.advance('10m')
      await queue.drain()
    }
    expect(ran.filter((one) => one === 'often')).toHaveLength(6)
  })

  it('a run planned before the clock was set back by hours is planned again', async () => {
    ran.length = 0
    await using desk = await start(await open())
    const queue = desk.get(Jobs)
    const ahead = new Date(Date.now() + 5 * 3_600_000).toISOString()
    await desk
      .get(Database)
      .kysely.updateTable('jobs')
      .set({ run_at: ahead, later_at: ahead })
      .where('schedule', 'like', 'every%')
      .execute()
    await queue.drain()
    await desk.clock.advance('10m')
    await queue.drain()
    expect(ran.filter((one) => one === 'often')).toHaveLength(1)
  })

  it('a schedule that no process has listed for two minutes is removed, a listed one stays', async () => {
    const database = await shared()
    await (await start(database)).close()
    @Module({ imports: [jobs()] })
    class Other {}
    await using desk = await testApplication(Other, { database })
    const queue = desk.get(Jobs)
    await desk.clock.advance('1m')
    await queue.drain()
    expect(await queue.list({ state: 'waiting' })).toHaveLength(2)
    await desk.clock.advance('61s')
    await queue.drain()
    expect(await queue.list({ state: 'waiting' })).toHaveLength(0)
  })

  it('two processes run a schedule once', async () => {
    ran.length = 0
    const database = await shared()
    await using one = await start(database)
    await using two = await start(database)
    await Promise.all([one.clock.advance('10m'), two.clock.advance('10m')])
    await Promise.all([one.get(Jobs).drain(), two.get(Jobs).drain()])
    expect(ran.filter((name) => name === 'often')).toHaveLength(1)
  })

  it('another pattern moves the waiting run', async () => {
    const database = await shared()
    const planned = async (pattern: string): Promise<unknown> => {
      class Same {
        @Cron(pattern, { name: 'same' }) run(): void {
          return
        }
      }
      @Module({ providers: [Same], imports: [jobs()] })
      class App {}
      await using desk = await testApplication(App, { database })
      const entries = await desk.get(Jobs).list({ name: 'same' })
      return entries.map(({ schedule, runAt }) => [schedule, runAt.slice(11, 16)])
    }
    expect(await planned('0 3 * * *')).toEqual([['cron 0 3 * * * UTC', '03:00']])
    expect(await planned('30 4 * * *')).toEqual([['cron 30 4 * * * UTC', '04:30']])
  })
})

afterAll(closeJobDatabases)
