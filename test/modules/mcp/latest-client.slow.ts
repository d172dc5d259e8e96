/** The SDK's client of revision 2026-07-28 with each of its ways to negotiate a revision. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { bootstrap, Controller, Field, Get, Module, type Application } from 'filigree'
import { mcp, Tool, type ToolCall } from 'filigree/mcp'

const run = promisify(execFile)

class Name {
  @Field('string') name!: string
}

class Color {
  @Field('string') color!: string
}

@Controller('/survey')
@Tool
class Survey {
  @Get('/questions')
  async questions(toolCall: ToolCall | null): Promise<string> {
    toolCall?.progress(0.5, 'half')
    const person = await toolCall?.ask('who', Name, 'Who?')
    const liking = await toolCall?.ask('which', Color, 'Which color?')
    return `${person?.name ?? ''} likes ${liking?.color ?? ''}`
  }
}

@Module({ controllers: [Survey], imports: [mcp()] })
class AppModule {}

const program = `
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
const [, , url, mode] = process.argv
const capabilities = { elicitation: { form: {} } }
const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } })
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ann', color: 'red' } }))
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
const { tools } = await client.listTools()
const { content } = await client.callTool({ name: 'surveyQuestions', arguments: {} })
console.log(JSON.stringify([client.getNegotiatedProtocolVersion(), tools.length, content[0].text]))
await client.close()
`

let folder: string
let app: Application

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-mcp-'))
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await writeFile(join(folder, 'client.mjs'), program)
  const client = '@modelcontextprotocol/client@2.4.0'
  await run('npm', ['install', '--no-audit', '--no-fund', client], { cwd: folder })
  app = await bootstrap(AppModule, { port: 0, logger: false })
})

afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

it.each([
  ['auto', '2026-07-28', 'Ann likes red'],
  ['latest', '2026-07-28', 'Ann likes red'],
  [
    'legacy',
    '2025-11-25',
    '501 This client cannot be asked for input: it uses revision 2025-11-25.',
  ],
])('speaks %s', async (mode, revision, text) => {
  const url = `${app.url}/mcp`
  const { stdout } = await run(process.execPath, ['client.mjs', url, mode], { cwd: folder })
  expect(JSON.parse(stdout)).toEqual([revision, 1, text])
})
