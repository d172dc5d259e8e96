/** The simulation of docs/scaling.md. */
import { describe, expect, it } from '@jest/globals'
import { firstLimits, planFor } from './capacity.js'
import { describePlan } from './describe-plan.js'
import { readFigures, type Figures } from './read-figures.js'
import { simulate } from './waiting.js'

function figuresOf(...words: string[]): Figures {
  const read = readFigures(words)
  if ('text' in read) throw new Error(read.text)
  return read
}

describe('readFigures', () => {
  it('takes figures of its own, with underscores and exponents', () => {
    expect(figuresOf()).toMatchObject({ requests: 100_000, rows: 1e9 })
    expect(figuresOf('--requests', '5_000', '--rows', '2e6', '--reads', '0.5')).toMatchObject({
      requests: 5000,
      rows: 2e6,
      reads: 0.5,
    })
  })

  it.each([
    [['--request', '5'], 'There is no figure "--request".'],
    [['5'], 'There is no figure "5".'],
    [['--requests'], '--requests needs a number of 0 or more.'],
    [['--requests', 'many'], '--requests needs a number of 0 or more.'],
    [['--rows', '-1'], '--rows needs a number of 0 or more.'],
    [['--reads', '1.5'], '--reads needs a number from 0 to 1.'],
    [['--busy', '0'], '--busy needs a number from 0 to 1.'],
  ])('refuses %j', (words, message) => {
    expect(readFigures(words)).toEqual({
      failed: true,
      text: expect.stringContaining(message) as unknown,
    })
  })

  it('explains itself', () => {
    expect(readFigures(['--help'])).toEqual({
      failed: false,
      text: expect.stringContaining('--requests') as unknown,
    })
  })
})

describe('planFor', () => {
  const costs = ['--appRead', '60', '--appWrite', '95', '--dbRead', '40', '--dbWrite', '110']
  const plan = (...words: string[]) => {
    const figures = figuresOf(...costs, ...words)
    return planFor(figures, figures, figures)
  }

  it('is one process and one server for a small load', () => {
    const small = plan('--requests', '100', '--rows', '1e6')
    expect(small).toMatchObject({ processes: 1, machines: 1, shards: 1, replicas: 0 })
    expect(small.needsPooler).toBe(false)
  })

  it('counts cores: 90,000 reads of 60 µs and 10,000 writes of 95 µs, 60 % busy', () => {
    const { processes, machines, connections, needsPooler } = plan()
    expect(processes).toBe(Math.ceil((90_000 * 60 + 10_000 * 95) / 1e6 / 0.6))
    expect(machines).toBe(Math.ceil(processes / 8))
    expect(connections).toBe(processes * 10)
    expect(needsPooler).toBe(false)
    expect(plan('--poolSize', '100').needsPooler).toBe(true)
  })

  it('takes replicas for reads and shards for writes', () => {
    const base = ['--dbCores', '4', '--rows', '1e6']
    const reading = plan('--requests', '100000', '--reads', '1', ...base)
    expect(reading.shards).toBe(1)
    expect(reading.replicas).toBe(Math.ceil((100_000 * 40) / 1e6 / (4 * 0.6)))
    const writing = plan('--requests', '100000', '--reads', '0', ...base)
    expect(writing.shards).toBe(Math.ceil((100_000 * 110) / 1e6 / 4 / 0.6))
    expect(writing.replicas).toBe(0)
    expect(writing.limits[0]?.what).toBe('cores for writes')
  })

  it('takes shards where hot rows do not fit into memory', () => {
    const large = plan('--requests', '10', '--rows', '1e10', '--hot', '1', '--dbMemory', '1e12')
    expect(large.shards).toBe(3)
    expect(large.limits[0]?.what).toBe('memory for hot rows')
  })
})

it('firstLimits tells what is full first, which is the process', () => {
  const figures = figuresOf('--reads', '1', '--appRead', '50')
  const limits = firstLimits(figures, figures, figures)
  expect(limits[0]).toEqual({ what: 'one process of the application', servers: 20_000 })
  expect(limits.at(-1)).toEqual({ what: 'the log of one database server', servers: Infinity })
})

describe('simulate', () => {
  const stage = (arrivals: number) => ({ arrivals, service: 1, servers: 1 })

  it('gives the same figures for the same seed', () => {
    expect(simulate([stage(500)])).toEqual(simulate([stage(500)]))
    expect(simulate([stage(500)], 50_000, 2)).not.toEqual(simulate([stage(500)]))
  })

  it('is the service alone where nobody waits, and more the busier it is', () => {
    const idle = simulate([stage(1)])
    expect(idle.p50).toBeGreaterThan(0.5)
    expect(idle.p50).toBeLessThan(1)
    const [half, busy] = [simulate([stage(500)]), simulate([stage(900)])]
    expect(half.p99).toBeGreaterThan(idle.p99)
    expect(busy.p99).toBeGreaterThan(2 * half.p99)
    expect(busy.overloaded).toBe(false)
    expect(simulate([stage(1001)]).overloaded).toBe(true)
  })

  it('waits less for many servers than for one that is as busy', () => {
    const many = simulate([{ arrivals: 8 * 900, service: 1, servers: 8 }])
    expect(many.p99).toBeLessThan(simulate([stage(900)]).p99)
  })

  it('comes near the mean wait that is known of such a queue', () => {
    // Pollaczek and Khinchine: half by chance has a square of the variation of 0.25.
    const wait = (0.8 / (2 * (1 - 0.8))) * (1 + 0.25)
    const { p50 } = simulate([stage(800)], 400_000)
    expect(p50).toBeGreaterThan(0.5 * (wait + 1))
    expect(p50).toBeLessThan(wait + 1)
  })
})

describe('describePlan', () => {
  it('says what is needed and what is full first', () => {
    const text = describePlan(figuresOf())
    expect(text).toContain('100,000 requests a second, 90 % of them reads; 1,000,000,000 rows.')
    expect(text).toMatch(/application {3}\d+ processes on \d+ machines/)
    expect(text).toContain('one process of the application')
    expect(text).toMatch(/reads {3}p50 \d+\.\d\d ms, p99 \d+\.\d\d ms/)
  })

  it('says where more comes than is done', () => {
    const text = describePlan(figuresOf('--requests', '10', '--dbRead', '9e9', '--rows', '0'))
    expect(text).toContain('replicas each')
  })
})
