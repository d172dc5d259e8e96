import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HttpError,
  Module,
  Record,
  type Application,
  type HttpRequest,
} from 'filigree'
import { tracing } from 'filigree/tracing'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

const heard: (string | undefined)[] = []
const other = createServer((incoming, outgoing) => {
  heard.push(incoming.headers.traceparent as string | undefined)
  outgoing.end('{}')
})

@Controller('/lamps')
class LampController {
  static inject = [Database]
  constructor(private readonly database: Database) {}
  @Get('/<id:int>') async show(id: number): Promise<object> {
    await new Promise((resolve) => setImmediate(resolve))
    return { found: await this.database.records(Lamp).list({ where: { name: `secret ${id}` } }) }
  }
  @Get('/refused') refused(): object {
    throw new HttpError(409)
  }
  @Get('/broken') broken(): object {
    const error = new Error('broken https://desk:open-sesame@example.com')
    Object.freeze(error)
    throw error
  }
  @Get('/outside') async outside(): Promise<object> {
    await new Promise((resolve) => setImmediate(resolve))
    const { port } = other.address() as AddressInfo
    await (await fetch(`http://127.0.0.1:${port}/`)).text()
    return { active: trace.getSpanContext(context.active())?.traceId }
  }
  @Get('/logged') logged(request: HttpRequest): object {
    request.log.warn('said')
    return {}
  }
}

@Module({ imports: [tracing()], controllers: [LampController], records: [Lamp] })
class AppModule {}

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const lines: object[] = []
const write = (details: object): void => void lines.push(details)
const logger = { error: write, warn: write, info: write, debug: write }
let app: Application
beforeAll(async () => {
  trace.setGlobalTracerProvider(provider)
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const settings = { port: 0, host: '127.0.0.1', logger, env: {}, database: 'sqlite::memory:' }
  app = await bootstrap(AppModule, settings)
})
afterAll(async () => {
  await app.close()
  trace.disable()
  other.closeAllConnections()
  await new Promise((resolve) => other.close(resolve))
})
afterEach(() => {
  exporter.reset()
  heard.length = 0
  lines.length = 0
})

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'
const sampled = { traceparent: `00-${traceId}-${parentId}-01` }

/** The spans of a request, once the server's span has ended. */
async function spansOf(
  path: string,
  headers: Record<string, string> = {},
): Promise<readonly ReadableSpan[]> {
  await (await fetch(app.url + path, { headers })).text()
  while (!exporter.getFinishedSpans().some(({ kind }) => kind === SpanKind.SERVER)) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  return exporter.getFinishedSpans()
}

describe('tracing', () => {
  it('creates a server span under the incoming parent', async () => {
    const [server] = (await spansOf('/lamps/7?q=hush', sampled)).filter(
      ({ kind }) => kind === SpanKind.SERVER,
    )
    expect(server).toMatchObject({
      name: 'GET /lamps/<id:int>',
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/lamps/<id:int>',
        'http.response.status_code': 200,
        'url.path': '/lamps/7',
        'url.scheme': 'http',
      },
      status: { code: SpanStatusCode.UNSET },
    })
    expect(server!.spanContext().traceId).toBe(traceId)
    expect(server!.parentSpanContext?.spanId).toBe(parentId)
    expect(JSON.stringify(server!.attributes)).not.toContain('hush')
  })

  it('records statements as client spans under the handler, without values', async () => {
    const spans = await spansOf('/lamps/7')
    const handler = spans.find(({ name }) => name === 'LampController.show')!
    const statement = spans.find(({ kind }) => kind === SpanKind.CLIENT)!
    expect(statement.parentSpanContext?.spanId).toBe(handler.spanContext().spanId)
    expect(statement).toMatchObject({
      name: 'SELECT lamp',
      attributes: {
        'db.system.name': 'sqlite',
        'db.operation.name': 'SELECT',
        'db.collection.name': 'lamp',
      },
    })
    expect(statement.attributes['db.query.text']).toContain('select')
    expect(JSON.stringify(statement.attributes)).not.toContain('secret')
  })

  it('records no path of a 404, and no error for 4xx', async () => {
    const [missing] = await spansOf('/no/such/path')
    expect(missing).toMatchObject({ name: 'GET', status: { code: SpanStatusCode.UNSET } })
    exporter.reset()
    const refused = await spansOf('/lamps/refused')
    expect(refused.map(({ status }) => status.code)).not.toContain(SpanStatusCode.ERROR)
    exporter.reset()
    const broken = await spansOf('/lamps/broken')
    const server = broken.find(({ kind }) => kind === SpanKind.SERVER)
    expect(server).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': '500' },
      events: [{ attributes: { 'exception.message': 'broken https://desk:(hidden)@example.com' } }],
    })
  })

  it('respects a parent that is not sampled, and passes it on', async () => {
    await (
      await fetch(`${app.url}/lamps/outside`, {
        headers: { traceparent: `00-${traceId}-${parentId}-00` },
      })
    ).text()
    await (await fetch(`${app.url}/lamps/7`, { headers: sampled })).text()
    await spansOf('/lamps/7', sampled)
    expect(exporter.getFinishedSpans().filter(({ name }) => name.includes('outside'))).toEqual([])
    expect(heard).toEqual([`00-${traceId}-${parentId}-00`])
  })

  it('sends traceparent with fetch in a handler', async () => {
    const spans = await spansOf('/lamps/outside', sampled)
    const handler = spans.find(({ name }) => name === 'LampController.outside')!
    expect(heard).toEqual([`00-${traceId}-${handler.spanContext().spanId}-01`])
  })

  it('adds the trace id to log lines', async () => {
    await spansOf('/lamps/logged', sampled)
    await (await fetch(`${app.url}/lamps/broken`, { headers: sampled })).text()
    expect(lines).toMatchObject([{ trace_id: traceId }, { trace_id: traceId }])
  })

  it('records a span for each GraphQL operation, with its name as an attribute', async () => {
    const body = JSON.stringify({ query: 'query Lamps { lamps { name } }' })
    const headers = { 'content-type': 'application/json' }
    await (await fetch(`${app.url}/graphql`, { method: 'POST', headers, body })).text()
    await spansOf('/lamps/refused')
    const operation = exporter.getFinishedSpans().find(({ name }) => name === 'query')
    expect(operation).toMatchObject({ attributes: { 'graphql.operation.name': 'Lamps' } })
  })
})
