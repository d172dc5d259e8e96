import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Module, type Application } from 'filigree'

@Module({})
class EmptyModule {}

const quiet = { listen: false, logger: false, env: {} } as const
let app: Application

beforeAll(async () => {
  app = await bootstrap(EmptyModule, { ...quiet, client: true })
})
afterAll(() => app.close())

describe('client: true', () => {
  it('serves a script at /filigree.js that sets window.api', async () => {
    const { status, headers, body } = await app.inject('/filigree.js')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    const window: { api?: { get: unknown } } = {}
    runInNewContext(body, { window })
    expect(typeof window.api?.get).toBe('function')
  })

  it('serves the source map that the script names', async () => {
    const script = await app.inject('/filigree.js')
    const name = /\/\/# sourceMappingURL=(\S+)/.exec(script.body)![1]!
    const { status, body } = await app.inject(`/${name}`)
    expect([status, (JSON.parse(body) as { version: number }).version]).toEqual([200, 3])
  })

  it('returns 304 to a client that has the script', async () => {
    const first = await app.inject('/filigree.js')
    const headers = { 'if-none-match': `"other", W/${first.headers.etag!}` }
    const second = await app.inject({ url: '/filigree.js', headers })
    expect([second.status, second.body]).toEqual([304, ''])
    expect(second.headers.etag).toBe(first.headers.etag)
  })

  it('allows caching of an address with a version', async () => {
    const { headers } = await app.inject('/filigree.js?v=2')
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
  })

  it('answers HEAD without a body', async () => {
    const { status, body } = await app.inject({ method: 'HEAD', url: '/filigree.js' })
    expect([status, body]).toEqual([200, ''])
  })

  it.each([undefined, false])('is off with %s', async (client) => {
    await using without = await bootstrap(EmptyModule, { ...quiet, client })
    expect((await without.inject('/filigree.js')).status).toBe(404)
  })
})

describe('the published package', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const script = `
    import { Problems, scriptRoutes } from './static-files.mjs'
    const collected = new Problems()
    const routes = scriptRoutes(true, 1000, collected)
    const problems = collected.list
    const request = { query: {}, incoming: { headers: {} } }
    const body = problems.length === 0 ? (await routes[0].served.invoke(request)).body : null
    console.log(JSON.stringify({ problems, body }))`
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'filigree-published-'))
    const esbuild = join(root, 'node_modules/.bin/esbuild')
    const entry = join(folder, 'entry.ts')
    const source = (path: string) => JSON.stringify(join(root, 'src', path))
    await writeFile(
      entry,
      `export { scriptRoutes } from ${source('bootstrap/static-files.ts')}
      export { Problems } from ${source('errors/problems.ts')}`,
    )
    const options = ['--bundle', '--format=esm', '--platform=node', '--log-level=error']
    const outfile = `--outfile=${join(folder, 'static-files.mjs')}`
    await promisify(execFile)(esbuild, [entry, ...options, outfile])
    await writeFile(join(folder, 'run.mjs'), script)
  })
  afterAll(() => rm(folder, { recursive: true }))

  const run = async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'run.mjs')])
    return JSON.parse(stdout) as { problems: unknown; body: unknown }
  }

  it('does not start where the script was not built', async () => {
    expect((await run()).problems).toEqual([
      {
        code: 'CLIENT_MISSING',
        message: 'bootstrap: client is true, but dist/client/filigree.min.js is missing.',
        remedy: 'Build the package: npm run build.',
      },
    ])
  })

  it('serves the script that was built', async () => {
    const published = join(folder, 'node_modules/filigree')
    await mkdir(published, { recursive: true })
    const exports = { './client/script': './filigree.min.js' }
    await writeFile(join(published, 'package.json'), JSON.stringify({ name: 'filigree', exports }))
    await writeFile(join(published, 'filigree.min.js'), 'window.api = {}')
    expect(await run()).toEqual({ problems: [], body: 'window.api = {}' })
  })
})
