/**
 * Two processes on one database: the time from the commit in one to the start in the other, what a job in a transaction costs its
 * commit while the other listens, and how many statements an idle one asks. `tsx --tsconfig test/tsconfig.json
 * bench/jobs/across.ts <address> [seconds idle]` at the root; JSON lines.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { bootstrap, Database, Field, Module, Record } from '../../src/index.js'
import { Job, Jobs, jobs } from '../../src/modules/jobs/jobs.js'
import { percentiles } from './measure.mjs'

const [, , address, idle = '20'] = process.argv
if (address === undefined) throw new Error('Give an address: postgres://….')

/** Milliseconds of a clock that both processes share. */
const now = (): number => performance.timeOrigin + performance.now()

class Work {
  @Job({ timeout: '1h' }) timed({ number }: { readonly number: number }): void {
    if (number >= 0) process.send?.({ number, at: now() })
  }
}

@Record({ table: 'bench_order' })
class Order {
  @Field('id') id!: number
  @Field('integer') of!: number
}

async function start(work: boolean) {
  @Module({ providers: [Work], records: [Order], imports: [jobs({ work, concurrency: 10 })] })
  class App {}
  return bootstrap(App, { listen: false, logger: false, env: {}, database: address })
}

function tell(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

if (process.send === undefined) await ask()
else {
  const asked = new Set<unknown>()
  subscribe('filigree:statement', (event) => asked.add(event))
  process.on('message', () => {
    process.send?.({ asked: asked.size })
    asked.clear()
  })
  await start(true)
  process.send('ready')
}

async function startOther(): Promise<ChildProcess> {
  const [, file = ''] = process.argv
  const child = fork(file, process.argv.slice(2))
  await once(child, 'message')
  return child
}

async function ask(): Promise<void> {
  const app = await start(false)
  const queue = app.get(Jobs)
  const database = app.get(Database)
  const commits = async (withJob: boolean): Promise<number> => {
    const began = performance.now()
    const hand = async (): Promise<void> => {
      for (let index = 0; index < 100; index++)
        await database.transaction(async () => {
          await database.records(Order).create({ of: index })
          if (withJob) await queue.add(Work, 'timed', { number: -1 })
        })
    }
    await Promise.all(Array.from({ length: 10 }, hand))
    return 1000 / ((performance.now() - began) / 1000)
  }
  const middle = async (withJob: boolean): Promise<number> => {
    const each: number[] = []
    for (let round = 0; round < 5; round++) each.push(await commits(withJob))
    return Math.round(each.toSorted((one, two) => one - two)[2] ?? 0)
  }
  await commits(true)
  tell({
    what: 'commits per second by ten clients',
    without: await middle(false),
    withJobNobodyListens: await middle(true),
  })
  await database.kysely.deleteFrom('jobs').execute()
  const other = await startOther()
  await latency(queue, other)
  tell({
    what: 'the same while another process works',
    without: await middle(false),
    withJob: await middle(true),
  })
  while ((await queue.counts()).waiting > 0) await sleep(100)
  await app.close()
  await quiet(other)
  other.kill()
  process.exit(0)
}

async function latency(queue: Jobs, other: ChildProcess): Promise<void> {
  const waits: number[] = []
  // On SQLite the other one polls, each second.
  const most = address?.startsWith('postgres') === true ? 320 : 50
  for (let number = 0; number < most; number++) {
    const begun = once(other, 'message') as Promise<[{ readonly at: number }]>
    await queue.add(Work, 'timed', { number })
    const committed = now()
    const [{ at }] = await begun
    if (number >= 20) waits.push(Math.max(0, at - committed))
    await sleep(5 * Math.random())
  }
  tell({ what: 'from commit to start across two processes, ms', ...percentiles(waits) })
}

/** The same event reports the start and the end of each statement. */
async function quiet(other: ChildProcess): Promise<void> {
  const count = async (): Promise<number> => {
    other.send('count')
    const [{ asked }] = (await once(other, 'message')) as [{ readonly asked: number }]
    return asked
  }
  await sleep(7000)
  await count()
  await sleep(Number(idle) * 1000)
  const perSecond = Number(((await count()) / Number(idle)).toFixed(2))
  tell({ what: 'statements a second of an idle process', perSecond })
}
