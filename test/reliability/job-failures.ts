/**
 * Kills, pauses and blocks the processes of jobs, and stops their database. `npm run job-faults --
 * [kills] [engine]` prints a table of the outcomes. Each part has a time limit.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { connect, type Database } from '../../src/index.js'
import { JobEntry } from '../../src/modules/jobs/jobs.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'

const kills = Number(process.argv[2] ?? 50)
const only = process.argv[3]
const parts = process.argv[4]?.split(',')

const folder = await mkdtemp(join(tmpdir(), 'filigree-job-faults-'))
// PostgreSQL runs as another user and reads the file of its clock here.
await chmod(folder, 0o755)
const program = resolve('dist/job-faults/jobs-process.mjs')

await build({
  entryPoints: ['test/modules/jobs/fixtures/jobs-process.ts'],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  keepNames: true,
  tsconfig: 'tsconfig.json',
  plugins: [
    {
      name: 'sources',
      setup: (steps) => {
        steps.onResolve({ filter: /^filigree$/ }, () => ({ path: resolve('src/index.ts') }))
        steps.onResolve({ filter: /^filigree\// }, ({ path }) => {
          const module = path.slice('filigree/'.length)
          return { path: resolve(`src/modules/${module}/${module}.ts`) }
        })
      },
    },
  ],
})

interface Line {
  readonly event: string
  readonly job: string
  readonly id: number
  readonly attempt: number
  readonly process: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A database and the worker processes that use it. */
class Workers {
  readonly url: string
  readonly eventFile: string
  readonly children = new Set<ChildProcess>()

  constructor(url: string, name: string) {
    this.url = url
    this.eventFile = join(folder, `${name}.notes`)
  }

  async start(
    env: Record<string, string> = {},
    args: readonly string[] = [],
  ): Promise<ChildProcess> {
    const child = spawn(process.execPath, [...args, program], {
      stdio: ['ignore', 'pipe', process.env.JOBS_LOG === undefined ? 'ignore' : 'inherit'],
      env: {
        ...process.env,
        NODE_ENV: 'development',
        DATABASE_URL: this.url,
        JOBS_NOTES: this.eventFile,
        ...env,
      },
    })
    this.children.add(child)
    child.once('exit', () => this.children.delete(child))
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    return child
  }

  get lines(): Line[] {
    if (!existsSync(this.eventFile)) return []
    const text = readFileSync(this.eventFile, 'utf8')
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [event = '', job = '', ...numbers] = line.split(' ')
        const [id = 0, attempt = 0, pid = 0, at = 0] = numbers.map(Number)
        return { event, job, id, attempt, process: pid, at }
      })
  }

  async end(): Promise<void> {
    for (const child of this.children) child.kill('SIGKILL')
    while (this.children.size > 0) await pause(10)
  }
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms))

async function until(isSo: () => unknown, maxMs = 120_000): Promise<boolean> {
  const end = Date.now() + maxMs
  while (Date.now() < end) {
    if (await isSo()) return true
    await pause(50)
  }
  return false
}

const rows: string[][] = []
function report(engine: string, scenario: string, outcome: string): void {
  rows.push([engine, scenario, outcome])
  process.stdout.write(`${engine} | ${scenario} | ${outcome}\n`)
}

/** Inserts jobs into the table, because this program and the bundled one have different copies of the framework. */
async function add(
  database: Database,
  name: string,
  body: object,
  count: number,
  more: object = {},
): Promise<void> {
  const now = new Date(Date.now() - 1000).toISOString()
  const row = {
    ...{
      name,
      state: 'waiting',
      body,
      priority: 0,
      runAt: now,
      laterAt: null,
      attempt: 0,
      retries: 20,
    },
    ...{
      backoff: 1000,
      keep: 86_400,
      claims: 0,
      uniqueKey: null,
      groupKey: null,
      schedule: null,
      worker: null,
    },
    ...{
      leaseUntil: null,
      deadline: null,
      cancelAt: null,
      progress: null,
      progressText: null,
      error: null,
    },
    ...{
      errors: null,
      trace: null,
      secretBody: null,
      emptiedAt: null,
      addedAt: now,
      startedAt: null,
      endedAt: null,
      keepUntil: null,
      ...more,
    },
  }
  await database.records(JobEntry).insertMany(Array.from({ length: count }, () => row) as never)
}

const countOf = (database: Database, state: string): Promise<number> =>
  database.records(JobEntry).count({ state } as never)

/** Repeatedly kills one of two processes in the middle of jobs. */
async function killing(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-kill`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  const jobs = kills * 90
  await add(database, 'Work.plain', { ms: 40 }, jobs)
  const startedAt = Date.now()
  let killed = 0
  let [victim, other] = await Promise.all([workers.start(), workers.start()])
  for (; killed < kills; killed++) {
    await pause(150 + Math.random() * 250)
    if ((await countOf(database, 'done')) >= jobs) break
    victim.kill('SIGKILL')
    ;[victim, other] = [other, await workers.start()]
  }
  const isDone = await until(async () => (await countOf(database, 'done')) === jobs, 240_000)
  await workers.end()
  const { lines } = workers
  const ended = new Map<number, number>()
  const starts = new Map<number, number>()
  for (const { event, id } of lines) {
    const into = event === 'ended' ? ended : starts
    into.set(id, (into.get(id) ?? 0) + 1)
  }
  const missing = jobs - ended.size
  const twiceBegun = [...starts.values()].filter((count) => count > 1).length
  const twiceEnded = [...ended.values()].filter((count) => count > 1).length
  const failed = await countOf(database, 'failed')
  report(
    engine,
    `${killed} × kill -9 with ${jobs} jobs`,
    `${isDone ? 'all done' : 'NOT ALL DONE'} in ${Math.round((Date.now() - startedAt) / 1000)} s: ${missing} lost, ${failed} failed, ${twiceBegun} started twice, of these ${twiceEnded} had ended before the kill`,
  )
  await database.close()
}

/** Measures how long the job of a killed process waits. */
async function recovery(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-recovery`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  const processes = [await workers.start(), await workers.start()]
  await add(database, 'Work.plain', { ms: 60_000 }, 1)
  await until(() => workers.lines.length === 1)
  processes.find(({ pid }) => pid === workers.lines[0]?.process)?.kill('SIGKILL')
  const startedAt = Date.now()
  await until(() => workers.lines.filter(({ event }) => event === 'began').length === 2)
  report(
    engine,
    'kill -9 of one process, another goes on',
    `runs again after ${((Date.now() - startedAt) / 1000).toFixed(1)} s`,
  )
  await workers.end()
  await database.close()
}

async function pausing(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-pause`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.plain', { ms: 1500 }, 1)
  const victim = await workers.start()
  await until(() => workers.lines.length === 1)
  victim.kill('SIGSTOP')
  await workers.start()
  await until(() => workers.lines.some(({ event }) => event === 'ended'), 90_000)
  const entry = async (): Promise<JobEntry | null> =>
    (await database.records(JobEntry).list({ limit: 1 }))[0] ?? null
  await until(async () => (await entry())?.state === 'done')
  const before = await entry()
  await pause(Math.max(0, 60_000 - 25_000))
  victim.kill('SIGCONT')
  await until(() => workers.lines.filter(({ event }) => event === 'ended').length === 2, 20_000)
  await pause(2000)
  const after = await entry()
  const same = JSON.stringify(before) === JSON.stringify(after)
  report(
    engine,
    'SIGSTOP for a minute, then SIGCONT',
    `another ran it as attempt ${after?.attempt}; the paused one ${same ? 'changed nothing' : 'CHANGED THE ROW'}`,
  )
  await workers.end()
  await database.close()
}

async function blocking(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-block`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.busy', { ms: 25_000 }, 1)
  await workers.start()
  await until(() => workers.lines.length === 1)
  await workers.start()
  await until(async () => (await countOf(database, 'done')) === 1, 60_000)
  report(
    engine,
    'a loop blocked for 25 s',
    `${workers.lines.filter(({ event }) => event === 'began').length} run, ${await countOf(database, 'done')} done`,
  )
  await workers.end()
  await database.close()
}

async function poison(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-poison`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.exits', {}, 1, { retries: 1 })
  await add(database, 'Work.eats', {}, 1, { retries: 1 })
  await add(database, 'Work.endless', {}, 1, { retries: 1 })
  await add(database, 'Work.plain', {}, 20)
  const startedAt = Date.now()
  let starts = 0
  let isOver = false
  const supervise = async (): Promise<void> => {
    while (!isOver) {
      const child = await workers.start({ JOBS_AT_ONCE: '2' }, ['--max-old-space-size=100'])
      starts++
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    }
  }
  const supervisors = [supervise(), supervise(), supervise()]
  const isDone = await until(
    async () =>
      (await countOf(database, 'failed')) === 3 && (await countOf(database, 'done')) === 20,
    150_000,
  )
  isOver = true
  await workers.end()
  await Promise.all(supervisors)
  report(
    engine,
    'poison: exit, out of memory, endless loop',
    `${isDone ? 'all three failed, the other 20 done' : `${await countOf(database, 'failed')} failed, ${await countOf(database, 'done')} done`} in ${Math.round((Date.now() - startedAt) / 1000)} s with ${starts} starts of 3 processes`,
  )
  await database.close()
}

async function groups(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-groups`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.single', { ms: 30 }, 60, { groupKey: 'one' })
  const first = await workers.start()
  await Promise.all([workers.start(), workers.start()])
  await pause(1500)
  first.kill('SIGKILL')
  const isDone = await until(async () => (await countOf(database, 'done')) === 60, 90_000)
  await workers.end()
  const maxRunning = maxConcurrent(workers.lines)
  report(
    engine,
    'a group of one over three processes, one killed',
    `${isDone ? 'all done' : 'NOT ALL DONE'}, at most ${maxRunning} at the same time`,
  )
  await database.close()
}

function maxConcurrent(lines: readonly Line[]): number {
  let max = 0
  const running = new Set<number>()
  for (const { event, id } of lines) {
    // A job of a killed process ends with the process.
    if (event === 'began') running.add(id)
    else running.delete(id)
    max = Math.max(max, running.size)
  }
  return max
}

/** A group of two and a rate of ten a second over three processes, of which one is killed. */
async function limits(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-limits`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  const first = await workers.start()
  await Promise.all([workers.start(), workers.start()])
  await add(database, 'Limited.pair', { ms: 50 }, 60, { groupKey: 'one' })
  await add(database, 'Limited.rated', {}, 60)
  await pause(1500)
  first.kill('SIGKILL')
  const isDone = await until(async () => (await countOf(database, 'done')) === 120, 90_000)
  await workers.end()
  const of = (job: string): Line[] => workers.lines.filter((line) => line.job === job)
  const startTimes = of('Limited.rated')
    .filter(({ event }) => event === 'began')
    .map(({ at }) => at)
  const inSecond = Math.max(
    ...startTimes.map((from) => startTimes.filter((at) => at >= from && at < from + 1000).length),
  )
  report(
    engine,
    'a group of two and a rate of 10/s over three processes, one killed',
    `${isDone ? 'all done' : 'NOT ALL DONE'}, at most ${maxConcurrent(of('Limited.pair'))} at the same time; at most ${inSecond} started in any second, ${startTimes.length} in ${((Math.max(...startTimes) - Math.min(...startTimes)) / 1000).toFixed(1)} s`,
  )
  await database.close()
}

/** A paused process that continues and is terminated must not release the job that another process has taken over. */
async function releasing(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-release`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.single', { ms: 30_000 }, 3, { groupKey: 'one' })
  const victim = await workers.start()
  await until(() => workers.lines.length === 1)
  victim.kill('SIGSTOP')
  await Promise.all([workers.start(), workers.start()])
  await until(() => workers.lines.length === 2, 60_000)
  const running = async (): Promise<string> =>
    JSON.stringify(await database.records(JobEntry).list({ where: { state: 'running' } as never }))
  const simple = async (): Promise<string> => (await running()).replace(/"leaseUntil":"[^"]*"/, '')
  const before = await simple()
  victim.kill('SIGCONT')
  victim.kill('SIGTERM')
  await Promise.race([once(victim, 'exit'), pause(20_000)])
  await pause(3000)
  const startCount = workers.lines.filter(({ event }) => event === 'began').length
  report(
    engine,
    'SIGSTOP until the lease is lost, then SIGCONT and SIGTERM, in a group of one',
    `${(await simple()) === before ? 'the job of the other process is unchanged' : 'THE ROW CHANGED'}, ${startCount} started: ${startCount === 2 ? 'no second one' : 'A SECOND ONE'}`,
  )
  await workers.end()
  await database.close()
}

/** Processes with old and new job classes use one table. */
async function deploys(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-deploys`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  const [old, young] = await Promise.all([
    workers.start({ JOBS_DEPLOY: 'old' }),
    workers.start({ JOBS_DEPLOY: 'new' }),
  ])
  await add(database, 'Deploy.dropped', {}, 20)
  await add(database, 'Deploy.added', {}, 20)
  await add(database, 'Deploy.both', { name: 'a' }, 100)
  const isOver = (many: number): Promise<boolean> =>
    until(async () => {
      const failed = await countOf(database, 'failed')
      return failed + (await countOf(database, 'done')) === many
    }, 30_000)
  await isOver(140)
  const by = (job: string, child: ChildProcess): number =>
    workers.lines.filter((line) => line.job === job && line.process === child.pid).length
  const shared = [by('Deploy.both', old), by('Deploy.both', young)]
  await add(database, 'Deploy.both', { name: 'a', weight: 1 }, 40)
  await isOver(180)
  const failed = await database.records(JobEntry).list({ where: { state: 'failed' } as never })
  const named = failed.filter(({ error }) => error?.includes('weight is unknown') === true).length
  old.kill('SIGTERM')
  await once(old, 'exit')
  await add(database, 'Deploy.dropped', {}, 5)
  await pause(4000)
  const wrong = by('Deploy.dropped', young) + by('Deploy.added', old)
  report(
    engine,
    'an old and a new deployment at the same time, whose job has an additional field',
    `${wrong} run by a process without the class; of 100 that both have ${shared.join(' and ')} are done; of 40 with the new field ${by('Deploy.both', young) - (shared[1] ?? 0)} are done, ${failed.length} failed in the old one, ${named} with the field's name; after the old one has stopped ${await countOf(database, 'waiting')} of 5 wait for it`,
  )
  await workers.end()
  await database.close()
}

async function schedules(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-timed`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await Promise.all([workers.start({ JOBS_TIMED: '1' }), workers.start({ JOBS_TIMED: '1' })])
  await pause(70_000)
  await workers.end()
  const ended = workers.lines.filter(({ event }) => event === 'ended')
  const minutes = ended.filter(({ job }) => job === 'minutely').length
  const often = ended.filter(({ job }) => job === 'often').length
  report(
    engine,
    'two processes with a schedule of each minute and one of 2 s, for 70 s',
    `${minutes} and ${often} runs`,
  )
  await database.close()
}

async function idle(engine: string, url: string): Promise<void> {
  const workers = new Workers(url, `${engine}-idle`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.plain', {}, 100_000, { name: 'Gone.job' })
  const child = await workers.start()
  await add(database, 'Work.plain', {}, 10)
  const startedAt = Date.now()
  const isDone = await until(async () => (await countOf(database, 'done')) === 10)
  report(
    engine,
    '100,000 waiting jobs of a class that no longer exists',
    `${isDone ? 'other jobs run' : 'OTHER JOBS WAIT'} after ${Date.now() - startedAt} ms; they wait: ${await countOf(database, 'waiting')}`,
  )
  child.kill('SIGKILL')
  await workers.end()
  await database.close()
}

/** From the Debian package `faketime`. */
const fakeTime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

/** A clock that tests can change while processes run: of the processes on SQLite, of the server on PostgreSQL. */
class WrongClock {
  readonly #file = join(folder, `clock-${Math.random()}`)
  readonly env = {
    LD_PRELOAD: fakeTime,
    FAKETIME_TIMESTAMP_FILE: this.#file,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
  }

  constructor() {
    this.set(0)
  }

  set(hours: number): void {
    writeFileSync(this.#file, `${hours < 0 ? '' : '+'}${hours}h\n`)
    chmodSync(this.#file, 0o644)
  }
}

async function jumping(engine: string, url: string, clock: WrongClock): Promise<void> {
  const env = engine === 'SQLite' ? clock.env : {}
  for (const hours of [1, -1]) {
    const workers = new Workers(url, `${engine}-clock${hours}`)
    const database = await connect(url, { records: [JobEntry] })
    await database.sync()
    await database.records(JobEntry).deleteWhere({ id: { gt: 0 } })
    const victim = await workers.start({ ...env, JOBS_TIMED: '1' })
    const other = await workers.start({ ...env, JOBS_TIMED: '1' })
    await add(database, 'Work.plain', { ms: 12_000 }, 6)
    await until(() => workers.lines.filter(({ job }) => job === 'Work.plain').length === 6)
    clock.set(hours)
    const jumped = workers.lines.length
    await pause(1000)
    victim.kill('SIGKILL')
    const startedAt = Date.now()
    const isDone = await until(
      async () =>
        (await database.records(JobEntry).count({ name: 'Work.plain', state: 'done' } as never)) ===
        6,
      90_000,
    )
    const took = Math.round((Date.now() - startedAt) / 1000)
    // Schedules use the new time within a minute.
    await pause(Math.max(0, 75_000 - took * 1000))
    const linesAfterJump = workers.lines.slice(jumped)
    const count = (event: string, job: string): number =>
      linesAfterJump.filter((line) => line.event === event && line.job === job).length
    report(
      engine,
      `the database's clock jumps an hour ${hours > 0 ? 'ahead' : 'back'}, and one of two processes is killed`,
      `${isDone ? 'all 6 done' : 'NOT ALL DONE'} after ${took} s, ${count('began', 'Work.plain')} of them started again; the schedule of 2 s ran ${count('ended', 'often')} times, the schedule of each minute ${count('ended', 'minutely')} times in 75 s`,
    )
    other.kill('SIGKILL')
    await workers.end()
    await database.close()
    clock.set(0)
  }
}

async function clocks(engine: string): Promise<void> {
  if (!existsSync(fakeTime)) {
    report(engine, 'a clock that jumps', 'skipped: faketime is not installed')
    return
  }
  const clock = new WrongClock()
  if (engine === 'SQLite') {
    await jumping(engine, `sqlite:${join(folder, 'clock.db')}`, clock)
    return
  }
  Object.assign(process.env, clock.env)
  const server = await startOwnPostgres().finally(() => {
    for (const name of Object.keys(clock.env)) Reflect.deleteProperty(process.env, name)
  })
  await jumping(engine, await server.createDatabase(), clock)
  await server.close()
}

/** Fills a tmpfs while jobs run, and then frees space. */
async function disk(engine: string): Promise<void> {
  const small = await mkdtemp(join(tmpdir(), 'filigree-disk-'))
  const size = engine === 'SQLite' ? '8m' : '160m'
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${size},mode=1777`, 'tmpfs', small]
    execFileSync('mount', options, { stdio: 'pipe' })
  } catch {
    await rm(small, { recursive: true })
    report(engine, 'a full disk', 'skipped: no tmpfs can be mounted here')
    return
  }
  let server: OwnPostgres | undefined
  try {
    const before = process.env.TMPDIR
    process.env.TMPDIR = small
    if (engine === 'PostgreSQL') server = await startOwnPostgres()
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await fill(engine, (await server?.createDatabase()) ?? `sqlite:${join(small, 'app.db')}`, small)
  } finally {
    await server?.close()
    execFileSync('umount', ['-l', small])
    await rm(small, { recursive: true, force: true })
  }
}

async function fill(engine: string, url: string, small: string): Promise<void> {
  const workers = new Workers(url, `${engine}-disk`)
  const database = await connect(url, { records: [JobEntry] })
  await database.sync()
  // The pages that updates need do not exist yet.
  await add(database, 'Work.plain', { ms: 100, text: 'a'.repeat(2000) }, 400)
  await workers.start()
  await until(() => workers.lines.length > 40)
  const filler = join(small, 'filler')
  for (const bytes of [1_000_000, 4096])
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(bytes))
    } catch {
      // It is full.
    }
  const full = workers.lines.length
  // The server has allocated files that are not full yet.
  const more = { ms: 10, text: 'a'.repeat(5000) }
  let many = 400
  for (let piece = 0; piece < 100; piece++) {
    const isAdded = await add(database, 'Work.plain', more, 100).then(
      () => true,
      () => false,
    )
    if (!isAdded) break
    many += 100
  }
  await pause(25_000)
  const meanwhile = workers.lines.length - full
  await rm(filler)
  const startedAt = Date.now()
  const isDone = await until(
    async () => (await countOf(database, 'done').catch(() => 0)) === many,
    120_000,
  )
  const ended = new Map<number, number>()
  for (const { event, id } of workers.lines)
    if (event === 'ended') ended.set(id, (ended.get(id) ?? 0) + 1)
  report(
    engine,
    'a full disk for 25 s under running jobs',
    `${many} were added, ${meanwhile / 2} ran meanwhile; then ${isDone ? 'all done' : 'NOT ALL DONE'} after ${Math.round((Date.now() - startedAt) / 1000)} s: ${many - ended.size} lost, ${[...ended.values()].filter((count) => count > 1).length} run twice`,
  )
  await workers.end()
  await database.close()
}

async function away(postgres: OwnPostgres, url: string): Promise<void> {
  const workers = new Workers(url, 'away')
  let database = await connect(url, { records: [JobEntry] })
  await database.sync()
  await add(database, 'Work.plain', { ms: 500 }, 200)
  await workers.start()
  await until(() => workers.lines.length > 20)
  await database.close()
  await postgres.stop()
  await pause(60_000)
  await postgres.start()
  database = await connect(url, { records: [JobEntry] })
  const isDone = await until(async () => (await countOf(database, 'done')) === 200, 120_000)
  await workers.end()
  const ended = new Map<number, number>()
  for (const { event, id } of workers.lines)
    if (event === 'ended') ended.set(id, (ended.get(id) ?? 0) + 1)
  const doubles = [...ended.values()].filter((count) => count > 1).length
  report(
    'PostgreSQL',
    'the database stopped for a minute',
    `${isDone ? 'all done' : 'NOT ALL DONE'}: ${200 - ended.size} lost, ${doubles} run twice`,
  )
  await database.close()
}

const all = {
  ...{ killing, recovery, pausing, releasing, blocking, poison, groups, limits },
  ...{ deploys, schedules, idle, clocks, disk },
}
const selectedParts = Object.entries(all).filter(
  ([name]) => parts === undefined || parts.includes(name),
)

if (only !== 'postgres')
  for (const [name, part] of selectedParts)
    await part('SQLite', `sqlite:${join(folder, `${name}.db`)}`)
if (only !== 'sqlite') {
  const postgres = await startOwnPostgres()
  for (const [, part] of selectedParts) await part('PostgreSQL', await postgres.createDatabase())
  if (parts === undefined || parts.includes('away'))
    await away(postgres, await postgres.createDatabase())
  await postgres.close()
}
await rm(folder, { recursive: true, force: true })
const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
process.stdout.write(
  `\n${rows.map(([a = '', b = '', c = '']) => `| ${a.padEnd(widths[0] ?? 0)} | ${b.padEnd(widths[1] ?? 0)} | ${c} |`).join('\n')}\n`,
)
process.exit(0)
