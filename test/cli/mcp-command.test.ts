/** `filigree mcp`: its tools over lines of JSON, in this process. The command itself is in `mcp-command.slow.ts`. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from 'filigree'
import { runQuery } from '../../src/cli/mcp/project-tools.js'
import { createServerDefinition } from '../../src/cli/commands/mcp.js'
import { serveLines } from '../../src/cli/mcp/stdio-server.js'
import type { QueryApplication } from '../../src/cli/mcp/tool.js'
import { root } from '../openapi/command.js'
import { startMonitoring, stopMonitoring } from './development-monitor.js'

let folder: string
const desk = join(root, 'test/cli/desk.ts')
const failures: unknown[] = []

const queryInProcess: QueryApplication = (query) => {
  const ignore = (): Promise<void> => Promise.resolve()
  return runQuery(query, desk, { out: ignore, err: ignore, cwd: folder })
}

/** Sends lines. @returns the responses in their order */
async function send(lines: readonly string[], queryApplication = queryInProcess) {
  const definition = await createServerDefinition(
    { cwd: folder, module: undefined, queryApplication },
    (error) => failures.push(error),
  )
  const input = new PassThrough()
  const output = new PassThrough()
  const outputText = text(output)
  const served = serveLines(definition, { input, output })
  // In pieces, which do not end at line feeds.
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  for (let at = 0; at < bytes.length; at += 70_001) input.write(bytes.subarray(at, at + 70_001))
  input.end()
  await served
  output.end()
  return (await outputText)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const message = (id: unknown, method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

async function call(name: string, input: object = {}) {
  const [response] = await send([message(1, 'tools/call', { name, arguments: input })])
  if (response?.result === undefined) throw new Error(JSON.stringify(response))
  return response.result
}

async function value(name: string, input: object = {}) {
  const result = await call(name, input)
  expect(result).not.toHaveProperty('isError')
  expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent)
  return result.structuredContent
}

async function errorOf(name: string, input: object = {}): Promise<string> {
  const result = await call(name, input)
  expect(result.isError).toBe(true)
  return result.content[0].text
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-mcp-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the protocol over lines', () => {
  it('supports both versions, and marks all tools as read-only', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const responses = await send([
      message(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {} }),
      message(undefined, 'notifications/initialized'),
      message(2, 'server/discover', { _meta: meta }),
      message('three', 'tools/list', { _meta: meta }),
    ])
    const of = (id: unknown) => responses.find((one) => one.id === id)?.result
    expect(responses).toHaveLength(3)
    expect(of(1)).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'filigree' } })
    expect(of(2).supportedVersions).toContain('2026-07-28')
    expect(of('three')).toMatchObject({ cacheScope: 'public' })
    for (const { annotations, inputSchema } of of('three').tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    }
  })

  it('responds to invalid messages, and continues', async () => {
    const responses = await send([
      '',
      '{"jsonrpc":"2.0","id":1,',
      '\0',
      '[]',
      '{}',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      '{"jsonrpc":"2.0","id":7,"result":{}}',
      message(undefined, 'tools/call', { name: 'routes' }),
      message(2, 'nothing/here'),
      message(3, 'tools/call', { name: '__proto__' }),
      message(4, 'tools/call', { name: 'routes', arguments: [] }),
      `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"routes","arguments":{"__proto__":{}}}}`,
      `${message(6, 'ping')}\r`,
    ])
    const codes = responses.map(({ id, error }) => [id, error?.code])
    expect(codes.filter(([id]) => id === undefined)).toEqual([
      ...[
        [undefined, -32700],
        [undefined, -32700],
      ],
      ...[
        [undefined, -32600],
        [undefined, -32600],
        [undefined, -32600],
      ],
    ])
    expect(codes).toEqual(
      expect.arrayContaining([
        [2, -32601],
        [3, -32602],
        [4, -32602],
      ]),
    )
    expect(responses.find(({ id }) => id === 5)?.result.isError).toBe(true)
    expect(responses.find(({ id }) => id === 6)?.result).toEqual({})
    expect(failures).toEqual([])
  })

  it('reads lines in many pieces, and refuses lines that are too long', async () => {
    const query = 'é'.repeat(200_000)
    const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`
    const [long, endless, last, nested] = await send([
      message(1, 'tools/call', { name: 'search_docs', arguments: { query } }),
      `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"explain_request","arguments":{"path":"/","as":{"a":${deep}}}}}`,
      'x'.repeat(3_000_000),
      message(2, 'ping'),
    ]).then((all) => [
      all.find(({ id }) => id === 1),
      all.find(({ id }) => id === undefined),
      all.find(({ id }) => id === 2),
      all.find(({ id }) => id === 3),
    ])
    expect(nested.result.isError).toBe(true)
    expect(long?.result.content[0].text).toMatch(/^query /)
    expect(endless?.error).toMatchObject({ code: -32600 })
    expect(last?.result).toEqual({})
  })

  it('cancels requests without a response', async () => {
    let aborted = false
    const responses = await send(
      [
        message(1, 'tools/call', { name: 'routes' }),
        message(undefined, 'notifications/cancelled', { requestId: 1 }),
        message(2, 'ping'),
      ],
      (_query, signal) =>
        new Promise((resolve) => {
          signal?.addEventListener('abort', () => {
            aborted = true
            resolve([])
          })
        }),
    )
    expect(responses.map(({ id }) => id)).toEqual([2])
    expect(aborted).toBe(true)
  })
})

describe('the documentation', () => {
  it('is searched by words', async () => {
    const { sections } = await value('search_docs', { query: 'softDelete restore', limit: 3 })
    expect(sections).toHaveLength(3)
    expect(sections[0]).toEqual({
      page: 'recipes/soft-deletion',
      heading: expect.any(String),
      excerpt: expect.stringContaining('softDelete'),
    })
    expect((await value('search_docs', { query: '.*+?^${}()|[]\\' })).sections).toEqual([])
    expect((await value('search_docs', { query: 'constructor' })).sections[0].excerpt).toContain(
      'constructor',
    )
  })

  it('is read by page and section, and other files are not', async () => {
    const page = await call('read_doc', { page: 'docs/jobs.md' })
    expect(page.content[0].text).toMatch(/^# /)
    const long = (await call('read_doc', { page: 'errors' })).content[0].text
    expect(long).toContain('Sections:\n- Errors and what to do\n')
    const section = await call('read_doc', { page: 'records/model', section: 'queries that scan' })
    expect(section.content[0].text).toMatch(/^### Queries that scan\n/)
    const complete = await call('read_doc', { page: 'commands', section: 'The development page' })
    expect(complete.content[0].text).toContain('/__filigree')
    expect(await errorOf('read_doc', { page: 'recods' })).toContain('Did you mean "records"?')
    expect(await errorOf('read_doc', { page: 'jobs', section: 'nothing' })).toContain('- ')
    for (const path of ['../package.json', '../../etc/passwd', '/etc/passwd', 'maintainers/README'])
      expect(await errorOf('read_doc', { page: path })).toContain('There is no page')
    expect(await errorOf('read_doc', { page: 'a\0' })).toBe('page must be a string')
  })
})

describe('the project', () => {
  it('has tools for routes, records and the doctor', async () => {
    expect((await value('routes', { contains: 'Report' })).routes).toEqual([])
    expect((await value('routes', { contains: 'report' })).routes).toMatchObject([
      { method: 'GET', path: '/items/report', words: 'role admin or auditor' },
    ])
    expect((await value('records', { name: 'Note' })).records).toMatchObject([
      {
        name: 'Note',
        write: 'role editor',
        doors: expect.arrayContaining(['GET /notes', 'GraphQL at /graphql']),
      },
    ])
    const { findings } = await value('doctor')
    expect(findings).toContainEqual(expect.objectContaining({ about: 'declarations', state: 'ok' }))
    expect(findings).toContainEqual(expect.objectContaining({ about: 'open to everybody' }))
  })

  it('explains requests and operations as a caller', async () => {
    const { explained } = await value('explain_request', { path: '/items/report?x=1' })
    expect(explained).toMatchObject({
      path: '/items/report',
      handler: 'ItemController.report',
      steps: [{ step: 'gate', what: 'role admin or auditor; 401: there is no token' }, {}],
    })
    const as = { sub: '7', roles: ['admin'] }
    for (const claims of [as, JSON.stringify(as)]) {
      const input = { method: 'get', path: '/items/report', as: claims }
      const { steps } = (await value('explain_request', input)).explained
      expect(steps[0].what).toContain('let in')
    }
    const found = await value('explain_graphql', { query: '# all\n{ notes { id } }' })
    expect(found.explained).toMatchObject({
      statements: [{ sql: expect.stringContaining('from "note"') }],
    })
  })
})

@Record
class Tool {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/work')
class WorkController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/tools') @NoAuth async tools() {
    const tools = this.database.records(Tool)
    for (const name of ['saw', 'axe', 'file', 'rasp']) await tools.list({ where: { name } })
    return []
  }
  @Get('/done') @NoAuth done() {
    return { done: true }
  }
  @Post('/fail') @NoAuth fail(body: { password: string }): never {
    throw new Error(`The till is broken by ${body.password}.`)
  }
}

@Module({ controllers: [WorkController], records: [Tool] })
class WorkModule {}

describe('a running filigree dev', () => {
  let app: Application
  let monitor: ReturnType<typeof startMonitoring>
  const writeStatus = async (status: object): Promise<void> => {
    await mkdir(join(folder, '.filigree'), { recursive: true })
    await writeFile(join(folder, '.filigree/dev.json'), JSON.stringify(status))
  }
  const secret = 'secret-of-the-running-command'
  const running = { pid: process.pid, state: 'ready', secret, report: null, types: [] }

  beforeAll(async () => {
    monitor = startMonitoring(secret)
    app = await bootstrap(WorkModule, {
      port: 0,
      logger: false,
      env: { NODE_ENV: 'development' },
      auth: { keys: false },
      database: 'sqlite::memory:',
    })
  })
  afterAll(async () => {
    await app.close()
    stopMonitoring(monitor)
  })

  it('is required', async () => {
    expect(await errorOf('requests')).toContain('npx filigree dev')
    await writeStatus({ ...running, pid: 2 ** 22 + 1, url: app.url })
    expect(await errorOf('requests')).toContain('npx filigree dev')
    await writeStatus({ ...running, url: 'http://example.com:3000' })
    expect(await errorOf('requests')).toContain('is not on this machine')
  })

  it('reports why it did not start', async () => {
    const types = [{ file: 'a.ts', line: 1, column: 2, code: 'TS1', message: 'wrong' }]
    await writeStatus({ ...running, state: 'failed', url: null, report: 'It cannot start.', types })
    expect(await errorOf('log')).toContain('It cannot start.')
    expect(await value('faults')).toMatchObject({
      start: { state: 'failed', report: 'It cannot start.' },
      types,
    })
  })

  it('reports the last requests, errors and log lines without secrets', async () => {
    await writeStatus({ ...running, url: app.url.replace('127.0.0.1', 'localhost') })
    const password = 'Grünkohl-in-the-cellar-7'
    const headers = { 'content-type': 'application/json' }
    await fetch(`${app.url}/work/done?token=abcdefgh`)
    await fetch(`${app.url}/work/fail`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ password }) },
    })
    const { requests, total } = await value('requests')
    expect([requests.length, total]).toEqual([2, 2])
    expect(requests[0]).toMatchObject({ url: '/work/fail', status: 500, failed: true })
    expect((await value('requests', { failed: true, limit: 1 })).requests).toHaveLength(1)
    expect((await value('requests', { contains: '/done' })).requests).toHaveLength(1)
    const { request } = await value('request')
    expect(request).toMatchObject({ fault: { message: 'The till is broken by (hidden).' } })
    const { requests: failures } = await value('faults')
    expect(failures).toMatchObject([{ handler: 'WorkController.fail', fault: { name: 'Error' } }])
    const all = [requests, request, failures, await value('log'), await value('statements')]
    expect(JSON.stringify(all)).not.toMatch(/Grünkohl|abcdefgh/)
    await fetch(`${app.url}/work/tools`)
    const { statements, hints } = await value('statements', { suspicious: true })
    const repeated = { request: '3 GET /work/tools', times: 4, failed: false, scans: ['tool'] }
    expect(statements).toMatchObject([{ ...repeated, sql: expect.stringContaining('from "tool"') }])
    expect(hints.join()).toContain('4 times the same statement')
    expect((await value('request', { number: 3 })).request.steps).toMatchObject([
      { kind: 'handler', steps: [{ repeats: 4 }, { repeats: 4 }, { repeats: 4 }] },
    ])
    expect(await errorOf('request', { number: 999 })).toContain('not stored any more')
  })
})
