/** A slow call: its response head is sent before the result, and a fast call returns one JSON body. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { bootstrap, Controller, Get, Module, type Application } from 'filigree'
import { mcp, Tool } from 'filigree/mcp'

let goOn: () => void = () => undefined
const going = new Promise<void>((resolve) => {
  goOn = resolve
})

@Controller('/work')
@Tool
class Work {
  @Get('/long')
  async long(): Promise<object> {
    await going
    return { done: true }
  }

  @Get('/short')
  async short(): Promise<object> {
    await new Promise(setImmediate)
    return { done: true }
  }
}

@Module({ controllers: [Work], imports: [mcp()] })
class AppModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(AppModule, { port: 0, logger: false })
})
afterAll(() => app.close())

function call(name: string): Promise<Response> {
  return fetch(new URL('/mcp', app.url), {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
}

it('becomes a stream automatically', async () => {
  // The head arrives before the result.
  const long = await call('workLong')
  expect(long.headers.get('content-type')).toContain('text/event-stream')
  const short = await call('workShort')
  expect(short.headers.get('content-type')).toContain('application/json')
  goOn()
  for (const response of [long, short])
    expect(await response.text()).toContain('"structuredContent":{"done":true}')
})
