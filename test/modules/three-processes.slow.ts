/**
 * Three processes with every module on one PostgreSQL, used concurrently, one of them killed in the middle. Limits are counted
 * together, a repeated key finds its response in another process, and metrics and health are separate for each process.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'
import { waitUntil } from '../wait-until.js'

interface Shop {
  readonly child: ChildProcess
  readonly url: string
  /** Lines of its access log. */
  readonly lines: { readonly route: string | null; readonly status: number }[]
  /** The number of requests it received, by path and status. */
  readonly requestCounts: Map<string, number>
}

const program = bundleProgram('modules/fixtures/shop')
let postgres: OwnPostgres
let shops: readonly Shop[] = []

beforeAll(async () => {
  postgres = await startOwnPostgres()
  const url = await postgres.createDatabase()
  // The first process creates the tables.
  const first = await startShop(url)
  shops = [first, ...(await Promise.all([startShop(url), startShop(url)]))]
})

afterAll(async () => {
  for (const { child } of shops) child.kill('SIGKILL')
  rmSync(program)
  await postgres.close()
})

async function startShop(database: string): Promise<Shop> {
  const child = spawn(process.execPath, [program, database], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'development', LOG_FORMAT: 'json' },
  })
  const shop = {
    child,
    url: '',
    lines: [] as Shop['lines'],
    requestCounts: new Map<string, number>(),
  }
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => {
    if (!line.startsWith('{')) shop.url = line
    else if (line.includes('"msg":"request"')) shop.lines.push(JSON.parse(line) as Shop['lines'][0])
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('It ended at its start.')))
  ended.catch(() => undefined)
  while (shop.url === '') await Promise.race([once(output, 'line'), ended])
  return shop
}

async function send(shop: Shop, path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(shop.url + path, init)
  const name = `${path} ${response.status}`
  shop.requestCounts.set(name, (shop.requestCounts.get(name) ?? 0) + 1)
  return response
}

function order(shop: Shop, key: string): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key }
  return send(shop, '/shop/orders', {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: key }),
  })
}

const total = async (shop: Shop): Promise<number> =>
  ((await (await send(shop, '/shop/total')).json()) as { total: number }).total

it('three processes share a limit', async () => {
  const responses: Response[] = []
  // Few at a time: each process counts alone where a count takes longer than throttle waits for it.
  for (let n = 0; n < 9; n += shops.length)
    responses.push(...(await Promise.all(shops.map((shop) => send(shop, '/shop/limited')))))
  const statuses = responses.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(6)
  expect(statuses.filter((status) => status === 429)).toHaveLength(3)
  for (const response of responses.filter(({ status }) => status === 429)) {
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  }
})

it('requests continue when one process is killed: completed writes are there, once', async () => {
  const [killed, ...running] = shops
  const stored = new Map<string, unknown>()
  let sent = 0
  const write = async (worker: number): Promise<void> => {
    for (let n = 0; n < 40; n++) {
      const key = `order-${worker}-${n}`
      sent++
      if (sent === 150) killed!.child.kill('SIGKILL')
      const first = shops[(worker + n) % 3]!
      try {
        const response = await order(first, key)
        expect([key, response.status]).toEqual([key, 200])
        stored.set(key, await response.json())
      } catch (error) {
        // The connection broke: the client does not know whether the order was created, and retries elsewhere.
        if (first !== killed) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: 6 }, (_, worker) => write(worker)))
  await waitUntil(() => killed!.child.signalCode !== null)
  expect(stored.size).toBeGreaterThan(100)

  const before = await total(running[0]!)
  const keys = [...stored.keys()].slice(0, 60)
  const repeated = await Promise.all(keys.map((key, index) => order(running[index % 2]!, key)))
  expect(await Promise.all(repeated.map((one) => one.json()))).toEqual(
    keys.map((key) => stored.get(key)),
  )
  expect(await total(running[0]!)).toBe(before)
  expect(before).toBeGreaterThanOrEqual(stored.size)
})

it('the limit keeps the counts of the killed process', async () => {
  for (const shop of shops.slice(1)) expect((await send(shop, '/shop/limited')).status).toBe(429)
})

it('a cached response that another process has invalidated is dropped', async () => {
  const [, reader, writer] = shops
  const before = await total(reader!)
  expect((await order(writer!, 'fresh')).status).toBe(200)
  await waitUntil(async () => (await total(reader!)) === before + 1)
})

it('each process has the metrics of its own requests in /metrics and in its access log', async () => {
  for (const shop of shops.slice(1)) {
    const text = await (await fetch(`${shop.url}/metrics`)).text()
    const counted = new Map<string, number>()
    for (const [name, times] of shop.requestCounts) {
      const [path, status] = name.split(' ') as [string, string]
      const method = path === '/shop/orders' ? 'POST' : 'GET'
      const labels = `{method="${method}",route="${path}",status="${status}"}`
      const [, count] = text.split(`http_request_duration_seconds_count${labels} `)
      counted.set(name, Number.parseInt(count ?? '', 10))
      const lines = () =>
        shop.lines.filter((one) => one.route === path && String(one.status) === status).length
      // Lines are written in batches, with a delay.
      await waitUntil(() => lines() >= times)
      expect([name, lines()]).toEqual([name, times])
    }
    expect(counted).toEqual(shop.requestCounts)
    const [, throttled] = text.split('\nhttp_requests_throttled_total ')
    expect(Number.parseInt(throttled ?? '', 10)).toBe(shop.requestCounts.get('/shop/limited 429'))
  }
})

it('readiness is false for a closed or closing process, or without a database', async () => {
  const [killed, leaving, staying] = shops as [Shop, Shop, Shop]
  const ready = async ({ url }: Shop): Promise<unknown> => {
    const response = await fetch(`${url}/health/ready`, { headers: { connection: 'close' } })
    return [response.status, ((await response.json()) as { status: string }).status]
  }
  await expect(ready(killed)).rejects.toThrow()
  // The event loop may have lagged for more than a second before, which is forgotten slowly on a busy machine.
  const isReady = async (shop: Shop): Promise<boolean> =>
    isDeepStrictEqual(await ready(shop), [200, 'ok'])
  await waitUntil(() => isReady(leaving))
  await waitUntil(() => isReady(staying))

  await postgres.stop()
  await waitUntil(async () => ((await ready(staying)) as [number])[0] === 503)
  expect(await ready(staying)).toEqual([503, 'failing'])
  expect((await fetch(`${staying.url}/health/live`)).status).toBe(200)
  // Processes cannot count together now, and no request is refused for that.
  expect((await send(staying, '/metrics')).status).toBe(200)
  await postgres.start()
  await waitUntil(() => isReady(staying))
  await waitUntil(() => isReady(leaving))

  leaving.child.kill('SIGTERM')
  await waitUntil(async () => ((await ready(leaving)) as [number])[0] === 503)
  expect(await ready(leaving)).toEqual([503, 'closing'])
  await waitUntil(() => isReady(staying))
  await waitUntil(() => leaving.child.exitCode !== null)
  expect(leaving.child.exitCode).toBe(0)
})
