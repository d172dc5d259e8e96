/** Fails a PostgreSQL cluster over while an application writes to it: `npm run failover -- --help`. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFindings } from './checks.js'
import { Clients, listRows, lists } from './clients.js'
import { Cluster, pollUntil } from './cluster.js'
import { LiveWatch } from './live-watch.js'
import { listening, newPrimary } from './probe.js'
import { findPrograms, MissingPrograms, type Programs } from './programs.js'
import { printReport, type Round } from './report.js'
import { readSettings, type Settings } from './settings.js'

/** The two processes: the second one reads from the replicas. */
const processCount = 2

const settings = readSettings(process.argv.slice(2))
if ('text' in settings) {
  console.log(settings.text)
  process.exit(settings.failed ? 1 : 0)
}
process.exit(await main(settings))

async function main(options: Settings): Promise<number> {
  let programs: Programs
  try {
    programs = findPrograms()
  } catch (error) {
    if (!(error instanceof MissingPrograms)) throw error
    console.log(error.message)
    return 1
  }
  console.log('Starts etcd, three servers with Patroni, haproxy, and two processes.')
  const cluster = await Cluster.start(programs)
  const children: ChildProcess[] = []
  let failed = true
  const end = async (): Promise<void> => {
    for (const child of children) child.kill('SIGKILL')
    await cluster.close(failed)
    if (failed) console.log(`The logs are in ${cluster.folder}.`)
  }
  process.once('SIGINT', () => void end().then(() => process.exit(130)))
  try {
    failed = (await run(options, cluster, children)) > 0
    return failed ? 1 : 0
  } finally {
    await end()
  }
}

async function run(options: Settings, cluster: Cluster, children: ChildProcess[]): Promise<number> {
  const urls: string[] = []
  for (let index = 0; index < processCount; index++)
    urls.push(await startProcess(cluster, index, children))
  const clients = new Clients(urls)
  await createLists(clients)
  const watches = urls.map(() => new LiveWatch())
  for (const [index, watch] of watches.entries())
    await watch.start(`${urls[index] ?? ''}/${lists[1 - index] ?? ''}?limit=100`)
  clients.start(options.keyClients, options.keyRate)
  const rounds: Round[] = []
  const count = 2 * options.rounds
  for (let index = 0; index < count; index++) {
    const keysOf = (share: number): number => Math.round((options.keys * (index + share)) / count)
    clients.allowedKeys = keysOf(1)
    await until('the keys before the failover are used', () => clients.usedKeys >= keysOf(0.4))
    const round = await failOver(index % 2 === 0 ? 'switchover' : 'kill', cluster, clients, watches)
    await until('the keys after the failover are used', () => clients.usedKeys >= keysOf(1))
    await cluster.healthy()
    rounds.push(round)
    console.log(`${index + 1} of ${count}: ${round.kind}, ${Math.round(round.outage / 1000)} s`)
  }
  await clients.stop()
  const logs = urls.map((_, index) => readFileSync(logFile(cluster, index), 'utf8'))
  const outcome = await findFindings({ cluster, clients, watches, rounds, logs })
  for (const watch of watches) watch.stop()
  printReport(rounds, outcome)
  return outcome.findings.length
}

/** Fails over once. All times are by `performance.now()`. */
async function failOver(
  kind: Round['kind'],
  cluster: Cluster,
  clients: Clients,
  watches: readonly LiveWatch[],
): Promise<Round> {
  const primary = await cluster.primary()
  const startedAt = performance.now()
  const answered = newPrimary(cluster.url, primary.postgres)
  await (kind === 'kill' ? cluster.kill(primary) : cluster.switchOver(primary))
  const upAt = await answered
  const [listenersAt] = await Promise.all([
    listening(cluster.url, processCount),
    until('both processes acknowledge writes', () =>
      clients.acknowledged.every((times) => (times.at(-1) ?? 0) > upAt),
    ),
    until('both live lists have changes of the other process', () =>
      watches.every((_, index) => freshAt(clients, watches, index, upAt) !== undefined),
    ),
  ])
  if (kind === 'kill') cluster.startNode(primary)
  return {
    kind,
    startedAt,
    upAt,
    outage: upAt - startedAt,
    service: clients.acknowledged.map((times) => (times.find((at) => at > upAt) ?? 0) - upAt),
    listeners: listenersAt - upAt,
    fresh: watches.map((_, index) => (freshAt(clients, watches, index, upAt) ?? 0) - upAt),
  }
}

/** When the live list of a process first had a change that another process wrote after the failover. */
function freshAt(
  clients: Clients,
  watches: readonly LiveWatch[],
  index: number,
  upAt: number,
): number | undefined {
  const times = clients.changes
    .filter(({ process: writer, at }) => writer !== index && at > upAt)
    .map(({ id, count }) => watches[index]?.seenAt(id, count))
  return times.filter((at) => at !== undefined).sort((one, other) => one - other)[0]
}

async function startProcess(
  cluster: Cluster,
  index: number,
  children: ChildProcess[],
): Promise<string> {
  const log = openSync(logFile(cluster, index), 'a')
  const replicas = index === 0 ? {} : { DATABASE_REPLICAS: cluster.serverUrls.join() }
  const child = fork(join(import.meta.dirname, 'process.ts'), [], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', log, log, 'ipc'],
    env: {
      ...process.env,
      ...replicas,
      NODE_ENV: 'development',
      DATABASE_URL: cluster.url,
      LOG_FORMAT: 'json',
      TSX_TSCONFIG_PATH: join(import.meta.dirname, '../../tsconfig.json'),
    },
  })
  closeSync(log)
  children.push(child)
  const ended = once(child, 'exit').then(() => {
    throw new Error(
      `A process ended at its start: ${readFileSync(logFile(cluster, index), 'utf8')}`,
    )
  })
  ended.catch(() => undefined)
  const [url] = (await Promise.race([once(child, 'message'), ended])) as [string]
  return url
}

function logFile(cluster: Cluster, index: number): string {
  return join(cluster.folder, `process-${index + 1}.log`)
}

async function createLists(clients: Clients): Promise<void> {
  for (const list of lists)
    for (let row = 0; row < listRows; row++) {
      const request = { process: 0, client: '10.0.0.1', path: `/${list}`, body: {} }
      const { status, text } = await clients.send(request)
      if (status !== 201) throw new Error(`A live list could not be created: ${status} ${text}`)
    }
}

function until(name: string, isReached: () => boolean): Promise<void> {
  return pollUntil(name, isReached, 20)
}
