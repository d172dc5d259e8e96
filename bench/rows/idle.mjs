/** What a server holds for 10,000 idle connections, and for 10,000 clients that listen to a result and get one change of it. */
import { selectContenders, startContenders } from '../harness/contenders.mjs'
import { toFigure } from '../harness/figures.mjs'
import { askMemory, probeArgs } from '../harness/memory.mjs'
import { openConnections } from '../harness/open-connections.mjs'

const contenders = [
  { name: 'node:http', file: 'idle/bare.mjs' },
  { name: 'ws', file: 'idle/ws.mjs' },
  { name: 'Filigree', file: 'idle/filigree.ts' },
].map((contender) => ({ ...contender, nodeArgs: probeArgs }))

const count = 10_000
const pause = 2_000

const head = 'Host: 127.0.0.1\r\n'
const idle = { request: `GET /tickets HTTP/1.1\r\n${head}\r\n`, part: 'Printer' }
const eventStream = `GET /tickets HTTP/1.1\r\n${head}Accept: text/event-stream\r\n\r\n`
const listening = {
  ws: `GET /tickets HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
}

/** Kibibytes for each connection since `before`. */
async function growthOf(server, before) {
  await new Promise((resolve) => setTimeout(resolve, pause))
  const after = await askMemory(server)
  const perConnection = (name) => ((after[name] - before[name]) * 1024) / count
  return { held: perConnection('held'), resident: perConnection('resident') }
}

/** Opens connections, lets `act` use them, and measures before they are closed. */
async function measureOpen(server, asked, act = () => undefined) {
  const before = await askMemory(server)
  const open = await openConnections(server.url, count, asked)
  try {
    await act(open)
    return await growthOf(server, before)
  } finally {
    for (const connection of open) connection.close()
  }
}

/** Creates a row, which every listener must be told. */
async function changeResult(server, open) {
  const body = JSON.stringify({ title: 'Screen', status: 'open' })
  const headers = { 'Content-Type': 'application/json' }
  const { ok, status } = await fetch(`${server.url}/tickets`, { method: 'POST', headers, body })
  if (!ok) throw new Error(`POST /tickets: ${status}`)
  await Promise.all(open.map((connection) => connection.waitFor('Screen')))
}

/** Measures a new process, because memory that a process has freed may stay resident. */
async function measureAlone(contender, failures, measure) {
  const [started] = await startContenders([contender], { failures })
  if (started === undefined) return
  try {
    await measure(started.server)
  } catch (error) {
    failures.push({ contender: contender.name, reason: error.message })
  } finally {
    await started.server.stop()
  }
}

export const row = {
  name: 'idle',
  title: `Memory of ${count.toLocaleString('en')} idle connections and of as many listeners`,
  chart: false,
  targets: [
    { figure: 0, of: 'Filigree', over: 'node:http', atMost: 1.2 },
    { figure: 2, of: 'Filigree', over: 'node:http', atMost: 1.2 },
    { figure: 2, of: 'Filigree', over: 'ws', atMost: 1.2 },
  ],
  async measure(options) {
    const failures = []
    const figures = { idle: { held: {}, resident: {} }, listening: { held: {}, resident: {} } }
    const note = (kind, name, growth) => {
      figures[kind].held[name] = [growth.held]
      figures[kind].resident[name] = [growth.resident]
    }
    const chosen = selectContenders(contenders, options)
    for (const contender of chosen) {
      // WebSockets are not idle connections of HTTP.
      if (contender.name !== 'ws')
        await measureAlone(contender, failures, async (server) => {
          note('idle', contender.name, await measureOpen(server, idle))
        })
      await measureAlone(contender, failures, async (server) => {
        const asked = { request: listening[contender.name] ?? eventStream, part: 'Printer' }
        const act = (open) => changeResult(server, open)
        note('listening', contender.name, await measureOpen(server, asked, act))
      })
    }
    return {
      figures: [
        toFigure('held for an idle connection', 'KiB', 'lower', figures.idle.held),
        toFigure('resident for an idle connection', 'KiB', 'lower', figures.idle.resident),
        toFigure('held for a listener', 'KiB', 'lower', figures.listening.held),
        toFigure('resident for a listener', 'KiB', 'lower', figures.listening.resident),
      ],
      failures,
    }
  },
}
