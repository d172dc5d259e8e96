import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { root, runNode, withFolder } from '../openapi/command.js'
import { runIn, type Outcome } from './run-in.js'

const first = join(root, 'test/cli/shop-v1.ts')
const second = join(root, 'test/cli/shop-v2.ts')
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const run = (...args: string[]): Promise<Outcome> => runIn(folder, args)

describe('filigree openapi', () => {
  it('writes the document of the module to standard output, with its options', async () => {
    const { code, out, err } = await run('openapi', first)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const document = JSON.parse(out)
    expect(document.info).toEqual({ title: 'Shop', version: '1.0.0' })
    expect(Object.keys(document.paths)).toEqual(['/items/{id}', '/items', '/items/old'])
  })

  it('describes a file that calls bootstrap, and starts nothing', async () => {
    const { code, out, err } = await run('openapi', join(root, 'test/cli/shop-main.ts'))
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const document = JSON.parse(out)
    expect(document.info).toEqual({ title: 'Shop in one file', version: '0.1.0' })
    expect(Object.keys(document.paths)).toContain('/items/old')
  })

  it('writes JSON or YAML to a file, in a folder that it creates', async () => {
    expect(await run('openapi', first, '--out', 'docs/api.json')).toEqual({
      code: 0,
      out: '',
      err: 'Written: docs/api.json\n',
    })
    const json = JSON.parse(await readFile(join(folder, 'docs/api.json'), 'utf8'))
    expect(json.openapi).toBe('3.1.1')
    await run('openapi', first, '--out', 'api.yaml')
    expect(await readFile(join(folder, 'api.yaml'), 'utf8')).toMatch(/^openapi: 3\.1\.1\n/)
  })

  it('finds the module in package.json, and its class as the default export', async () => {
    const names = JSON.stringify({ filigree: { module: second } })
    await writeFile(join(folder, 'package.json'), names)
    const { code, out } = await run('openapi')
    expect(code).toBe(0)
    expect(JSON.parse(out).info.title).toBe('filigree')
  })

  it('uses the only class with @Module, regardless of its name', async () => {
    const { code, out } = await run('openapi', join(root, 'samples/atlas/app.ts'))
    expect(code).toBe(0)
    expect(Object.keys(JSON.parse(out).paths)).toContain('/countries')
  })

  it('reports if there are no breaking changes', async () => {
    await run('openapi', first, '--out', 'api.json')
    expect(await run('openapi', first, '--against', 'api.json')).toEqual({
      code: 0,
      out: '',
      err: 'No breaking changes.\n',
    })
  })

  it('lists breaking changes, exits with 1 and does not change the old document', async () => {
    await run('openapi', first, '--out', 'api.json')
    const old = await readFile(join(folder, 'api.json'), 'utf8')
    const { code, out } = await run('openapi', second, '--out', 'api.json', '--against', 'api.json')
    expect(code).toBe(1)
    expect(out.split('\n')).toEqual([
      '9 breaking changes:',
      '  RESPONSE_TYPE_CHANGED  GET /items/{id}: response 200.name: it may be null now.',
      '  RESPONSE_FIELD_REMOVED  GET /items/{id}: response 200.note: it was removed.',
      '  ACCESS_NARROWED  POST /items: it needs a token now.',
      '  FIELD_REQUIRED  POST /items: body.color: it is required now.',
      '  TYPE_NARROWED  POST /items: body.name: maxLength is 40 now.',
      '  TYPE_NARROWED  POST /items: body.price: no number is taken any more.',
      '  RESPONSE_TYPE_CHANGED  POST /items: response 201.name: it may be null now.',
      '  RESPONSE_FIELD_REMOVED  POST /items: response 201.note: it was removed.',
      '  ROUTE_REMOVED  GET /items/old: it was removed.',
      '',
    ])
    expect(await readFile(join(folder, 'api.json'), 'utf8')).toBe(old)
  })

  it.each([
    ['no module', [], 'the application is unknown.'],
    ['a module that is not there', ['none.js'], 'the file none.js does not exist'],
    ['two modules', [first, second], 'unexpected argument'],
    ['an unknown option', [first, '--outt', 'x'], 'unknown option --outt. Did you mean "--out"?'],
    ['an old document that is not there', [first, '--against', 'none.json'], 'cannot be read'],
  ])('exits with 2 and its usage for %s', async (_, args, message) => {
    const { code, out, err } = await run('openapi', ...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
    expect(err).toContain('Usage: filigree openapi [file] [options]')
  })

  it.each(['x.exe', 'x', 'x.json.txt', 'x.ts'])('does not write a document to %s', async (name) => {
    const { code, err } = await run('openapi', first, '--out', name)
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('.json, .yaml or .yml') })
    expect(await readdir(folder)).toEqual([])
  })

  it('refuses files that are neither a document nor an application', async () => {
    await writeFile(join(folder, 'list.json'), '[]')
    const noDocument = await run('openapi', first, '--against', 'list.json')
    expect(noDocument.err).toContain('list.json is not an OpenAPI document.')
    const noModule = await run('openapi', join(root, 'test/openapi/command.ts'))
    expect(noModule.err).toContain('exports no module as AppModule, as default')
    expect(noModule.err).toContain('It exports root')
  })

  it('suggests tsx or the built file if it cannot load a source', async () => {
    await withFolder({}, async (built) => {
      const command = join(built, 'cli.mjs')
      const bundle = ['--bundle', '--platform=node', '--format=esm', '--packages=external']
      const esbuild = join(root, 'node_modules/esbuild/bin/esbuild')
      const main = join(root, 'src/cli/main.ts')
      execFileSync(esbuild, [main, ...bundle, '--log-level=error', `--outfile=${command}`])
      const source = join(folder, 'shop.ts')
      await writeFile(source, 'export class AppModule {}')
      const { code, output } = await runNode(command, 'openapi', source)
      expect(code).toBe(2)
      expect(output).toMatch(
        /^filigree openapi: .+shop\.ts is TypeScript, and tsx is not installed\. Run npm install --save-dev tsx, or name the built file\.\n/,
      )
    })
  })

  it('reports the configuration problems of the application', async () => {
    const { code, err } = await run('openapi', join(root, 'test/cli/faulty.ts'))
    expect(code).toBe(1)
    expect(err).toContain('GET /<id:integer> (FaultyController.show): unknown type "integer".')
  })
})

describe('filigree', () => {
  it('lists the commands', async () => {
    expect(await run('--help')).toMatchObject({ code: 0 })
    expect(await run()).toMatchObject({ code: 2 })
    const unknown = await run('opnapi')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toContain('unknown command "opnapi". Did you mean "openapi"?')
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    expect(await run('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' })
    const help = await run('openapi', '--help')
    expect(help.out).toContain('--against <file>')
  })

  it('runs as a process', async () => {
    const main = join(root, 'src/cli/main.ts')
    const good = await runNode('--import', 'tsx', main, 'openapi', first)
    expect(JSON.parse(good.output).info.title).toBe('Shop')
    const bad = await runNode('--import', 'tsx', main, 'openapi')
    expect(bad.code).toBe(2)
  })
})
