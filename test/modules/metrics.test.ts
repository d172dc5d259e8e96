import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from 'filigree'
import { metrics } from 'filigree/metrics'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/items')
class ItemController {
  @Get('/<id:int>') show(id: number): object {
    return { id }
  }
  @Get('/busy') busy(): object {
    throw new HttpError(429)
  }
  @Post('/') @NoAuth create(body: unknown): unknown {
    return body
  }
}

@Module({
  imports: [metrics()],
  controllers: [ItemController],
  records: [Lamp],
})
class AppModule {}

const settings = { port: 0, host: '127.0.0.1', logger: false } as const
const env = { APP_API_KEY: 'a-key-of-sixteen-letters' }
const database = 'sqlite::memory:'
let app: Application
beforeAll(async () => {
  app = await bootstrap(AppModule, { ...settings, env, database })
})
afterAll(() => app.close())

async function read(): Promise<Map<string, number>> {
  const response = await fetch(`${app.url}/metrics`)
  const text = await response.text()
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  )
}

const count = (labels: string): string => `http_request_duration_seconds_count{${labels}}`

async function query(text: string): Promise<void> {
  const body = JSON.stringify({ query: text })
  const headers = { 'content-type': 'application/json' }
  await (await fetch(`${app.url}/graphql`, { method: 'POST', headers, body })).text()
}

const sample =
  /^\w+(?:\{\w+="(?:[^"\\\n]|\\.)*"(?:,\w+="(?:[^"\\\n]|\\.)*")*\})? (?:[\d.e+-]+|\+Inf)$/

describe('metrics', () => {
  it('is text for Prometheus, every line a comment or a sample', async () => {
    const response = await fetch(`${app.url}/metrics`)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    expect(text.endsWith('\n')).toBe(true)
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{(?:\w+="[^"]*",?)+\})? [\d.e+-]+)$/)
    }
  })

  it('passes promtool, or the grammar where it is not installed', async () => {
    await query('query Named { lamps { name } }')
    const text = await (await fetch(`${app.url}/metrics`)).text()
    const { status, stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    if (error === undefined) expect([status, stdout, stderr]).toEqual([0, '', ''])
    // Each family is described once, before its samples, and all its samples follow.
    const described: string[] = []
    for (const line of text.trimEnd().split('\n')) {
      const [, keyword, name = ''] = /^# (HELP|TYPE) (\w+) /.exec(line) ?? []
      if (keyword === 'HELP') described.push(name)
      expect(line.replace('# HELP ', '').replace('# TYPE ', '')).toMatch(
        new RegExp(`^${described.at(-1) ?? 'none'}(?:_bucket|_sum|_count)?[{ ]`),
      )
      if (line.startsWith('#')) continue
      expect(line).toMatch(sample)
    }
    expect(new Set(described).size).toBe(described.length)
  })

  it.each([
    ['application/openmetrics-text; version=1.0.0', true],
    [
      'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1',
      true,
    ],
    ['text/plain;version=0.0.4;q=0.9,application/openmetrics-text;q=0.2', false],
    ['application/openmetrics-text;q=0', false],
    ['*/*', false],
  ])('is OpenMetrics for clients that prefer it: %s', async (accept, isOpen) => {
    const response = await fetch(`${app.url}/metrics`, { headers: { accept } })
    const text = await response.text()
    expect(response.headers.get('content-type')?.split(';')[0]).toBe(
      isOpen ? 'application/openmetrics-text' : 'text/plain',
    )
    expect(text.endsWith('# EOF\n')).toBe(isOpen)
    const family = isOpen ? 'http_response_bytes' : 'http_response_bytes_total'
    expect(text).toContain(`# TYPE ${family} counter\nhttp_response_bytes_total `)
    expect(text.includes('le="1.0"')).toBe(isOpen)
  })

  it('has exemplars of sampled traces in OpenMetrics, where enabled', async () => {
    @Module({ imports: [metrics({ exemplars: true })], controllers: [ItemController] })
    class ExemplarModule {}
    const exemplarApp = await bootstrap(ExemplarModule, { ...settings, env })
    const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
    const send = async (flags: string, id: string): Promise<void> => {
      const headers = { traceparent: `00-${id}-${span}-${flags}` }
      await (await fetch(`${exemplarApp.url}/items/1`, { headers })).text()
    }
    await send('01', trace)
    await send('00', 'f'.repeat(32))
    const accept = 'application/openmetrics-text'
    const open = await (await fetch(`${exemplarApp.url}/metrics`, { headers: { accept } })).text()
    const plain = await (await fetch(`${exemplarApp.url}/metrics`)).text()
    await exemplarApp.close()
    const exemplars = [
      ...open.matchAll(/le="[^"]+"\} \d+ # \{trace_id="(\w+)"\} [\d.e-]+ [\d.]+$/gm),
    ]
    expect(exemplars.map(([, id]) => id)).toEqual([trace])
    expect(plain).not.toContain('trace_id')
  })

  it('counts requests by method, pattern and status, never by path', async () => {
    const before = await read()
    for (const id of [1, 2, 3]) await (await fetch(`${app.url}/items/${id}`)).text()
    await (await fetch(`${app.url}/no/such/path`)).text()
    await (await fetch(`${app.url}/nor/this/one`)).text()
    await (await fetch(`${app.url}/items/1`, { method: 'PROPFIND' })).text()
    const after = await read()
    const grown = (labels: string): number =>
      (after.get(count(labels)) ?? 0) - (before.get(count(labels)) ?? 0)
    expect(grown('method="GET",route="/items/<id:int>",status="200"')).toBe(3)
    expect(grown('method="GET",route="unmatched",status="404"')).toBe(2)
    expect([...after.keys()].filter((name) => name.includes('_other",route'))).not.toEqual([])
    expect([...after.keys()].join()).not.toMatch(/items\/\d|such|PROPFIND/)
  })

  it('has cumulative buckets up to the count', async () => {
    const after = await read()
    const labels = 'method="GET",route="/items/<id:int>",status="200"'
    const buckets = [...after]
      .filter(([name]) => name.startsWith(`http_request_duration_seconds_bucket{${labels}`))
      .map(([, value]) => value)
    expect(buckets).toEqual([...buckets].sort((a, b) => a - b))
    expect(buckets.at(-1)).toBe(after.get(count(labels)))
  })

  it('counts bytes, requests in flight and 429', async () => {
    const before = await read()
    const body = JSON.stringify({ text: 'x'.repeat(100) })
    const headers = { 'content-type': 'application/json' }
    const posted = await fetch(`${app.url}/items`, { method: 'POST', headers, body })
    expect([posted.status, await posted.text()]).toEqual([200, body])
    await (await fetch(`${app.url}/items/busy`)).text()
    const after = await read()
    const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    expect(grown('http_request_bytes_total')).toBe(body.length)
    expect(grown('http_response_bytes_total')).toBeGreaterThan(body.length)
    expect(grown('http_requests_throttled_total')).toBe(1)
    expect(after.get('http_requests_in_flight')).toBe(1)
  })

  it('counts statements by table and kind', async () => {
    const before = await read()
    await query('{ lamps { name } }')
    const after = await read()
    const name = 'database_statements_total{table="lamp",kind="select"}'
    expect((after.get(name) ?? 0) - (before.get(name) ?? 0)).toBe(1)
  })

  it('counts GraphQL operations by name, 250 names at most', async () => {
    await query('query Lamps { lamps { name } }')
    const named = 'graphql_operations_total{name="Lamps",type="query",outcome="ok"}'
    expect((await read()).get(named)).toBe(1)
    for (let number = 0; number < 300; number++) await query(`query N${number} { lampCount }`)
    const names = [...(await read()).keys()].filter((name) => name.startsWith('graphql_operations'))
    expect(names.length).toBeLessThanOrEqual(252)
    expect(names.join()).toContain('name="_other"')
  })

  it('has process metrics', async () => {
    const after = await read()
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(1e6)
    expect(after.has('nodejs_eventloop_delay_p99_seconds')).toBe(true)
    expect(after.get('graphql_subscribers')).toBe(0)
    expect(after.get('live_listeners')).toBe(0)
    expect(after.get('live_runs_total')).toBe(0)
  })

  it('counts only the requests of its own application', async () => {
    const other = await bootstrap(AppModule, { ...settings, env, database })
    const before = await read()
    await (await fetch(`${other.url}/items/7`)).text()
    await other.close()
    const after = await read()
    const labels = 'method="GET",route="/items/<id:int>",status="200"'
    expect(after.get(count(labels))).toBe(before.get(count(labels)))
  })
})

describe('metrics({ secured })', () => {
  it.each([true, 'admin'] as const)('requires a token: %s', async (secured) => {
    @Module({ imports: [metrics({ secured })] })
    class ClosedModule {}
    const closed = await bootstrap(ClosedModule, { ...settings, env, listen: false })
    expect((await closed.inject('/metrics')).status).toBe(401)
    const { status } = await closed.inject({ url: '/metrics', token: env.APP_API_KEY })
    expect(status).toBe(200)
    await closed.close()
  })

  it('refuses options without effect, in the start report', async () => {
    @Module({ imports: [metrics({ secured: 7 as never }), metrics({ open: true } as never)] })
    class FaultyModule {}
    const starting = bootstrap(FaultyModule, { ...settings, env, listen: false })
    await expect(starting).rejects.toThrow(/secured cannot be 7[^]*unknown option "open"/)
  })
})
