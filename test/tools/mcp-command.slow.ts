/**
 * `filigree mcp` of the built package in a new project, by the protocol's own client over standard input: as the project's
 * `.mcp.json` starts it, together with a running `filigree dev`, and with applications that print, end or throw while they
 * are loaded.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { root } from '../openapi/command.js'
import { waitUntil } from '../wait-until.js'

const cli = join(root, 'dist/server/cli.js')
let folder: string
let project: string
let client: Client

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'filigree-mcp-')))
  project = join(folder, 'desk')
  await promisify(execFile)(process.execPath, [cli, 'new', 'desk', '--yes', '--no-install'], {
    cwd: folder,
  })
  const modules = join(project, 'node_modules')
  await mkdir(join(modules, '.bin'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules')))
    if (!name.startsWith('.')) await symlink(join(root, 'node_modules', name), join(modules, name))
  await symlink(root, join(modules, 'filigree'))
  await chmod(cli, 0o755)
  await symlink(cli, join(modules, '.bin/filigree'))
  client = await connect()
})
afterAll(async () => {
  await client.close()
  await rm(folder, { recursive: true, force: true })
})

/** Connects like an editor, with the settings of the project. */
async function connect(env: Readonly<Record<string, string>> = {}): Promise<Client> {
  const { mcpServers } = JSON.parse(await readFile(join(project, '.mcp.json'), 'utf8'))
  const { command, args } = mcpServers.filigree
  const editor = new Client({ name: 'editor', version: '1.0.0' })
  await editor.connect(new StdioClientTransport({ command, args, cwd: project, env }))
  return editor
}

async function call(name: string, input: Record<string, unknown> = {}, by = client) {
  const result = await by.callTool({ name, arguments: input }, undefined, { timeout: 120_000 })
  return JSON.parse(JSON.stringify(result))
}

const source = (): string => join(project, 'src/main.ts')
let original: string

/** Adds lines to the beginning of the program, and restores it afterwards. */
async function withLines(lines: string, use: () => Promise<void>): Promise<void> {
  original = await readFile(source(), 'utf8')
  await writeFile(source(), `${lines}\n${original}`)
  try {
    await use()
  } finally {
    await writeFile(source(), original)
  }
}

describe('filigree mcp', () => {
  it('has only read-only tools', async () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'filigree' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      ...['search_docs', 'read_doc', 'routes', 'records', 'explain_request', 'explain_graphql'],
      ...['doctor', 'requests', 'request', 'faults', 'statements', 'log'],
    ])
    for (const { annotations } of tools) expect(annotations?.readOnlyHint).toBe(true)
  })

  it('reads the documentation and the current sources', async () => {
    const { content } = await call('read_doc', { page: 'testing' })
    expect(content[0].text).toMatch(/^# /)
    const routes = await call('routes', { contains: '/tickets' })
    expect(routes.structuredContent.routes).toContainEqual(
      expect.objectContaining({ method: 'GET', path: '/tickets/<id:int>', words: 'any token' }),
    )
    const change = "import { Controller as C, Get as G } from 'filigree'\n"
    await withLines(`${change}export const added = [C, G]`, async () => {
      const { structuredContent } = await call('doctor')
      expect(structuredContent.findings).toContainEqual(
        expect.objectContaining({ about: 'declarations', state: 'ok' }),
      )
    })
    const { structuredContent } = await call('explain_graphql', { query: '{ tickets { id } }' })
    expect(structuredContent.explained.statements[0].sql).toContain('from "ticket"')
    expect(existsSync(join(project, 'data'))).toBe(false)
  })

  it('ignores output of the application', async () => {
    const lines = `console.log('{"jsonrpc":"2.0","id":1,"result":{}}'); console.error('loud'); process.stdout.write('x'.repeat(200000)); process.send(null); process.send('ready')`
    await withLines(lines, async () => {
      expect((await call('records')).structuredContent.records).toHaveLength(2)
    })
  })

  it('reports why the application cannot be loaded, without its secrets', async () => {
    const secretive = await connect({ API_TOKEN: 'a-token-of-the-desk' })
    try {
      const failing = async (lines: string): Promise<string> => {
        const texts: string[] = []
        await withLines(lines, async () => {
          const { content, isError } = await call('routes', {}, secretive)
          expect(isError).toBe(true)
          texts.push(content[0].text)
        })
        return texts.join()
      }
      const thrown = await failing('throw new Error(`no till at ${process.env.API_TOKEN}`)')
      expect(thrown).toContain('no till at (hidden)')
      expect(thrown).toContain('src/main.ts')
      expect(await failing('console.error(process.env.API_TOKEN); process.exit(3)')).toMatch(
        /^\(hidden\)\nfiligree: src\/main.ts or one of its modules ended the process with code 3 /,
      )
      expect(await failing('const = 1')).toContain('main.ts')
      expect(
        await failing('setTimeout(() => { throw new Error("late") }); await new Promise(() => {})'),
      ).toContain('late')
    } finally {
      await secretive.close()
    }
  })

  it('ends with its input', async () => {
    const child = spawn(process.execPath, [cli, 'mcp'], { cwd: project, stdio: 'pipe' })
    child.stdout.resume()
    child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"routes"}}')
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})

describe('filigree mcp with a running filigree dev', () => {
  let dev: ChildProcess
  afterEach(async () => {
    dev.kill('SIGINT')
    if (dev.exitCode === null && dev.signalCode === null) await once(dev, 'exit')
  })

  it('reports its requests, why it failed, and that it has ended', async () => {
    const env = { ...process.env, PORT: '0', NODE_OPTIONS: '' }
    dev = spawn(process.execPath, [cli, 'dev'], { cwd: project, env, stdio: 'ignore' })
    const start = async (state: string): Promise<{ report: string; state: string }> => {
      let current: { report: string; state: string } | undefined
      await waitUntil(async () => {
        current = (await call('faults')).structuredContent?.start
        return current?.state === state
      })
      return current!
    }
    await start('ready')
    const { url } = JSON.parse(await readFile(join(project, '.filigree/dev.json'), 'utf8'))
    await fetch(`${url}/tickets?token=abcdefghijkl`)
    const requests = async (): Promise<unknown[]> =>
      (await call('requests')).structuredContent.requests
    // Requests are recorded after their response.
    await waitUntil(async () => (await requests()).length > 0)
    expect(await requests()).toMatchObject([
      // The limit of requests is counted in the database.
      { url: '/tickets?token=(hidden)', status: 401, statements: expect.any(Number) },
    ])
    const messages = "process.send(null); process.send('ready')"
    await withLines(`${messages}; throw new Error('not any more')`, async () => {
      expect((await start('failed')).report).toContain('not any more')
      expect((await call('requests')).content[0].text).toContain('not any more')
    })
    await start('ready')
    dev.kill('SIGINT')
    await once(dev, 'exit')
    expect(existsSync(join(project, '.filigree/dev.json'))).toBe(false)
    expect(await call('log')).toMatchObject({ isError: true })
  })
})

describe('filigree/mcp', () => {
  it('starts without a warning', async () => {
    const program = `
      import { bootstrap, Controller, Get, Module } from 'filigree'
      import { mcp, Tool } from 'filigree/mcp'
      class Clock { now() { return 'noon' } }
      Get('/now')(Clock.prototype, 'now', Object.getOwnPropertyDescriptor(Clock.prototype, 'now'))
      Controller()(Clock)
      Tool()(Clock)
      class Root {}
      Module({ controllers: [Clock], imports: [mcp()] })(Root)
      const app = await bootstrap(Root, { port: 0, auth: { keys: false } })
      await app.close()`
    const args = ['--input-type=module', '--eval', program]
    const env = { ...process.env, NODE_ENV: 'development', NODE_OPTIONS: '' }
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project, env })
    expect(stdout).toContain('listening at')
    expect(stdout).not.toMatch(/^\S+ warn /m)
  })
})
