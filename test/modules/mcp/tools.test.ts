/** Routes as tools: the list for each caller, the input and result of a call, and its pipeline. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  Controller,
  createDecorator,
  currentRequest,
  Delete,
  Doc,
  events,
  Field,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  Put,
  Secured,
  type Claims,
  type HttpRequest,
  type RequestEvent,
} from 'filigree'
import { idempotent } from 'filigree/idempotent'
import { mcp, Tool, type ToolCall } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { throttle, Throttle } from 'filigree/throttle'
import { sendRequest, call, post, toolsOf } from './mcp-requests.js'

class Part {
  @Field('string') name!: string
  @Field(() => Part, { list: true, optional: true }) parts?: Part[]
}

class Size {
  @Field('integer') width!: number
}

class Line {
  @Field('integer', { min: 1 }) count!: number
  @Field(() => Size, { optional: true, description: 'In the box.' }) size?: Size
  @Field(() => Part, { optional: true }) part?: Part
}

class Order {
  @Field('string', { maxLength: 20, description: 'The title of the order.' }) title!: string
  @Field(() => Line, { list: true, optional: true }) lines?: Line[]
}

class OrderQuery {
  @Field('boolean', { optional: true }) full?: boolean
  @Field('string', { list: true, optional: true }) tags?: string[]
}

class OrderResult {
  @Field('integer') id!: number
  @Field('string') title!: string
}

class Sent {
  @Field('string') text!: string
}

const handlerCalls: unknown[] = []
const walked: string[] = []
const Walked = createDecorator('Walked', () => ({
  before: 'gate',
  enter: (route) => () => {
    walked.push(route.name)
  },
}))

@Controller('/orders')
@Walked
class Orders {
  @Get('/all')
  all(): string {
    return 'all of them'
  }

  @Get('/<id>', { query: OrderQuery, returns: OrderResult })
  @Tool({ title: 'One order' })
  @Doc({ description: 'An order by its id.' })
  show(id: string, query: OrderQuery): object {
    handlerCalls.push([id, { full: query.full, tags: query.tags }])
    if (id === '404') throw new HttpError(404, 'The order does not exist.')
    return { id: 7, title: `of ${id}`, secret: 'hidden' }
  }

  @Post('/', { body: Order })
  @NoAuth
  @Tool({ name: 'order' })
  add(body: Order): object {
    handlerCalls.push(body)
    return { added: body.title, by: body.constructor.name }
  }

  @Put('/<id:int>', { body: Order })
  @Secured('editor')
  @Tool
  change(id: number, body: Order, user: Claims | null): object {
    return { id, title: body.title, by: user?.sub }
  }

  @Delete('/<id:int>')
  @Secured((claims) => claims?.sub === 'owner')
  @Tool
  remove(id: number): object {
    throw new HttpError(409, `Order ${id} is paid.`)
  }

  @Get('/broken')
  @Tool
  broken(): never {
    throw new Error('the password is swordfish')
  }

  @Get('/list')
  @Tool
  @Throttle('2/m')
  list(): object[] {
    return [{ id: 1 }, { id: 2 }]
  }

  @Get('/slow')
  @Tool
  async slow(request: HttpRequest, toolCall: ToolCall | null): Promise<string> {
    handlerCalls.push(toolCall === null)
    await new Promise((resolve) => {
      request.signal.addEventListener('abort', resolve)
    })
    handlerCalls.push('left')
    return 'never'
  }

  @Get('/stream')
  @Tool
  stream(): unknown {
    return events([{ data: 'once' }])
  }
}

@Controller('/all')
@Tool
class All {
  @Get('/one') one(): string {
    return 'plain text'
  }
  @Get('/later') async afterWait(): Promise<string> {
    await new Promise(setImmediate)
    return 'plain text'
  }
  @Get('/sent', { query: Sent }) sent(request: HttpRequest): object {
    const { url, ip, headers, incoming } = request
    const raw = incoming.rawHeaders.length / 2
    return { url, ip, sent: headers, raw, current: currentRequest() === request }
  }
  @Get('/two') @Tool(false) two(): string {
    return '2'
  }
}

@Module({
  controllers: [Orders, All],
  imports: [
    mcp({ name: 'desk', hosts: ['desk.internal'], limit: '20kb' }),
    idempotent(),
    throttle({ limit: '1000/m' }),
  ],
})
class AppModule {}

let desk: TestApplication
const operatorKey = 'the-key-of-the-operator'
let editor: string
let owner: string

beforeAll(async () => {
  desk = await testApplication(AppModule, { env: { APP_API_KEY: operatorKey } })
  editor = await desk.get(Auth).getToken({ sub: 'ed', roles: ['editor'] })
  owner = await desk.get(Auth).getToken({ sub: 'owner' })
})
beforeEach(async () => {
  handlerCalls.length = walked.length = 0
  await desk.reset()
})
afterAll(() => desk.close())

const open = [
  'ordersShow',
  'order',
  'ordersBroken',
  'ordersList',
  'ordersSlow',
  'ordersStream',
  'allOne',
  'allAfterWait',
  'allSent',
]

describe('the list', () => {
  it('has the tools that the caller may call, by roles and guards, and nothing unmarked', async () => {
    const names = async (token?: string) => (await toolsOf(desk, token)).map(({ name }) => name)
    expect(await names()).toEqual(open)
    expect(await names(editor)).toEqual([...open.slice(0, 2), 'ordersChange', ...open.slice(2)])
    expect(await names(owner)).toEqual([...open.slice(0, 2), 'ordersRemove', ...open.slice(2)])
    expect(await names(operatorKey)).toContain('ordersChange')
  })

  it('describes the input and the result of a tool as one flat closed object', async () => {
    const tools = await toolsOf(desk, editor)
    expect(tools.find(({ name }) => name === 'ordersShow')).toEqual({
      name: 'ordersShow',
      title: 'One order',
      description: 'An order by its id.',
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          full: { type: 'boolean' },
          tags: { type: 'array', items: { type: 'string' } },
        },
        required: ['id'],
        additionalProperties: false,
      },
      outputSchema: {
        type: 'object',
        properties: { id: expect.objectContaining({ type: 'integer' }), title: { type: 'string' } },
        required: ['id', 'title'],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    })
    const change = tools.find(({ name }) => name === 'ordersChange')
    expect(change?.inputSchema).toMatchObject({
      properties: {
        id: { type: 'integer' },
        title: { description: 'The title of the order.', maxLength: 20 },
      },
      required: ['id', 'title'],
    })
    expect(change?.annotations).toMatchObject({ destructiveHint: false, idempotentHint: true })
    const added = tools.find(({ name }) => name === 'order')
    expect(added?.annotations).toMatchObject({ readOnlyHint: false, idempotentHint: true })
    expect(JSON.stringify(tools)).not.toContain('#/components')
  })

  it('writes nested classes where they are used, except for classes that recur', async () => {
    const tools = await toolsOf(desk, editor)
    const { inputSchema } = tools.find(({ name }) => name === 'ordersChange')!
    expect(inputSchema).toMatchObject({
      properties: {
        lines: {
          items: {
            type: 'object',
            properties: {
              size: { properties: { width: { type: 'integer' } }, description: 'In the box.' },
              part: { $ref: '#/$defs/Part' },
            },
            additionalProperties: false,
          },
        },
      },
      $defs: { Part: { properties: { parts: { items: { $ref: '#/$defs/Part' } } } } },
    })
    expect(Object.keys((inputSchema as { $defs: object }).$defs)).toEqual(['Part'])
  })

  it('has its cache time and scope', async () => {
    const { result } = await sendRequest(desk, 'tools/list')
    expect(result).toMatchObject({ ttlMs: 300_000, cacheScope: 'private', resultType: 'complete' })
    expect(result?._meta).toEqual({
      'io.modelcontextprotocol/serverInfo': { name: 'desk', version: '1.0.0' },
    })
    const paged = await sendRequest(desk, 'tools/list', { params: { cursor: 'x' } })
    expect(paged.error?.code).toBe(-32602)
  })
})

describe('a call', () => {
  it('uses the pipeline of its route, with its check, its shape and its caller', async () => {
    const result = await call(desk, 'ordersShow', { id: '../a b', full: true, tags: ['x', 'y,z'] })
    expect(handlerCalls).toEqual([['../a b', { full: true, tags: ['x', 'y,z'] }]])
    expect(walked).toEqual(['Orders.show'])
    expect(result.result?.structuredContent).toEqual({ id: 7, title: 'of ../a b' })
    expect(result.result?.content?.[0]).toMatchObject({
      type: 'text',
      text: '{"id":7,"title":"of ../a b"}',
      annotations: { audience: ['assistant'] },
      _meta: { 'filigree/content': 'data' },
    })
    const added = await call(desk, 'order', { title: 'x', lines: [{ count: 2 }] })
    expect(added.result?.structuredContent).toEqual({ added: 'x', by: 'Order' })
    const changed = await call(desk, 'ordersChange', { id: 7, title: 'new' }, { token: editor })
    expect(changed.result?.structuredContent).toEqual({ id: 7, title: 'new', by: 'ed' })
  })

  it('never reaches another route', async () => {
    const result = await call(desk, 'ordersShow', { id: 'all' })
    expect(result.result?.structuredContent).toEqual({ id: 7, title: 'of all' })
    expect(walked).toEqual(['Orders.show'])
    const away = await call(desk, 'ordersChange', { id: '7/x', title: 'a' }, { token: editor })
    expect(away.result?.isError).toBe(true)
  })

  it('reports input errors with their paths, and messages of the program', async () => {
    const text = async (
      ...of: Parameters<typeof call> extends [unknown, ...infer Rest] ? Rest : never
    ) => {
      const { result } = await call(desk, ...of)
      return [result?.isError, result?.content?.[0]?.text]
    }
    expect(await text('order', { title: 'x'.repeat(30), lines: [{ count: 0 }] })).toEqual([
      true,
      '400 title must have at most 20 characters\nlines.0.count must be at least 1',
    ])
    expect(await text('order', { title: 'x', __proto__x: 1, hack: true })).toEqual([
      true,
      expect.stringContaining('hack: is not an argument'),
    ])
    const odd = JSON.parse('{"title":"x","__proto__":{"polluted":1}}') as object
    expect((await call(desk, 'order', odd)).status).toBe(400)
    expect(await text('order', { title: 'x', toString: 1 })).toEqual([
      true,
      expect.stringContaining('toString: is not an argument'),
    ])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(await text('ordersShow', {})).toEqual([true, expect.stringContaining('id: is required')])
    const badly = await text('ordersRemove', { id: 'third' }, { token: owner })
    expect(badly).toEqual([true, '404 Not found\nid must fit <id:int>'])
    expect(await text('ordersShow', { id: '404' })).toEqual([true, '404 The order does not exist.'])
    expect(await text('ordersRemove', { id: 3 }, { token: owner })).toEqual([
      true,
      '409 Order 3 is paid.',
    ])
  })

  it('masks internal failures, and logs them', async () => {
    const failed = await call(desk, 'ordersBroken', {})
    expect(JSON.stringify(failed)).not.toContain('swordfish')
    expect(failed.result).toMatchObject({ isError: true })
    expect(desk.log.map(({ details }) => String(details.err))).toContainEqual(
      expect.stringContaining('swordfish'),
    )
  })

  it('logs a result that cannot be sent to a client', async () => {
    const { error } = await call(desk, 'ordersStream', {})
    expect(error).toMatchObject({ code: -32603 })
    const failed = desk.log.filter(({ level }) => level === 'error')
    expect(failed.map(({ details }) => details)).toMatchObject([
      { route: 'Orders.stream', requestId: expect.any(String) as unknown },
    ])
  })

  it.each([
    'nothing',
    'ordersAll',
    'allTwo',
    '__proto__',
    'constructor',
    'toString',
    'ordersChange',
  ])('of %s is an error: the tool is unknown or closed', async (name) => {
    const { error, status } = await call(desk, name, {}, { token: owner })
    expect([status, error?.code, error?.message]).toEqual([200, -32602, `Unknown tool: ${name}`])
    expect(walked).toEqual([])
  })

  it('of a closed tool is reported only in the log', async () => {
    await call(desk, 'ordersChange', {}, { token: owner })
    await call(desk, 'ordersRemove', { hack: 1 }, { token: editor })
    const refused = desk.log.filter(({ message }) => message === 'request refused')
    expect(refused.map(({ level, details }) => [level, details.reason])).toEqual([
      ['debug', 'mcp: the rule of Orders.change does not admit the caller'],
      ['debug', 'mcp: the rule of Orders.remove does not admit the caller'],
    ])
    for (const { details } of refused) expect(details.requestId).toEqual(expect.any(String))
  })

  it('refused by a guard is reported as unknown, too', async () => {
    const { error } = await call(desk, 'ordersRemove', { id: 1 }, { token: editor })
    expect(error).toMatchObject({ code: -32602 })
  })

  it('of a closed tool does not reveal its input', async () => {
    for (const token of [editor, undefined]) {
      const { error, status } = await call(desk, 'ordersRemove', { hack: 1 }, { token })
      expect([status, error?.code]).toEqual(token === undefined ? [401, 401] : [200, -32602])
    }
  })

  it('counts with its route, and once for the whole application', async () => {
    await desk.anonymous.get('/orders/list')
    const counted = await call(desk, 'ordersList', {})
    expect(counted.result?.structuredContent).toEqual([{ id: 1 }, { id: 2 }])
    expect(counted.headers['ratelimit']).toContain('r=998')
    const refused = await call(desk, 'ordersList', {})
    expect(refused.result?.content?.[0]?.text).toMatch(/^429 .*Try again in \d+ s\.$/)
  })

  it('is traced, with its name and without its arguments', async () => {
    const traced: unknown[] = []
    const hear = (message: unknown): unknown => traced.push(message)
    subscribe('filigree:tool', hear)
    await call(desk, 'order', { title: 'a secret' })
    unsubscribe('filigree:tool', hear)
    expect(traced).toMatchObject([{ tool: 'order', route: 'Orders.add', error: undefined }])
    expect(JSON.stringify(traced)).not.toContain('secret')
  })

  it('has the client data of its message, and nothing of the message itself', async () => {
    const headers = {
      cookie: 'visit=1',
      'user-agent': 'an agent',
      'x-request-id': 'of-the-message',
      'if-none-match': '*',
      accept: 'application/json, text/event-stream',
    }
    const { result } = await call(desk, 'allSent', { text: 'a b' }, { headers, token: editor })
    expect(result?.structuredContent).toEqual({
      url: '/all/sent?text=a+b',
      ip: '127.0.0.1',
      sent: {
        accept: 'application/json, */*;q=0.5',
        authorization: `Bearer ${editor}`,
        host: 'localhost',
        'mcp-method': 'tools/call',
        'mcp-name': 'allSent',
        'mcp-protocol-version': '2026-07-28',
        'user-agent': 'an agent',
      },
      raw: 7,
      current: true,
    })
  })

  it.each(['allOne', 'allAfterWait'])(
    'is a separate request for observers, before its message is: %s',
    async (name) => {
      const traced: unknown[] = []
      const hear = (message: unknown): void => {
        const { request, status, bytes, aborted } = message as RequestEvent
        traced.push([request.route?.name.replace(/.*\./, ''), status, bytes > 0, aborted])
      }
      const ended = 'tracing:filigree:request:asyncEnd'
      subscribe(ended, hear)
      await call(desk, name, {})
      unsubscribe(ended, hear)
      expect(traced).toEqual([
        [name.charAt(3).toLowerCase() + name.slice(4), 200, true, false],
        ['take', 200, true, false],
      ])
    },
  )

  it('with a key runs once', async () => {
    await call(desk, 'order', { title: 'twice' }, { token: editor })
    const repeated = await call(desk, 'order', { title: 'twice' }, { token: editor })
    expect(repeated.result?.structuredContent).toEqual({ added: 'twice', by: 'Order' })
    expect(handlerCalls).toHaveLength(1)
    // Two anonymous callers may be different: neither gets the response of the other.
    await call(desk, 'order', { title: 'twice' })
    await call(desk, 'order', { title: 'twice' })
    expect(handlerCalls).toHaveLength(3)
  })

  it('of an older client has the same result, with objects only as structure', async () => {
    const older = { jsonrpc: '2.0', id: 4, method: 'tools/call', params: { name: 'ordersList' } }
    const { result } = await post(desk, older, { 'mcp-protocol-version': '2025-06-18' })
    expect(result?.structuredContent).toBeUndefined()
    expect(result?.content?.[0]?.text).toBe('[{"id":1},{"id":2}]')
    const text = { ...older, params: { name: 'allOne', arguments: {} } }
    expect((await post(desk, text)).result?.content?.[0]?.text).toBe('plain text')
  })
})
