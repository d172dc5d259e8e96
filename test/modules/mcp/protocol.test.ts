/** The protocol without a transport, as `filigree mcp` also uses it over standard input. */
import { expect, test } from '@jest/globals'
import { methodsOf } from '../../../src/modules/mcp/methods.js'
import {
  respond,
  openExchange,
  readMessage,
  errorResponse,
  invalidParams,
  type ServerDefinition,
} from '../../../src/modules/mcp/protocol.js'

const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

const { capabilities, methods } = methodsOf<string>({
  tools: {
    list: () => ({ tools: [{ name: 'greet' }], ttlMs: 0, cacheScope: 'private' }),
    call: (name, { who }, { context }) => {
      if (name === 'fall') throw new Error('secret')
      if (name !== 'greet') throw invalidParams(`Unknown tool: ${name}`)
      return { content: [{ type: 'text', text: `${context}, ${String(who)}` }] }
    },
  },
})
const failures: unknown[] = []
const offer: ServerDefinition<string> = {
  info: { name: 'desk', version: '1.0.0' },
  capabilities,
  methods,
  onError: (error) => failures.push(error),
}

async function send(message: object): Promise<unknown> {
  try {
    const read = readMessage({ jsonrpc: '2.0', ...message })
    const answered = await respond(offer, read, openExchange(read, { context: 'Hello' }))
    return answered === undefined ? undefined : { ...answered, text: JSON.parse(answered.text) }
  } catch (error) {
    const { status, text } = errorResponse(error)
    return { status, text: JSON.parse(text) as unknown }
  }
}

test('answers the methods of both protocol versions, and each only its own', async () => {
  const call = { method: 'tools/call', params: { name: 'greet', arguments: { who: 'Ann' } } }
  const content = [{ type: 'text', text: 'Hello, Ann' }]
  expect(await send({ id: 1, ...call })).toMatchObject({ text: { id: 1, result: { content } } })
  const inMeta = { ...call.params, _meta: modern }
  expect(await send({ id: 'a', ...call, params: inMeta })).toMatchObject({
    status: 200,
    text: { id: 'a', result: { resultType: 'complete', content } },
  })
  const hello = { protocolVersion: '2025-06-18', capabilities: {} }
  expect(await send({ id: 0, method: 'initialize', params: hello })).toMatchObject({
    text: { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} } } },
  })
  const secondInitialize = await send({
    id: 0,
    method: 'initialize',
    params: { ...hello, _meta: modern },
  })
  expect(secondInitialize).toMatchObject({ status: 404, text: { id: 0, error: { code: -32601 } } })
  expect(await send({ id: 2, method: 'server/discover', params: { _meta: modern } })).toMatchObject(
    {
      text: {
        result: {
          supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
        },
      },
    },
  )
})

test('refuses invalid messages, and reveals no internal failures', async () => {
  expect(await send({ id: null, method: 'ping' })).toMatchObject({
    status: 400,
    text: { error: { code: -32600 } },
  })
  expect(() => readMessage([])).toThrow('Batches')
  expect(await send({ method: 'notifications/initialized' })).toBeUndefined()
  const falling = await send({ id: 3, method: 'tools/call', params: { name: 'fall' } })
  expect(falling).toMatchObject({ text: { error: { code: -32603 } } })
  expect(JSON.stringify(falling)).not.toContain('secret')
  expect(failures).toHaveLength(1)
  const proto = await send({ id: 4, method: 'tools/call', params: { name: '__proto__' } })
  expect(proto).toMatchObject({ text: { error: { code: -32602 } } })
  expect(await send({ id: 5, method: 'constructor' })).toMatchObject({
    text: { error: { code: -32601 } },
  })
})
