/** The command line: help, colours, error reports, `explain CODE`, `fix` and shell completion. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bundlePackage } from '../bundle-program.js'
import { root } from '../openapi/command.js'
import { runIn, type Outcome } from './run-in.js'

let folder: string
const packageFolder = bundlePackage('command-line')

const brokenItems = `import { Controller, Field, Get } from 'filigree'

export class Item {
  @Field('id') id!: number
  @Field('string', {
    maxLenght: 80,
  })
  name!: string
}

@Controller('/items')
export class ItemController {
  @Get('/')
  list() {
    return []
  }

  @Get('/<id:integr>')
  show(id: number) {
    return { id }
  }
}
`
const appModule = `import { Module } from 'filigree'
import { ItemController } from './items.js'

@Module({ controllers: [ItemController] })
export class AppModule {}
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-line-'))
  await mkdir(join(folder, 'src'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(join(root, 'node_modules/tsx'), join(folder, 'node_modules/tsx'))
  const config = {
    type: 'module',
    filigree: { module: 'src/app-module.ts' },
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify(config))
  await symlink(packageFolder, join(folder, 'node_modules/filigree'), 'junction')
  const compilerOptions = { experimentalDecorators: true }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  await writeFile(join(folder, 'src/app-module.ts'), appModule)
  await writeFile(join(folder, 'src/items.ts'), brokenItems)
})
afterAll(async () => {
  for (const path of [folder, packageFolder]) await rm(path, { recursive: true, force: true })
})

/** Runs the command in a process, as a user does. Its output is a pipe. */
function run(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const env: NodeJS.ProcessEnv = { ...process.env, ...variables }
  const main = join(packageFolder, 'dist/server/cli.js')
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, env })
  let [out, err] = ['', '']
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  child.stderr.on('data', (data: Buffer) => (err += data.toString()))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      resolve({ code: code ?? -1, out, err })
    })
  })
}

describe('filigree --help', () => {
  it('lists the commands in groups, with examples', async () => {
    const { code, out } = await runIn(folder, ['--help'])
    expect(code).toBe(0)
    const headings = out.split('\n').filter((line) => /^[A-Z][a-z]+$/.test(line))
    expect(headings).toEqual([
      ...['Develop', 'Check', 'Generate', 'Data', 'Operate', 'Shell', 'Options', 'Examples'],
    ])
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('describes the actions, options and examples of a command', async () => {
    const { out } = await runIn(folder, ['migrate', '--help'])
    expect(out).toMatch(/^Usage: filigree migrate make <name> \| up [^\n]*\n/)
    expect(out).toMatch(/\nActions\n {2}make +writes a migration/)
    expect(out).toMatch(/\nOptions\n {2}--empty +make: writes/)
    expect(out).toMatch(/\n {2}--folder <folder> +the folder of the migrations/)
    expect(out).toMatch(/\nExamples\n {2}filigree migrate make add-price\n/)
  })

  it('accepts --module in each command that loads an application', async () => {
    const commands =
      'dev routes explain token mcp doctor fix openapi types migrate backup copy work jobs'
    for (const name of commands.split(' '))
      expect((await runIn(folder, [name, '--help'])).out).toContain('--module <file>')
    const both = await runIn(folder, ['routes', 'src/a.ts', '--module', 'src/b.ts'])
    expect(both).toMatchObject({ code: 2, err: expect.stringContaining('Name one file.') })
  })
})

describe('a command whose application does not let it end', () => {
  it.each([
    ['ends the process', 'process.exit(0)', 1, 'ended the process with code 0'],
    ['waits for ever', 'await new Promise(() => {})', 13, 'waits for something that never happens'],
  ])('says so if a module %s', async (_what, text, expected, message) => {
    await writeFile(join(folder, 'src/silent.ts'), `${text}\nexport {}\n`)
    for (const command of ['routes', 'types', 'openapi', 'doctor']) {
      const { code, err } = await run([command, '--module', 'src/silent.ts'])
      expect([command, code, err]).toEqual([command, expected, expect.stringContaining(message)])
    }
  })
})

/** The problems that `routes` reports of a program, and for each the source line that its report points to. */
async function reportOf(source: string) {
  await writeFile(join(folder, 'src/places.ts'), source)
  const { code, err } = await run(['routes', 'src/places.ts'])
  expect(code).toBe(1)
  const found = err.split(/^error/m).slice(1)
  const lineOf = (text: string): string => {
    const report = found.find((one) => one.includes(text))
    if (report === undefined) return `"${text}" is not in: ${err}`
    const line = /--> src\/places\.ts:(\d+):/.exec(report)?.[1]
    return source.split('\n')[Number(line) - 1] ?? report
  }
  return { found, lineOf }
}

describe('the report of configuration problems', () => {
  it('has the code, the file with its line, the source, and the fix', async () => {
    const { code, out, err } = await run(['routes'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('filigree routes: 1 problem\n')
    expect(err).toContain(
      [
        'error[UNKNOWN_PATH_TYPE]: GET /items/<id:integr> (ItemController.show): unknown type "integr".',
        '  --> src/items.ts:18:14',
        '   |',
        '17 |',
        "18 |   @Get('/<id:integr>')",
        '   |              ^^^^^^',
        '19 |   show(id: number) {',
        '   = Did you mean "int"? Types: ',
      ].join('\n'),
    )
    expect(err).toContain('\nTo read more about it: filigree explain UNKNOWN_PATH_TYPE\n')
    expect(err).not.toContain('\u001b[')
  })

  it('has a place for invalid paths of routes, endpoints and folders', async () => {
    const places = `import { bootstrap, Controller, Get, GraphQL, Module } from 'filigree'

@Controller('items')
class ItemController {
  @Get('/') list() {
    return []
  }
}
@Controller('/<id:integr>')
class TypeController {
  @Get('/') show() {
    return []
  }
}
const graphql = new GraphQL()
graphql.schema.addQuery('one', { type: 'Int', resolve: () => 1 })
graphql.registerRoute('data')
const unreachable = new GraphQL()
unreachable.schema.addQuery('two', { type: 'Int', resolve: () => 2 })
@Module({
  controllers: [ItemController, TypeController],
  graphql: [graphql, unreachable],
})
class AppModule {}
await bootstrap(AppModule, { static: { assets: '.' } })
`
    const { found, lineOf } = await reportOf(places)
    expect(lineOf('[RELATIVE_PATH]: @Controller of ItemController')).toContain("('items')")
    expect(lineOf('[UNKNOWN_PATH_TYPE]: @Controller of TypeController')).toContain('integr>')
    expect(lineOf('[RELATIVE_PATH]: GraphQL.registerRoute')).toContain("registerRoute('data')")
    expect(lineOf('[GRAPHQL_ROUTE_MISSING]: GraphQL')).toContain('new GraphQL()')
    expect(lineOf('[RELATIVE_PATH]: bootstrap static')).toContain("assets: '.'")
    expect(found.filter((one) => !one.includes('--> src/places.ts'))).toEqual([])
  })

  it('has colours if they are forced, unless NO_COLOR is set', async () => {
    const forced = await run(['routes'], { FORCE_COLOR: '1', NO_COLOR: '' })
    expect(forced.err).toContain('\u001b[31merror[UNKNOWN_PATH_TYPE]:\u001b[0m')
    const none = await run(['routes'], { FORCE_COLOR: '1', NO_COLOR: '1' })
    expect(none.err).not.toContain('\u001b[')
  })
})

describe('filigree explain CODE', () => {
  it('explains a code of the start, and each meaning of a code', async () => {
    const path = await runIn(folder, ['explain', 'UNKNOWN_PATH_TYPE'])
    expect(path).toEqual({
      ...{ code: 0, err: '' },
      out: [
        'UNKNOWN_PATH_TYPE (At the start, Routes and access)',
        '  A path parameter has an unknown type. Use int, float, path, uuid or slug.',
        '',
        "  Wrong:  @Get('/<id:integer>')",
        "  Right:  @Get('/<id:int>')",
        '',
      ].join('\n'),
    })
    const { out } = await runIn(folder, ['explain', 'CONFLICT', '--json'])
    expect(out).not.toContain('example')
    expect(JSON.parse(out)).toMatchObject([
      { code: 'CONFLICT', section: 'To clients', status: '409' },
      { code: 'CONFLICT', section: 'In GraphQL' },
    ])
  })

  it('suggests a code for an unknown one', async () => {
    const { code, err } = await runIn(folder, ['explain', 'UNKNOWN_PATH_TIPE'])
    expect(code).toBe(2)
    expect(err).toContain('unknown error code UNKNOWN_PATH_TIPE. Did you mean "UNKNOWN_PATH_TYPE"?')
  })
})

describe('filigree fix', () => {
  it('corrects names that the report suggests, in several runs', async () => {
    const file = join(folder, 'src/items.ts')
    const planned = await run(['fix', '--dry-run'])
    expect(planned).toEqual({ code: 0, out: 'src/items.ts:18:14 integr → int\n', err: '' })
    expect(await readFile(file, 'utf8')).toBe(brokenItems)
    expect(await run(['fix'])).toEqual(planned)
    expect(await readFile(file, 'utf8')).toBe(brokenItems.replace('integr', 'int'))
    expect(await run(['fix'])).toEqual({ code: 0, out: 'There are no problems.\n', err: '' })
    expect((await run(['routes'])).out).toContain('/items/<id:int>')
  })

  it('does not change problems without a suggestion', async () => {
    const file = join(folder, 'src/items.ts')
    const withUnknown = brokenItems
      .replace('integr', 'int')
      .replace("@Get('/')", "@Get('/', { retruns: Item })")
      .replace("@Get('/<id:int>')", "@Get('<id:int>')")
    await writeFile(file, withUnknown)
    const { code, out } = await run(['fix', '--json'])
    const { fixed, remaining } = JSON.parse(out)
    expect(code).toBe(1)
    expect(fixed).toMatchObject([{ file: 'src/items.ts', from: 'retruns', to: 'returns' }])
    expect(remaining).toMatchObject([{ code: 'RELATIVE_PATH' }])
    expect(await readFile(file, 'utf8')).toContain("@Get('/', { returns: Item })")
    await writeFile(file, brokenItems)
  })
})

describe('filigree completion', () => {
  /** Sources the script in bash and completes a command line. */
  async function complete(...line: string[]): Promise<string[]> {
    const { out } = await runIn(folder, ['completion', 'bash'])
    const script = join(folder, 'completion.bash')
    await writeFile(script, out)
    const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _filigree; printf '%s\\n' "\${COMPREPLY[@]}"`
    const found = execFileSync('bash', ['-c', program, script, ...line], { encoding: 'utf8' })
    return found.trim().split('\n')
  }

  it('completes commands, actions, options and their values in bash', async () => {
    expect(await complete('filigree', 'do')).toEqual(['docs', 'doctor'])
    expect(await complete('npx', 'filigree', 'mig')).toEqual(['migrate'])
    expect(await complete('filigree', 'migrate', 's')).toEqual(['status'])
    expect(await complete('filigree', 'doctor', '--p')).toEqual(['--production'])
    expect(await complete('filigree', 'new', 'desk', '--records', 'p')).toEqual(['postgres'])
    expect(await complete('npx', 'other', 'do')).toEqual([''])
  })

  it('writes scripts for zsh and fish, and requires a shell', async () => {
    const zsh = await runIn(folder, ['completion', 'zsh'])
    expect(zsh.out).toContain("'doctor:checks the configuration and lists what is public'\n")
    const fish = await runIn(folder, ['completion', 'fish'])
    expect(fish.out).toContain("-f -a 'sqlite postgres'")
    const none = await runIn(folder, ['completion', 'tcsh'])
    expect(none).toMatchObject({ code: 2, err: expect.stringContaining('bash, zsh, fish') })
  })
})
