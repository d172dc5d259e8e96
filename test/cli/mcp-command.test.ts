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
import { setDevelopmentHost } from '../../src/bootstrap/development-host.js'
import { DevelopmentMonitor } from '../../src/cli/dev/development-monitor.js'
import { runQuery } from '../../src/cli/mcp/application-queries.js'
import { createServerDefinition } from '../../src/cli/commands/mcp.js'
import { serveLines } from '../../src/cli/mcp/stdio-server.js'
import type { QueryApplication } from '../../src/cli/mcp/tool.js'
import { root } from '../openapi/command.js'

let folder: string
const desk = join(root, 'test/cli/desk.ts')
const failures: unknown[] = []

const askHere: QueryApplication = (question) => {
  const nothing = (): Promise<void> => Promise.resolve()
  return runQuery(question, desk, { out: nothing, err: nothing, cwd: folder })
}

/** Sends lines as they are. @returns the answers, as they came */
async function send(lines: readonly string[], ask = askHere) {
  const offer = await createServerDefinition(
    { cwd: folder, module: undefined, queryApplication: ask },
    (error) => failures.push(error),
  )
  const input = new PassThrough()
  const output = new PassThrough()
  const said = text(output)
  const served = serveLines(offer, { input, output })
  // In pieces that end anywhere.
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  for (let at = 0; at < bytes.length; at += 70_001) input.write(bytes.subarray(at, at + 70_001))
  input.end()
  await served
  output.end()
  return (await said)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const message = (id: unknown, method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

async function call(name: string, given: object = {}) {
  const [answer] = await send([message(1, 'tools/call', { name, arguments: given })])
  if (answer?.result === undefined) throw new Error(JSON.stringify(answer))
  return answer.result
}

async function value(name: string, given: object = {}) {
  const result = await call(name, given)
  expect(result).not.toHaveProperty('isError')
  expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent)
  return result.structuredContent
}

async function refused(name: string, given: object = {}): Promise<string> {
  const result = await call(name, given)
  expect(result.isError).toBe(true)
  return result.content[0].text
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-mcp-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the protocol over lines', () => {
  it('speaks both eras, and says that no tool changes anything', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const answers = await send([
      message(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {} }),
      message(undefined, 'notifications/initialized'),
      message(2, 'server/discover', { _meta: meta }),
      message('three', 'tools/list', { _meta: meta }),
    ])
    const of = (id: unknown) => answers.find((one) => one.id === id)?.result
    expect(answers).toHaveLength(3)
    expect(of(1)).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'filigree' } })
    expect(of(2).supportedVersions).toContain('2026-07-28')
    expect(of('three')).toMatchObject({ cacheScope: 'public' })
    for (const { annotations, inputSchema } of of('three').tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    }
  })

  it('answers what is no message, and goes on', async () => {
    const answers = await send([
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
    const codes = answers.map(({ id, error }) => [id, error?.code])
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
    expect(answers.find(({ id }) => id === 5)?.result.isError).toBe(true)
    expect(answers.find(({ id }) => id === 6)?.result).toEqual({})
    expect(failures).toEqual([])
  })

  it('reads lines of many pieces, and keeps no endless one', async () => {
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

  it('does not answer what was cancelled, and ends it', async () => {
    let aborted = false
    const answers = await send(
      [
        message(1, 'tools/call', { name: 'routes' }),
        message(undefined, 'notifications/cancelled', { requestId: 1 }),
        message(2, 'ping'),
      ],
      (_question, signal) =>
        new Promise((resolve) => {
          signal?.addEventListener('abort', () => {
            aborted = true
            resolve([])
          })
        }),
    )
    expect(answers.map(({ id }) => id)).toEqual([2])
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

  it('is read by page and section, and nothing else is', async () => {
    const page = await call('read_doc', { page: 'docs/jobs.md' })
    expect(page.content[0].text).toMatch(/^# /)
    const long = (await call('read_doc', { page: 'errors' })).content[0].text
    expect(long).toContain('Sections:\n- Errors and what to do\n')
    const section = await call('read_doc', { page: 'records/model', section: 'queries that scan' })
    expect(section.content[0].text).toMatch(/^### Queries that scan\n/)
    const whole = await call('read_doc', { page: 'commands', section: 'The development page' })
    expect(whole.content[0].text).toContain('/__filigree')
    expect(await refused('read_doc', { page: 'recods' })).toContain('Did you mean "records"?')
    expect(await refused('read_doc', { page: 'jobs', section: 'nothing' })).toContain('- ')
    for (const path of ['../package.json', '../../etc/passwd', '/etc/passwd', 'maintainers/README'])
      expect(await refused('read_doc', { page: path })).toContain('There is no page')
    expect(await refused('read_doc', { page: 'a\0' })).toBe('page must be a string')
  })
})

describe('the project', () => {
  it('tells routes, records and what is in order', async () => {
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
    for (const given of [as, JSON.stringify(as)]) {
      const asked = { method: 'get', path: '/items/report', as: given }
      const { steps } = (await value('explain_request', asked)).explained
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

describe('a running dev', () => {
  let app: Application
  const announce = async (notice: object): Promise<void> => {
    await mkdir(join(folder, '.filigree'), { recursive: true })
    await writeFile(join(folder, '.filigree/dev.json'), JSON.stringify(notice))
  }
  const secret = 'secret-of-the-running-command'
  const here = { pid: process.pid, state: 'ready', secret, report: null, types: [] }

  beforeAll(async () => {
    const guest = new DevelopmentMonitor({ started: () => undefined, secret })
    setDevelopmentHost(guest)
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
    setDevelopmentHost(undefined)
  })

  it('has to run', async () => {
    expect(await refused('requests')).toContain('npx filigree dev')
    await announce({ ...here, pid: 2 ** 22 + 1, url: app.url })
    expect(await refused('requests')).toContain('npx filigree dev')
    await announce({ ...here, url: 'http://example.com:3000' })
    expect(await refused('requests')).toContain('is not on this machine')
  })

  it('tells why it did not start', async () => {
    const types = [{ file: 'a.ts', line: 1, column: 2, code: 'TS1', message: 'wrong' }]
    await announce({ ...here, state: 'failed', url: null, report: 'It cannot start.', types })
    expect(await refused('log')).toContain('It cannot start.')
    expect(await value('faults')).toMatchObject({
      start: { state: 'failed', report: 'It cannot start.' },
      types,
    })
  })

  it('tells the last requests, faults and lines without secrets', async () => {
    await announce({ ...here, url: app.url.replace('127.0.0.1', 'localhost') })
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
    const { requests: faults } = await value('faults')
    expect(faults).toMatchObject([{ handler: 'WorkController.fail', fault: { name: 'Error' } }])
    const all = [requests, request, faults, await value('log'), await value('statements')]
    expect(JSON.stringify(all)).not.toMatch(/Grünkohl|abcdefgh/)
    await fetch(`${app.url}/work/tools`)
    const { statements, hints } = await value('statements', { suspicious: true })
    const alike = { request: '3 GET /work/tools', times: 4, failed: false, scans: ['tool'] }
    expect(statements).toMatchObject([{ ...alike, sql: expect.stringContaining('from "tool"') }])
    expect(hints.join()).toContain('4 times the same statement')
    expect((await value('request', { number: 3 })).request.steps).toMatchObject([
      { kind: 'handler', steps: [{ repeats: 4 }, { repeats: 4 }, { repeats: 4 }] },
    ])
    expect(await refused('request', { number: 999 })).toContain('not stored any more')
  })
})
