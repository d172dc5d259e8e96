/**
 * Sends many mixed requests over persistent connections, aborts one in a hundred of them, and prints every few seconds how
 * much memory the process uses. A 5xx response is a finding. `npm run soak -- --requests 1000000 [--seconds 600]`
 */
import { Agent, request, type RequestOptions } from 'node:http'
import { createRandom } from '../random.js'
import { numberOf, say } from './command-line.js'
import { start } from './shop-application.js'

const requests = numberOf('requests', 1_000_000)
const until = performance.now() + 1000 * numberOf('seconds', 3600)
const random = createRandom(numberOf('seed', 7))
const app = await start(process.env['SOAK_DATABASE'] ?? 'sqlite::memory:')
const agent = new Agent({ keepAlive: true, maxSockets: 32 })
const { hostname, port } = new URL(app.url)

interface RequestSpec extends RequestOptions {
  readonly body?: string
}

const json = { 'content-type': 'application/json' }
const mix: readonly (() => RequestSpec)[] = [
  () => ({ path: '/fast' }),
  () => ({ path: `/things?limit=5&count.gte=${Math.floor(random() * 9)}` }),
  () => ({ path: `/things/${Math.ceil(random() * 200)}` }),
  () => ({
    path: `/things/${Math.ceil(random() * 200)}`,
    method: 'PATCH',
    headers: json,
    body: '{"count":1}',
  }),
  () => ({
    path: '/echo',
    method: 'POST',
    headers: json,
    body: JSON.stringify({ text: 'x'.repeat(500) }),
  }),
  () => ({
    path: '/pairs',
    method: 'POST',
    headers: json,
    body: '{"name":""}'.slice(0, random() < 0.5 ? 11 : 9),
  }),
  () => ({
    path: '/graphql',
    method: 'POST',
    headers: json,
    body: '{"query":"{ things(limit: 5) { id name } }"}',
  }),
  () => ({ path: '/secret', method: 'POST', headers: { authorization: 'Bearer invalid' } }),
  () => ({ path: '/ticks' }),
  () => ({ path: '/nowhere' }),
]

for (let count = 0; count < 200; count++) {
  await fetch(`${app.url}/things`, { method: 'POST', headers: json, body: `{"name":"n${count}"}` })
}

let sent = 0
let givenUp = 0
let failed = 0
const statuses: Record<number, number> = {}
const latencies: number[] = []

function sendRequest({ body = '', ...options }: RequestSpec): Promise<void> {
  return new Promise((resolve) => {
    const startedAt = performance.now()
    const leaves = random() < 0.01
    const clientRequest = request({ hostname, port, agent, ...options }, (answer) => {
      const status = answer.statusCode ?? 0
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status >= 500) failed++
      answer.resume().on('close', () => {
        if (sent % 100 === 0) latencies.push(performance.now() - startedAt)
        resolve()
      })
    })
    clientRequest.on('error', () => {
      if (!leaves) failed++
      resolve()
    })
    clientRequest.end(body)
    if (!leaves) return
    givenUp++
    setImmediate(() => clientRequest.destroy())
  })
}

function memory(): object {
  const { rss, heapUsed } = process.memoryUsage()
  return { rss: Math.round(rss / 2 ** 20), heap: Math.round(heapUsed / 2 ** 20) }
}

const startedAt = performance.now()
const every = setInterval(() => {
  say({ sent, seconds: Math.round((performance.now() - startedAt) / 1000), ...memory() })
}, 10_000)
await Promise.all(
  Array.from({ length: 32 }, async () => {
    while (sent < requests && performance.now() < until) {
      sent++
      await sendRequest((mix[sent % mix.length] as () => RequestSpec)())
    }
  }),
)
clearInterval(every)
latencies.sort((a, b) => a - b)
const at = (share: number): number =>
  Math.round(latencies[Math.floor(latencies.length * share)] ?? 0)
const perSecond = Math.round(sent / ((performance.now() - startedAt) / 1000))
say({ sent, givenUp, failed, statuses, perSecond, p50: at(0.5), p99: at(0.99), ...memory() })
agent.destroy()
await app.close()
process.exit(failed === 0 ? 0 : 1)
