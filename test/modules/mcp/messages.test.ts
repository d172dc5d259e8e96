/** MCP over HTTP: addresses, tokens, revisions, headers and codes, elicitations, and clients that disconnect. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  Secured,
  type Application,
  type HttpRequest,
} from 'filigree'
import { mcp, Prompt, Resource, Tool, type ToolCall } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { sendRequest, call, post } from './mcp-requests.js'
import { silentLog } from '../../silent-log.js'
import { waitUntil } from '../../wait-until.js'

class Sure {
  @Field('boolean') sure!: boolean
}

class Steps {
  @Field('integer') steps!: number
  @Field('integer') of!: number
  @Field('boolean', { optional: true }) waits?: boolean
}

const runs: string[] = []

@Controller('/work')
@Tool
class Work {
  @Get('/ask')
  async ask(toolCall: ToolCall | null): Promise<string> {
    runs.push('ask')
    const first = await toolCall?.ask('first', Sure, 'Really?')
    const second = await toolCall?.ask('second', Sure, 'Really, really?')
    return first === null ? 'no' : `${String(first?.sure)} ${String(second?.sure)}`
  }

  @Get('/wait')
  async wait(request: HttpRequest, toolCall: ToolCall | null): Promise<string> {
    toolCall?.progress(0.5, 'half')
    await new Promise((resolve) => {
      request.signal.addEventListener('abort', resolve)
    })
    runs.push('left')
    return 'never'
  }

  @Get('/count', { query: Steps })
  async count(query: Steps, toolCall: ToolCall | null): Promise<string> {
    for (let step = 1; step <= query.steps; step++) {
      toolCall?.progress(step / query.of, `step ${step}`)
      if (query.waits === true) await new Promise(setImmediate)
    }
    return 'done'
  }

  @Get('/mine')
  @Secured
  mine(): string {
    return 'mine'
  }
}

class Named {
  @Field('string') name!: string
}

function complete(text: string): string[] {
  if (text !== 'broken') return ['a', 'b']
  const { proxy, revoke } = Proxy.revocable(new Error('no'), {})
  revoke()
  throw proxy
}

@Controller()
class Guides {
  @Resource('desk://guide/{name}', { mime: 'text/markdown', complete })
  guide(name: string): string {
    return `# ${name}`
  }

  @Resource('desk://closed')
  @Secured('boss')
  closed(): object {
    return { closed: true }
  }

  @Prompt({ arguments: Named })
  greet(query: Named): string {
    return `Greet ${query.name}.`
  }
}

@Module({
  controllers: [Work, Guides],
  imports: [
    mcp({
      hosts: ['desk.internal'],
      limit: '2kb',
      authorizationServers: ['https://login.example'],
    }),
  ],
})
class AppModule {}

let desk: TestApplication
let listening: Application
const failed: object[] = []

beforeAll(async () => {
  desk = await testApplication(AppModule)
  const error = (details: object): void => void failed.push(details)
  listening = await bootstrap(AppModule, { port: 0, logger: { ...silentLog, error } })
})
beforeEach(() => {
  runs.length = failed.length = 0
})
afterAll(async () => {
  await desk.close()
  await listening.close()
})

it.each([
  ['host', { host: 'evil.example' }, 403],
  ['host', { host: 'desk.internal' }, 200],
  ['host', { host: 'desk.internal:8080' }, 200],
  ['origin', { origin: 'https://evil.example' }, 403],
  ['origin', { origin: 'null' }, 403],
  ['origin', { origin: 'http://localhost:5173' }, 403],
  ['origin', { origin: 'http://localhost' }, 200],
  ['origin', { host: 'localhost:3000', origin: 'http://127.0.0.1:3000' }, 200],
  ['origin', { host: 'desk.internal', origin: 'http://localhost:5173' }, 403],
  ['content type', { 'content-type': 'text/plain' }, 415],
])('responds to %s %j with %d', async (_what, headers, status) => {
  expect((await sendRequest(desk, 'tools/list', { headers })).status).toBe(status)
})

describe('tokens', () => {
  it('return 401 with the metadata when invalid, for open tools too', async () => {
    const { status, headers } = await sendRequest(desk, 'tools/list', { token: 'bad' })
    const where = 'http://localhost/.well-known/oauth-protected-resource/mcp'
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      expect.stringMatching(/^Bearer error="invalid_token", resource_metadata="http.*\/mcp"$/),
    ])
    const metadata = await desk.app.inject(new URL(where).pathname)
    expect(metadata.json()).toEqual({
      resource: expect.stringMatching(/\/mcp$/),
      authorization_servers: ['https://login.example'],
      bearer_methods_supported: ['header'],
    })
  })

  it('are required where a tool requires one', async () => {
    const { status, headers } = await call(desk, 'workMine', {})
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      expect.stringContaining('resource_metadata'),
    ])
    const token = await desk.get(Auth).getToken({ sub: 'ann' })
    const mine = await call(desk, 'workMine', {}, { token })
    expect(mine.result?.content?.[0]?.text).toBe('mine')
  })
})

describe('codes', () => {
  it.each([
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], 400, -32600],
    ['an answer', { jsonrpc: '2.0', id: 1, result: {} }, 400, -32600],
    ['no id that counts', { jsonrpc: '2.0', id: null, method: 'ping' }, 400, -32600],
    ['an unknown method of before', { jsonrpc: '2.0', id: 1, method: 'no/such' }, 200, -32601],
  ])('%s', async (_what, json, status, code) => {
    const response = await post(desk, json)
    expect([response.status, response.error?.code]).toEqual([status, code])
  })

  it.each([
    ['another revision in the header', { 'mcp-protocol-version': '2025-11-25' }, 400, -32020],
    ['no revision in the header', { 'mcp-protocol-version': undefined }, 400, -32020],
    ['another method in the header', { 'mcp-method': 'tools/call' }, 400, -32020],
    ['no method in the header', { 'mcp-method': undefined }, 400, -32020],
  ])('%s', async (_what, headers, status, code) => {
    const response = await sendRequest(desk, 'tools/list', { headers })
    expect([response.status, response.error?.code]).toEqual([status, code])
  })

  it('an unsupported revision is answered with the supported ones', async () => {
    const name = 'io.modelcontextprotocol/protocolVersion'
    const headers = { 'mcp-protocol-version': '1900-01-01' }
    const response = await sendRequest(desk, 'tools/list', {
      headers,
      meta: { [name]: '1900-01-01' },
    })
    expect([response.status, response.error]).toMatchObject([
      400,
      {
        code: -32022,
        data: {
          requested: '1900-01-01',
          supported: expect.arrayContaining(['2026-07-28', '2025-11-25']),
        },
      },
    ])
  })

  it('names in headers are decoded and compared', async () => {
    const encoded = `=?base64?${Buffer.from('workMine').toString('base64')}?=`
    expect((await call(desk, 'workMine', {}, { headers: { 'mcp-name': encoded } })).status).toBe(
      401,
    )
    const other = await call(desk, 'workMine', {}, { headers: { 'mcp-name': 'workAsk' } })
    expect([other.status, other.error?.code]).toEqual([400, -32020])
  })

  it('other methods are 405, too large is 413, notifications are 202', async () => {
    const got = await desk.app.inject('/mcp')
    expect([got.status, got.headers.allow]).toEqual([405, expect.stringContaining('POST')])
    expect((await call(desk, 'workAsk', { text: 'x'.repeat(3000) })).status).toBe(413)
    const response = await post(desk, { jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([response.status, response.result]).toEqual([202, undefined])
  })
})

describe('texts of the client', () => {
  const long = 'x'.repeat(5000)
  const version = 'io.modelcontextprotocol/protocolVersion'
  const manyNames = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a${index}`, 1]))
  let open: TestApplication
  beforeAll(async () => {
    @Module({ controllers: [Work, Guides], imports: [mcp()] })
    class OpenModule {}
    open = await testApplication(OpenModule)
  })
  afterAll(() => open.close())

  it.each<[string, string, Parameters<typeof sendRequest>[2]]>([
    [
      'a revision',
      'tools/list',
      { headers: { 'mcp-protocol-version': long }, meta: { [version]: long } },
    ],
    ['a revision that differs', 'tools/list', { headers: { 'mcp-protocol-version': long } }],
    ['a method', long, {}],
    ['a method in the header', 'tools/list', { headers: { 'mcp-method': long } }],
    [
      'a name in the header',
      'tools/call',
      { headers: { 'mcp-name': long }, params: { name: 'workAsk' } },
    ],
    ['a tool', 'tools/call', { params: { name: long } }],
    [
      'an argument of a tool',
      'tools/call',
      { params: { name: 'workAsk', arguments: { [long]: 1 } } },
    ],
    [
      'a value of a tool',
      'tools/call',
      { params: { name: 'workCount', arguments: { steps: long, of: 1 } } },
    ],
    [
      '500 arguments of a tool',
      'tools/call',
      { params: { name: 'workAsk', arguments: manyNames } },
    ],
    ['a state', 'tools/call', { params: { name: 'workAsk', requestState: long } }],
    ['a resource', 'resources/read', { params: { uri: `desk://${long}` } }],
    ['a prompt', 'prompts/get', { params: { name: long } }],
    [
      'an argument of a prompt',
      'prompts/get',
      { params: { name: 'guidesGreet', arguments: { [long]: 'a' } } },
    ],
    [
      'a completed prompt',
      'completion/complete',
      {
        params: { ref: { type: 'ref/prompt', name: long }, argument: { name: 'a', value: 'b' } },
      },
    ],
  ])('are clipped to 200 characters: %s', async (_what, method, sending) => {
    const { result, error } = await sendRequest(open, method, sending)
    const text = JSON.stringify(error ?? result)
    expect(error !== undefined || result?.isError === true).toBe(true)
    expect(text).not.toContain('x'.repeat(201))
    expect(text.length).toBeLessThan(3000)
  })
})

describe('elicitations', () => {
  const capable = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }

  it('end a response, and the next request carries the results', async () => {
    const first = await call(desk, 'workAsk', {}, { meta: capable })
    expect(first.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { first: { method: 'elicitation/create', params: { message: 'Really?' } } },
    })
    const yes = (name: string, requestState: unknown) => ({
      inputResponses: { [name]: { action: 'accept', content: { sure: true, more: 1 } } },
      requestState,
    })
    const state = first.result?.requestState
    const second = await call(desk, 'workAsk', {}, { meta: capable, params: yes('first', state) })
    expect(second.result?.inputRequests).toHaveProperty('second')
    const params = yes('second', second.result?.requestState)
    const third = await call(desk, 'workAsk', {}, { meta: capable, params })
    expect(third.result?.content?.[0]?.text).toBe('true true')
    expect(runs).toHaveLength(3)
    const stolen = await desk.get(Auth).getToken({ sub: 'other' })
    const other = await call(desk, 'workAsk', {}, { meta: capable, params, token: stolen })
    expect(other.error?.code).toBe(-32602)
    await desk.clock.advance('16m')
    expect((await call(desk, 'workAsk', {}, { meta: capable, params })).error?.code).toBe(-32602)
  })

  it('can be answered only by the caller who received them', async () => {
    const sure = { action: 'accept', content: { sure: true } }
    const send = (name: string, params: Readonly<Record<string, unknown>>) =>
      call(desk, name, {}, { meta: capable, params })
    for (const name of ['workAsk', 'workWait'])
      expect((await send(name, { inputResponses: { first: sure, second: sure } })).error).toEqual({
        code: -32602,
        message: 'inputResponses requires requestState',
      })
    expect(runs).toEqual([])
    const { requestState } = (await send('workAsk', {})).result ?? {}
    const early = await send('workAsk', { requestState, inputResponses: { second: sure } })
    expect(early.result?.inputRequests).toHaveProperty('first')
    const responses = { first: sure, second: sure }
    const second = await send('workAsk', { requestState, inputResponses: responses })
    expect(second.result?.inputRequests).toHaveProperty('second')
    const greet = { name: 'greet', arguments: { name: 'Bo' }, requestState }
    expect((await sendRequest(desk, 'prompts/get', { params: greet })).error?.message).toBe(
      'Invalid requestState: it belongs to a call that asks for input',
    )
  })

  it('are not sent to clients that do not support them', async () => {
    const { status, error } = await call(desk, 'workAsk', {})
    expect([status, error]).toMatchObject([
      400,
      { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    ])
  })
})

it('returns resources, prompts and completions that the caller may see', async () => {
  const listed = await sendRequest(desk, 'resources/list')
  expect(listed.result?.resources).toEqual([])
  const guide = await sendRequest(desk, 'resources/read', {
    params: { uri: 'desk://guide/caf%C3%A9' },
  })
  expect(guide.result).toMatchObject({
    contents: [{ mimeType: 'text/markdown', text: '# café' }],
    cacheScope: 'private',
  })
  const boss = await desk.get(Auth).getToken({ sub: 'b', roles: ['boss'] })
  const params = { uri: 'desk://closed' }
  expect((await sendRequest(desk, 'resources/read', { params, token: boss })).result).toMatchObject(
    {
      contents: [{ text: '{"closed":true}' }],
    },
  )
  const ann = await desk.get(Auth).getToken({ sub: 'ann' })
  const closed = await sendRequest(desk, 'resources/read', { params, token: ann })
  const absent = await sendRequest(desk, 'resources/read', { params: { uri: 'desk://no' } })
  expect([closed.error?.message, absent.error?.code]).toEqual(['Resource not found', -32602])
  const prompt = { name: 'greet', arguments: { name: 'Bo' } }
  expect((await sendRequest(desk, 'prompts/get', { params: prompt })).result?.messages).toEqual([
    { role: 'user', content: { type: 'text', text: 'Greet Bo.' } },
  ])
  const odd = { name: 'greet', arguments: { name: 'Bo', more: 1 } }
  expect((await sendRequest(desk, 'prompts/get', { params: odd })).error?.code).toBe(-32602)
  const ref = { type: 'ref/resource', uri: 'desk://guide/{name}' }
  const completing = { ref, argument: { name: 'name', value: '' } }
  expect(
    (await sendRequest(desk, 'completion/complete', { params: completing })).result?.completion,
  ).toEqual({
    values: ['a', 'b'],
    total: 2,
    hasMore: false,
  })
})

it('responds where a program throws an error that cannot be inspected', async () => {
  const params = {
    ref: { type: 'ref/resource', uri: 'desk://guide/{name}' },
    argument: { name: 'name', value: 'broken' },
  }
  const { error } = await sendRequest(desk, 'completion/complete', { params })
  expect(error).toMatchObject({ code: -32603, message: 'Internal server error' })
})

describe('progress', () => {
  const progressOf = async (query: object): Promise<number[]> => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
    const params = { name: 'workCount', arguments: query, _meta: { progressToken: 'p' } }
    const { body } = await desk.app.inject({
      url: '/mcp',
      headers: { accept: 'application/json, text/event-stream' },
      json: { ...request, params },
    })
    const messages = [...body.matchAll(/^data: (.*)$/gm)].map(
      ([, text = '']) => JSON.parse(text) as { params?: { progress: number }; result?: unknown },
    )
    expect(messages.at(-1)?.result).toMatchObject({ content: [{ text: 'done' }] })
    return messages.flatMap(({ params }) => (params === undefined ? [] : [params.progress]))
  }

  it('is sent as it increases', async () => {
    expect(await progressOf({ steps: 3, of: 2, waits: true })).toEqual([0.5, 1])
  })

  it('of a long loop neither fills the memory nor floods the client', async () => {
    const atOnce = await progressOf({ steps: 100_000, of: 100_000 })
    expect([atOnce.length, atOnce.at(-1)]).toEqual([100, 1])
    const slowly = await progressOf({ steps: 500, of: 100_000, waits: true })
    expect(slowly.length).toBeLessThanOrEqual(5)
  })
})

it('aborts the call of a client that leaves', async () => {
  const leaving = new AbortController()
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name: 'workWait', arguments: {}, _meta: { ...meta, progressToken: 1 } }
  const response = await fetch(new URL('/mcp', listening.url), {
    method: 'POST',
    signal: leaving.signal,
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'workWait',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  leaving.abort()
  await waitUntil(() => runs.length > 0)
  expect(runs).toEqual(['left'])
  // A disconnected client is not an error.
  expect(failed).toEqual([])
})
