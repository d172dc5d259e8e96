/**
 * The cost of a live list of a busy table for other clients. One writer writes as fast as it can, and other clients query
 * another table meanwhile, in alternating rounds without and with listeners. On loopback, with the server in its own process.
 *
 * `npm run live-busy-table [-- <rounds> <seconds>]` prints a table for SQLite and PostgreSQL.
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { startPostgres } from '../records/postgres-server.js'
import { Listener, percentile, LoadServer, until } from './load-client.js'

const [roundCount = 6, seconds = 4] = process.argv.slice(2).map(Number)
const rows = 100
const [rooms, listeners, between] = [5, 50, 4]

interface Round {
  readonly waits: number[]
  readonly writes: number
  /** CPU time in seconds. */
  readonly cpu: number
  readonly runs: number
}

/** @param moves also writes the column that the lists filter by */
async function round(server: LoadServer, isHeard: boolean, moves: boolean): Promise<Round> {
  const all = Array.from(
    { length: isHeard ? listeners : 0 },
    (_, index) => new Listener(server, index % rooms, () => undefined),
  )
  for (const one of all) one.open()
  await until(() => all.every(({ hasFirst }) => hasFirst), 20_000)
  await wait(200)
  const before = await server.usage()
  const end = performance.now() + seconds * 1000
  const [waits, writes] = await Promise.all([measureWaits(server), write(server, end, moves)])
  const after = await server.usage()
  for (const one of all) one.leave()
  // The server watches the tables for some more seconds.
  await wait(isHeard ? 6000 : 100)
  return { waits, writes, cpu: after.cpu - before.cpu, runs: after.runs - before.runs }
}

async function write(server: LoadServer, end: number, moves: boolean): Promise<number> {
  let count = 0
  for (; performance.now() < end; count++) {
    const text = `${count}`
    await server.change((count % rows) + 1, moves ? { room: count % rooms, text } : { text })
  }
  return count
}

/** Sends requests in a worker thread, so that messages to listeners do not delay them here. */
async function measureWaits(server: LoadServer): Promise<number[]> {
  const workerData = { url: `${server.url}/notes?limit=20`, between, length: seconds * 1000 }
  const asker = new Worker(workerProgram, { eval: true, workerData })
  const [waits] = (await once(asker, 'message')) as [number[]]
  return waits
}

const workerProgram = `
const { request, Agent } = require('node:http')
const { parentPort, workerData: { url, between, length } } = require('node:worker_threads')
const agent = new Agent({ keepAlive: true })
const waits = []
const end = performance.now() + length
const send = () => {
  const began = performance.now()
  request(url, { agent }, (answer) => answer.resume().on('end', () => waits.push(performance.now() - began))).end()
}
const beats = setInterval(() => {
  if (performance.now() < end) return send()
  clearInterval(beats)
  setTimeout(() => { parentPort.postMessage(waits); agent.destroy() }, 500)
}, between)`

const folder = await mkdtemp(join(tmpdir(), 'live-busy-table-'))
const postgres = await startPostgres()
for (const [name, url] of [
  ['SQLite', `sqlite:${join(folder, 'hot.db')}`],
  ['PostgreSQL', await postgres.createDatabase()],
] as const) {
  const server = new LoadServer(url)
  await server.start()
  for (let count = 0; count < rows; count++) await server.write(count % rooms, 'x')
  for (const moves of [false, true]) {
    const [calm, heard]: [Round[], Round[]] = [[], []]
    await round(server, false, moves)
    for (let count = 0; count < roundCount; count++) {
      calm.push(await round(server, false, moves))
      heard.push(await round(server, true, moves))
    }
    print(`${name}, ${moves ? 'rows move between lists' : 'rows change'}`, calm, heard)
  }
  await server.kill()
}
await postgres.close()
await rm(folder, { recursive: true })
process.exit(0)

function print(title: string, calm: readonly Round[], heard: readonly Round[]): void {
  const middle = (of: readonly Round[], figure: (one: Round) => number): number =>
    percentile(of.map(figure), 0.5)
  const line = (label: string, figure: (one: Round) => number, digits: number): void => {
    const [without, listening] = [middle(calm, figure), middle(heard, figure)]
    const times = without === 0 ? '' : (listening / without).toFixed(2)
    console.log(
      `| ${label.padEnd(34)} | ${without.toFixed(digits)} | ${listening.toFixed(digits)} | ${times} |`,
    )
  }
  console.log(`${title}: without listeners, with ${listeners} of ${rooms} lists`)
  line('another request, p50 in ms', ({ waits }) => percentile(waits, 0.5), 2)
  line('another request, p99 in ms', ({ waits }) => percentile(waits, 0.99), 2)
  line('writes a second', ({ writes }) => writes / seconds, 0)
  line('processor time a write, in µs', ({ cpu, writes }) => (cpu / writes) * 1e6, 0)
  line('runs a second', ({ runs }) => runs / seconds, 1)
}
