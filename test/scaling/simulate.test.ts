/** The capacity simulation of docs/scaling.md. */
import { describe, expect, it } from '@jest/globals'
import { firstLimits, planFor } from './capacity.js'
import { describePlan } from './describe-plan.js'
import { readSettings, type Settings } from './settings.js'
import { simulate } from './queue-simulation.js'

function settingsOf(...args: string[]): Settings {
  const read = readSettings(args)
  if ('text' in read) throw new Error(read.text)
  return read
}

describe('readSettings', () => {
  it('reads options, with underscores and exponents', () => {
    expect(settingsOf()).toMatchObject({ requests: 100_000, rows: 1e9 })
    expect(settingsOf('--requests', '5_000', '--rows', '2e6', '--reads', '0.5')).toMatchObject({
      requests: 5000,
      rows: 2e6,
      reads: 0.5,
    })
  })

  it.each([
    [['--request', '5'], 'Unknown option "--request".'],
    [['5'], 'Unknown option "5".'],
    [['--requests'], '--requests needs a number of 0 or more.'],
    [['--requests', 'many'], '--requests needs a number of 0 or more.'],
    [['--rows', '-1'], '--rows needs a number of 0 or more.'],
    [['--reads', '1.5'], '--reads needs a number from 0 to 1.'],
    [['--busy', '0'], '--busy needs a number from 0 to 1.'],
  ])('refuses %j', (args, message) => {
    expect(readSettings(args)).toEqual({
      failed: true,
      text: expect.stringContaining(message) as unknown,
    })
  })

  it('returns the help for --help', () => {
    expect(readSettings(['--help'])).toEqual({
      failed: false,
      text: expect.stringContaining('--requests') as unknown,
    })
  })
})

describe('planFor', () => {
  const costs = ['--appRead', '60', '--appWrite', '95', '--dbRead', '40', '--dbWrite', '110']
  const plan = (...args: string[]) => {
    const settings = settingsOf(...costs, ...args)
    return planFor(settings, settings, settings)
  }

  it('needs one process and one server for a small load', () => {
    const small = plan('--requests', '100', '--rows', '1e6')
    expect(small).toMatchObject({ processes: 1, machines: 1, shards: 1, replicas: 0 })
    expect(small.needsPooler).toBe(false)
  })

  it('counts application cores: 90,000 reads of 60 µs and 10,000 writes of 95 µs, 60 % busy', () => {
    const { processes, machines, connections, needsPooler } = plan()
    expect(processes).toBe(Math.ceil((90_000 * 60 + 10_000 * 95) / 1e6 / 0.6))
    expect(machines).toBe(Math.ceil(processes / 8))
    expect(connections).toBe(processes * 10)
    expect(needsPooler).toBe(false)
    expect(plan('--poolSize', '100').needsPooler).toBe(true)
  })

  it('adds replicas for reads and shards for writes', () => {
    const base = ['--dbCores', '4', '--rows', '1e6']
    const reading = plan('--requests', '100000', '--reads', '1', ...base)
    expect(reading.shards).toBe(1)
    expect(reading.replicas).toBe(Math.ceil((100_000 * 40) / 1e6 / (4 * 0.6)))
    const writing = plan('--requests', '100000', '--reads', '0', ...base)
    expect(writing.shards).toBe(Math.ceil((100_000 * 110) / 1e6 / 4 / 0.6))
    expect(writing.replicas).toBe(0)
    expect(writing.limits[0]?.resource).toBe('cores for writes')
  })

  it('adds shards if hot rows do not fit into memory', () => {
    const large = plan('--requests', '10', '--rows', '1e10', '--hot', '1', '--dbMemory', '1e12')
    expect(large.shards).toBe(3)
    expect(large.limits[0]?.resource).toBe('memory for hot rows')
  })
})

describe('planFor on Citus', () => {
  const costs = ['--dbRead', '400', '--citus', '--dbWrite', '600', '--routeRead', '300']
  const settings = settingsOf(...costs, '--routeWrite', '500', '--rows', '1e6', '--dbCores', '8')
  const plan = planFor(settings, settings, settings)

  it('counts cores of the coordinator and of the workers: 90,000 reads and 10,000 writes', () => {
    expect(plan.coordinatorCores).toBeCloseTo((90_000 * 300 + 10_000 * 500) / 1e6 / 0.6)
    expect(plan.workerCores).toBeCloseTo((90_000 * 400 + 10_000 * 600) / 1e6 / 0.6)
  })

  it('reads from workers instead of replicas', () => {
    expect(plan).toMatchObject({ shards: Math.ceil(plan.workerCores / 8), replicas: 0 })
  })

  it('is described with its servers, and with the coordinator among the limits', () => {
    const text = describePlan(settings)
    expect(text).toContain('coordinator   54 cores on 7 servers')
    expect(text).toContain('database      70 cores on 9 workers')
    expect(text).toMatch(/requests a second: the coordinator/)
    expect(text).not.toContain('overloaded')
  })
})

it('firstLimits starts with the resource that saturates first', () => {
  const settings = settingsOf('--reads', '1', '--appRead', '50')
  const limits = firstLimits(settings, settings, settings)
  expect(limits[0]).toEqual({ resource: 'one process of the application', servers: 20_000 })
  expect(limits.at(-1)).toEqual({ resource: 'the log of one database server', servers: Infinity })
})

describe('simulate', () => {
  const stage = (arrivals: number) => ({ arrivals, service: 1, servers: 1 })

  it('returns the same result for the same seed', () => {
    expect(simulate([stage(500)])).toEqual(simulate([stage(500)]))
    expect(simulate([stage(500)], 50_000, 2)).not.toEqual(simulate([stage(500)]))
  })

  it('equals the service time when idle, and grows with the load', () => {
    const idle = simulate([stage(1)])
    expect(idle.p50).toBeGreaterThan(0.5)
    expect(idle.p50).toBeLessThan(1)
    const [half, busy] = [simulate([stage(500)]), simulate([stage(900)])]
    expect(half.p99).toBeGreaterThan(idle.p99)
    expect(busy.p99).toBeGreaterThan(2 * half.p99)
    expect(busy.overloaded).toBe(false)
    expect(simulate([stage(1001)]).overloaded).toBe(true)
  })

  it('waits less with many servers than with one at the same load', () => {
    const parallel = simulate([{ arrivals: 8 * 900, service: 1, servers: 8 }])
    expect(parallel.p99).toBeLessThan(simulate([stage(900)]).p99)
  })

  it('is close to the known mean wait of such a queue', () => {
    // Pollaczek and Khinchine: the squared coefficient of variation of the service time is 0.25.
    const wait = (0.8 / (2 * (1 - 0.8))) * (1 + 0.25)
    const { p50 } = simulate([stage(800)], 400_000)
    expect(p50).toBeGreaterThan(0.5 * (wait + 1))
    expect(p50).toBeLessThan(wait + 1)
  })
})

describe('describePlan', () => {
  it('lists the requirements and the first limits', () => {
    const text = describePlan(settingsOf())
    expect(text).toContain('100,000 requests a second, 90 % reads, 1,000,000,000 rows.')
    expect(text).toMatch(/application {3}\d+ processes on \d+ machines/)
    expect(text).toContain('one process of the application')
    expect(text).toMatch(/reads {3}p50 \d+\.\d\d ms, p99 \d+\.\d\d ms/)
  })

  it('handles an overloaded database', () => {
    const text = describePlan(settingsOf('--requests', '10', '--dbRead', '9e9', '--rows', '0'))
    expect(text).toContain('replicas each')
  })
})
