/**
 * Jobs a second, on SQLite or PostgreSQL: added one by one and by 1,000, empty ones run with 1, 4 and 24 at once, the time from
 * the commit to the start, and what a job in the transaction costs a commit. `tsx --tsconfig test/tsconfig.json
 * bench/jobs/ours.ts [address] [jobs]`; JSON lines on standard output.
 */
import { bootstrap, Database, Field, Module, Record } from '../../src/index.js'
import { Job, Jobs, jobs } from '../../src/modules/jobs/jobs.js'

const [, , address = 'sqlite::memory:', size = '5000'] = process.argv
const count = Number(size)

let ran = 0
let started = 0
let begun: () => void = () => undefined
let done: () => void = () => undefined

class Work {
  @Job({ timeout: '1h' }) empty(): void {
    if (ran === 0) begun()
    if (++ran === count) done()
  }

  @Job() timed(): void {
    started = performance.now()
    done()
  }
}

@Record({ table: 'bench_order' })
class Order {
  @Field('id') id!: number
  @Field('integer') of!: number
}

async function start(concurrency: number, work: boolean) {
  @Module({ providers: [Work], records: [Order], imports: [jobs({ work, concurrency })] })
  class App {}
  return bootstrap(App, { listen: false, logger: false, env: {}, database: address })
}

function tell(what: string, amount: number, began: number, processor: NodeJS.CpuUsage): void {
  const seconds = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(processor)
  const line = {
    what,
    perSecond: Math.round(amount / seconds),
    processorMicroseconds: Math.round((user + system) / amount),
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function adding(): Promise<void> {
  const app = await start(1, false)
  const queue = app.get(Jobs)
  for (let warm = 0; warm < 200; warm++) await queue.add(Work, 'empty')
  let [began, processor] = [performance.now(), process.cpuUsage()]
  for (let index = 0; index < count; index++) await queue.add(Work, 'empty')
  tell('added one by one', count, began, processor)
  if (!address.startsWith('sqlite')) {
    ;[began, processor] = [performance.now(), process.cpuUsage()]
    const hand = async (): Promise<void> => {
      for (let index = 0; index < count / 10; index++) await queue.add(Work, 'empty')
    }
    await Promise.all(Array.from({ length: 10 }, hand))
    tell('added one by one, by ten', count, began, processor)
  }
  ;[began, processor] = [performance.now(), process.cpuUsage()]
  const bodies = Array.from({ length: 1000 }, () => undefined as never)
  for (let index = 0; index < count; index += 1000) await queue.addMany(Work, 'empty', bodies)
  tell('added by 1,000', Math.ceil(count / 1000) * 1000, began, processor)
  const database = app.get(Database)
  const orders = database.records(Order)
  for (const withJob of [false, true]) {
    ;[began, processor] = [performance.now(), process.cpuUsage()]
    const hand = async (): Promise<void> => {
      for (let index = 0; index < 100; index++)
        await database.transaction(async () => {
          await orders.create({ of: index })
          if (withJob) await queue.add(Work, 'empty')
        })
    }
    await Promise.all(Array.from({ length: 10 }, hand))
    tell(`1,000 commits by ten ${withJob ? 'with' : 'without'} a job`, 1000, began, processor)
  }
  await database.kysely.deleteFrom('jobs').execute()
  await app.close()
}

async function running(concurrency: number): Promise<void> {
  ran = 0
  const adding = await start(1, false)
  const bodies = Array.from({ length: 1000 }, () => undefined as never)
  const over = new Promise<void>((resolve) => {
    done = resolve
  })
  // In memory nobody else sees the jobs: there the process that adds them works.
  const isAlone = address.endsWith(':memory:')
  const working = isAlone ? undefined : await start(concurrency, true)
  const queue = adding.get(Jobs)
  for (let index = 0; index < count; index += 1000)
    await queue.addMany(Work, 'empty', bodies, { in: '3s' })
  const first = new Promise<void>((resolve) => {
    begun = resolve
  })
  if (isAlone) return adding.close()
  await first
  const [began, processor] = [performance.now(), process.cpuUsage()]
  await over
  tell(`run, ${concurrency} at once`, count, began, processor)
  await working?.close()
  await adding.get(Database).kysely.deleteFrom('jobs').execute()
  await adding.close()
}

async function latency(): Promise<void> {
  const app = await start(10, true)
  const queue = app.get(Jobs)
  const times: number[] = []
  for (let index = 0; index < 300; index++) {
    const over = new Promise<void>((resolve) => {
      done = resolve
    })
    await queue.add(Work, 'timed')
    const committed = performance.now()
    await over
    times.push(Math.max(0, started - committed))
  }
  times.sort((one, other) => one - other)
  const line = { what: 'from commit to start in ms', p50: times[150], p99: times[297] }
  process.stdout.write(`${JSON.stringify(line)}\n`)
  await app.close()
}

await adding()
for (const concurrency of [1, 4, 24]) await running(concurrency)
await latency()
process.exit(0)
