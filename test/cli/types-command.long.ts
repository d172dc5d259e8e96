import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { bootstrap, type Application } from 'filigree'
import { createClient } from 'filigree/client'
import { root, runNode } from '../openapi/command.js'
import { AppModule } from './routes/app.js'
import { callItems, callOrders } from './routes/calls.js'
import { createQueries } from './routes/queries.js'
import type { Routes } from './routes/routes.js'
import { runIn, type Outcome } from './run-in.js'

const shop = 'test/cli/routes/app.ts'
let folder: string

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'filigree-')))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const typesIn = (cwd: string, ...args: string[]): Promise<Outcome> => runIn(cwd, ['types', ...args])

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
}

function startApplication(): Promise<Application> {
  return bootstrap(AppModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: `sqlite:${join(folder, 'app.db')}`,
    env: {},
  })
}

/** A controller as a compiler writes it, with one route that answers nothing. */
function controller(name: string, path: string): string {
  return `class ${name} { show() {} }
Get('/')(${name}.prototype, 'show', Object.getOwnPropertyDescriptor(${name}.prototype, 'show'))
Controller('${path}')(${name})
`
}

const head = "import { Controller, Get, Module } from 'filigree'\n"

function moduleOf(...controllers: string[]): string {
  return `export class AppModule {}\nModule({ controllers: [${controllers.join(', ')}] })(AppModule)\n`
}

describe('filigree types', () => {
  it('omits the prefix of the application, which clients have in baseUrl', async () => {
    const plain = await typesIn(root, shop)
    const withPrefix = await typesIn(root, 'test/cli/routes/with-prefix.ts')
    const paths = (text: string): string[] => text.match(/\/[\w/<>:-]*(?=['"`])/g) ?? []
    expect([withPrefix.code, withPrefix.err]).toEqual([0, ''])
    expect(paths(plain.out).some((path) => path.startsWith('/items'))).toBe(true)
    expect(paths(withPrefix.out).filter((path) => path.startsWith('/api'))).toEqual([])
    expect(paths(withPrefix.out).filter((path) => path.startsWith('/items'))).toEqual(
      paths(plain.out).filter((path) => path.startsWith('/items')),
    )
  })

  it('writes the same routes as the committed file', async () => {
    const out = 'test/cli/routes/routes.d.ts'
    expect(await typesIn(root, shop, '--out', out, '--check')).toEqual({
      code: 0,
      out: '',
      err: `${out} is up to date.\n`,
    })
    const text = await readFile(join(root, out), 'utf8')
    expect(text.split('\n').slice(0, 1)).toEqual([
      `// Written by \`filigree types ${shop} --out ${out}\`. Changes are lost: run it again.`,
    ])
    expect(text.endsWith('\n')).toBe(true)
  })

  // TypeScript 6 sees the same file whenever the repository is type-checked.
  it('writes types that accept correct calls and reject wrong ones', async () => {
    const compiler = 'node_modules/typescript7/bin/tsc'
    const checked = await runNode(compiler, '--noEmit', '-p', 'test/cli/routes')
    expect(checked).toEqual({ code: 0, output: '' })
  })

  it('writes the routes of the atlas', async () => {
    const { code, out, err } = await typesIn(root, 'samples/atlas/app.ts')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain("'GET /countries/<code:slug>/cities': {")
  })

  it('writes the types of the actual responses', async () => {
    await using app = await startApplication()
    const client = createClient<Routes>({ baseUrl: app.url })
    const soldAt = '1970-01-01T00:00:00.000Z'
    expect(await callItems(client)).toEqual({
      list: [{ id: 1, name: 'desk 20', soldAt }],
      item: { id: 7, name: 'Lamp', soldAt },
      tagged: { tag: 'red', page: null },
      created: { name: 'Lamp', count: 1 },
      many: { names: ['Lamp'] },
      renamed: { id: 7, name: 'Desk' },
      changed: { id: 7, body: ['anything'] },
      deleted: null,
      photo: { names: ['lamp'] },
      raw: {},
      old: true,
      ping: 'pong',
    })
    expect(await callOrders(client)).toEqual({
      sums: [{ sumCount: 3 }],
      created: 1,
      put: 'Second',
      found: null,
      list: 1,
      related: [null, []],
      deleted: null,
      count: 2,
      customers: [],
    })
  })

  it('writes options for TanStack Query that call the application', async () => {
    const out = 'test/cli/routes/queries.ts'
    const check = await typesIn(root, shop, '--out', out, '--tanstack', '--check')
    expect(check).toEqual({ code: 0, out: '', err: `${out} is up to date.\n` })
    await using app = await startApplication()
    const queries = createQueries(createClient<Routes>({ baseUrl: app.url }))
    const { queryKey, queryFn } = queries.itemShow({ path: { id: 7 } })
    expect(queryKey).toEqual(['GET /items/{id:int}', { path: { id: 7 } }])
    expect(await queryFn(new AbortController())).toMatchObject({ name: 'Lamp' })
    const body = { name: 'Lamp', price: 5 }
    expect(await queries.itemCreate().mutationFn({ body })).toEqual({ name: 'Lamp', count: 1 })
  })

  it('writes to standard output, relative to the working folder', async () => {
    const { code, out } = await typesIn(root, shop)
    expect(code).toBe(0)
    expect(out).toMatch(/^\/\/ Written by `filigree types test\/cli\/routes\/app\.ts`\. /)
    expect(out).toContain("from './test/cli/routes/controllers.js'\n")
  })

  it('exits with 1 for --check if the file is outdated or missing, and writes nothing', async () => {
    await write({ 'app.js': head + `export ${controller('A', '/a')}` + moduleOf('A') })
    const check = ['app.js', '--out', 'web/routes.d.ts', '--check']
    expect(await typesIn(folder, ...check)).toEqual({
      code: 1,
      out: '',
      err: 'filigree types: web/routes.d.ts does not exist. Run the command without --check.\n',
    })
    await typesIn(folder, 'app.js', '--out', './web/routes.d.ts')
    expect(await typesIn(folder, ...check)).toEqual({
      code: 0,
      out: '',
      err: 'web/routes.d.ts is up to date.\n',
    })
    const path = join(folder, 'web/routes.d.ts')
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replaceAll('\n', '\r\n'))
    expect((await typesIn(folder, ...check)).code).toBe(0)
    await writeFile(path, `${text}// mine\n`)
    const old = await typesIn(folder, ...check)
    expect(old.code).toBe(1)
    expect(old.err).toContain('web/routes.d.ts is out of date.')
    expect(await readFile(path, 'utf8')).toBe(`${text}// mine\n`)
  })

  it('imports built files relative to the written file, or their sources', async () => {
    await write({
      'dist/app.js': head + `import{A}from"./shop/a.js"\n` + moduleOf('A'),
      'dist/shop/a.js': head + `export ${controller('A', '/a')}`,
    })
    await typesIn(folder, 'dist/app.js', '--out', 'web/types/routes.d.ts')
    expect(await readFile(join(folder, 'web/types/routes.d.ts'), 'utf8')).toContain(
      "import type { A } from '../../dist/shop/a.js'\n",
    )
    const { out } = await typesIn(folder, 'dist/app.js', '--source', 'src/', '--built', './dist')
    expect(out.split('\n').slice(0, 2)).toEqual([
      '// Written by `filigree types dist/app.js --source src --built dist`. Changes are lost: run it again.',
      "import type { A } from './src/shop/a.js'",
    ])
  })

  it('finds controllers in packages', async () => {
    await write({
      'app.js': head + "import { Health } from '@acme/health'\n" + moduleOf('Health'),
      'node_modules/@acme/health/package.json': '{ "type": "module", "main": "index.js" }',
      'node_modules/@acme/health/index.js': head + `export ${controller('Health', '/health')}`,
    })
    const { code, out } = await typesIn(folder, 'app.js')
    expect(code).toBe(0)
    expect(out).toContain("import type { Health } from '@acme/health'\n")
    expect(out).toContain("'GET /health': { result: ReturnType<Health['show']> }\n")
  })

  it('renames a class that has the name of a generated type', async () => {
    await write({ 'app.js': head + `export ${controller('Routes', '/a')}` + moduleOf('Routes') })
    const { out } = await typesIn(folder, 'app.js')
    expect(out).toContain("import type { Routes as Routes2 } from './app.js'\n")
    expect(out).toContain("ReturnType<Routes2['show']>")
  })

  it('names a class without a name', async () => {
    await write({
      'app.js': head + "import A from './a.js'\n" + moduleOf('A'),
      'a.js':
        head +
        controller('A', '/a')
          .replace('class A', 'export default class')
          .replace('Get(', "import A from './a.js'\nGet("),
    })
    const { out } = await typesIn(folder, 'app.js')
    expect(out).toContain("import type { default as default2 } from './a.js'\n")
    expect(out).toContain("ReturnType<default2['show']>")
  })

  it('lists every controller that is not exported', async () => {
    const both = controller('A', '/a') + controller('B', '/b')
    await write({ 'app.js': head + both + moduleOf('A', 'B') })
    expect(await typesIn(folder, 'app.js', '--out', 'routes.d.ts')).toEqual({
      code: 1,
      out: '',
      err: [
        'filigree types: 2 problems',
        '  GET /a: class A is not exported by any module that app.js imports. Write "export" before it.',
        '  GET /b: class B is not exported by any module that app.js imports. Write "export" before it.',
        '',
      ].join('\n'),
    })
    await expect(readFile(join(folder, 'routes.d.ts'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  const starting = "import { bootstrap } from 'filigree'\nimport { AppModule } from './module.js'\n"

  it('reads a file that waits for bootstrap', async () => {
    await write({
      'main.js': `${starting}await bootstrap(AppModule)\n`,
      'module.js': head + `export ${controller('A', '/a')}` + moduleOf('A'),
    })
    const { code, out, err } = await typesIn(folder, 'main.js')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain("import type { A } from './module.js'\n")
  })

  it('says that the exports of such a file cannot be read', async () => {
    const own = head + `export ${controller('A', '/a')}` + moduleOf('A')
    await write({
      'main.js': `import { bootstrap } from 'filigree'\n${own}await bootstrap(AppModule)\n`,
    })
    const { code, err } = await typesIn(folder, 'main.js')
    expect(code).toBe(1)
    expect(err).toContain('main.js calls bootstrap, so its own exports cannot be read.')
  })

  it('uses the built file of the project where tsx is not installed', async () => {
    await write({
      'package.json': '{ "type": "module", "filigree": { "module": "src/main.ts" } }',
      'src/main.ts': 'this is never loaded',
      'dist/main.js': `${starting}await bootstrap(AppModule)\n`,
      'dist/module.js': head + `export ${controller('A', '/a')}` + moduleOf('A'),
    })
    const { code, out } = await typesIn(folder)
    expect(code).toBe(0)
    expect(out).toContain("import type { A } from './dist/module.js'\n")
  })

  it.each([
    ['two modules', ['a.js', 'b.js'], 'unexpected argument'],
    ['an unknown option', ['--outt', 'x'], 'unknown option --outt. Did you mean "--out"?'],
    ['--check without a file', ['--check'], '--check needs --out'],
    ['--source alone', ['--source', 'src'], '--source and --built require each other'],
    ['no module', [], 'the application is unknown.'],
  ])('exits with 2 and its usage for %s', async (_, args, message) => {
    const { code, err } = await typesIn(folder, ...args)
    expect(code).toBe(2)
    expect(err).toContain(message)
    expect(err).toContain('Usage: filigree types [file] [options]')
  })

  it('runs as a process', async () => {
    const out = 'test/cli/routes/routes.d.ts'
    const main = 'src/cli/main.ts'
    const args = ['--import', 'tsx', main, 'types', shop, '--out', out, '--check']
    expect(await runNode(...args)).toEqual({ code: 0, output: `${out} is up to date.\n` })
  })
})
