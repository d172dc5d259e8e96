/** MCP over HTTP with the protocol's own client of the earlier revisions. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  type Application,
  type HttpRequest,
} from 'filigree'
import { mcp, Resource, Tool, type ToolCall } from 'filigree/mcp'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { waitUntil } from '../wait-until.js'

class Sure {
  @Field('boolean') sure!: boolean
}

const runs: string[] = []

@Controller('/work')
@Tool
class Work {
  @Get('/ask')
  async ask(toolCall: ToolCall | null): Promise<string> {
    return String((await toolCall?.ask('first', Sure, 'Really?'))?.sure)
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
}

@Controller()
class Guides {
  @Resource('desk://guide/{name}', { mime: 'text/markdown' })
  guide(name: string): string {
    return `# ${name}`
  }
}

@Module({ controllers: [Work, Guides], imports: [mcp()] })
class AppModule {}

let listening: Application
beforeAll(async () => {
  listening = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(() => listening.close())

it('works with the client of earlier revisions, which receives progress and cancels', async () => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', listening.url)))
  expect(client.getServerVersion()).toMatchObject({ name: 'filigree' })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['workAsk', 'workWait'])
  const read = await client.readResource({ uri: 'desk://guide/x' })
  expect(read.contents).toMatchObject([{ text: '# x' }])
  const leaving = new AbortController()
  const heard: unknown[] = []
  const waiting = client.callTool({ name: 'workWait', arguments: {} }, undefined, {
    signal: leaving.signal,
    onprogress: (progress) => {
      heard.push(progress)
      leaving.abort()
    },
  })
  await expect(waiting).rejects.toThrow()
  expect(heard).toMatchObject([{ progress: 0.5, total: 1, message: 'half' }])
  await waitUntil(() => runs.length > 0)
  expect(runs).toEqual(['left'])
  const result = await client.callTool({ name: 'workAsk', arguments: {} })
  expect(JSON.stringify(result)).toContain('cannot be asked')
  await client.close()
})
