/** `filigree new`: its files, prompts and errors. Projects are run in `project.slow.ts`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { findOrigin, readInstalledPackage } from '../../src/cli/project-files.js'
import { readChoices, readVersions } from '../../src/cli/commands/new.js'
import { root } from '../openapi/command.js'
import { findDrivers } from '../records/sqlite-drivers.js'
import { runIn } from './run-in.js'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-new-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function run(args: readonly string[], answers?: string[]) {
  const prompts: string[] = []
  const prompt = (text: string): Promise<string> => {
    prompts.push(text)
    return Promise.resolve(answers?.shift() ?? '')
  }
  return { ...(await runIn(folder, ['new', ...args, '--no-install'], answers && prompt)), prompts }
}

const read = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8')

describe('filigree new', () => {
  it.each([
    ['20.20.0', 'sqlite', true],
    ['22.15.1', 'sqlite', true],
    ['20.20.0', 'postgres', false],
    ['22.16.0', 'sqlite', false],
    ['24.0.0', 'sqlite', false],
  ])('on Node %s with %s adds better-sqlite3: %s', async (node, records, isAdded) => {
    const { versions } = process
    Object.defineProperty(process, 'versions', { value: { ...versions, node } })
    try {
      expect(await run(['desk', '--records', records])).toMatchObject({ code: 0 })
    } finally {
      Object.defineProperty(process, 'versions', { value: versions })
    }
    const file = JSON.parse(read('desk', 'package.json'))
    const { dependencies, optionalDependencies, allowScripts } = file
    expect(Object.keys(optionalDependencies ?? {})).toEqual(isAdded ? ['better-sqlite3'] : [])
    expect(optionalDependencies?.['better-sqlite3'] ?? '^12').toMatch(/^\^12/)
    expect('better-sqlite3' in allowScripts).toBe(isAdded)
    expect(dependencies).not.toHaveProperty('better-sqlite3')
  })

  it.each([
    ['sqlite', 'node', false],
    ['postgres', 'vitest', true],
    ['sqlite', 'jest', true],
  ])('writes a project: records in %s, tests by %s, page %s', async (records, tests, page) => {
    const options = ['--records', records, '--tests', tests, ...(page ? ['--page'] : [])]
    const { code, out, err } = await run(['My Desk', ...options])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('npm install\n')
    const names = await readdir(join(folder, 'My Desk'))
    expect(names).toEqual(
      expect.arrayContaining(
        [
          '.dockerignore',
          '.github',
          '.gitignore',
          '.mcp.json',
          'AGENTS.md',
          'Dockerfile',
          'README.md',
        ].concat(
          ...['migrations', 'package.json', 'src', 'test', 'tsconfig.json'],
          page ? ['public'] : [],
        ),
      ),
    )
    expect(names.includes('public')).toBe(page)
    expect(names).not.toContain('choice.json')
    const file = JSON.parse(read('My Desk', 'package.json'))
    expect(file).toMatchObject({
      name: 'my-desk',
      type: 'module',
      scripts: {
        ...{ dev: 'filigree dev', test: expect.anything(), types: 'tsc' },
        ...{
          build: 'tsc -p tsconfig.build.json && filigree migrate build',
          start: 'node dist/main.js',
        },
      },
      filigree: { module: 'src/main.ts', engines: [records] },
      devDependencies: { typescript: expect.stringMatching(/^~5\.9\.\d+$/) },
    })
    expect(
      Object.values(file.dependencies).concat(Object.values(file.devDependencies)),
    ).not.toContain('*')
    for (const entry of await readdir(join(folder, 'My Desk'), { recursive: true })) {
      if (/\.(?:ts|md|json|html|yml)$|Dockerfile$/.test(entry))
        expect(read('My Desk', entry)).not.toContain('{{')
    }
  })

  // The command runs npm, which is a script here.
  const maybe = process.platform === 'win32' ? it.skip : it
  maybe(
    'says that SQLite is missing if its driver was not compiled, and shows what npm prints',
    async () => {
      const programs = join(folder, 'programs')
      await mkdir(programs)
      const script = '#!/bin/sh\necho "gyp ERR! find Python" >&2\n'
      await writeFile(join(programs, 'npm'), script, { mode: 0o755 })
      const main = join(root, 'src/cli/main.ts')
      const command = ['--import', import.meta.resolve('tsx'), main, 'new', 'desk', '--yes']
      const { status, stderr } = spawnSync(process.execPath, command, {
        ...{ cwd: folder, encoding: 'utf8' },
        env: {
          ...process.env,
          PATH: `${programs}:${process.env.PATH ?? ''}`,
          npm_config_user_agent: '',
          TSX_TSCONFIG_PATH: join(root, 'test/tsconfig.json'),
        },
      })
      expect(status).toBe(0)
      expect(stderr).toContain('gyp ERR! find Python')
      const drivers = await findDrivers()
      if (drivers.includes('node:sqlite')) expect(stderr).toContain('Installed in ')
      else
        expect(stderr).toContain('better-sqlite3 could not be installed: the lines above say why.')
    },
  )

  it('prompts at most four times in a terminal, with the first choice as the default', async () => {
    const { code, prompts } = await run([], ['desk', '', '', ''])
    expect({ code, count: prompts.length }).toEqual({ code: 0, count: 4 })
    expect(read('desk/src/database.ts')).toContain('sqlite:')
    expect(read('desk/test/tickets.test.ts')).toContain('node:test')
    expect(existsSync(join(folder, 'desk/public'))).toBe(false)
  })

  it('uses the choices of the user', async () => {
    const { code, prompts } = await run(['desk', '--tests', 'jest'], ['post', 'yes'])
    expect({ code, count: prompts.length }).toEqual({ code: 0, count: 2 })
    expect(read('desk/package.json')).toContain('@electric-sql/pglite')
    expect(existsSync(join(folder, 'desk/public/index.html'))).toBe(true)
  })

  it('does not prompt with --yes, or without a terminal', async () => {
    expect((await run(['a', '--yes'], [])).prompts).toEqual([])
    expect(await run(['b'])).toMatchObject({ code: 0, err: '' })
    expect(await run([])).toMatchObject({ code: 2, out: '' })
  })

  it('prints the result as JSON', async () => {
    const { out } = await run(['desk', '--yes', '--json'])
    expect(JSON.parse(out)).toEqual({
      folder: join(folder, 'desk'),
      ...{ records: 'sqlite', tests: 'node', page: false, installed: false },
      next: ['npm install', 'npm run dev', 'npm run test'],
    })
  })

  it.each([
    ['../x', 'outside of this folder'],
    ['../../x', 'outside of this folder'],
    ['a/../../x', 'outside of this folder'],
    ['x; touch y', 'cannot name a project'],
    ['$(touch y)', 'cannot name a project'],
    ['-x', 'cannot name a project'],
    ['.hidden', 'cannot name a project'],
    ['a/b|c', 'cannot name a project'],
    ['node_modules', 'could not install'],
    ['Filigree', 'could not install'],
    ['http', 'could not install'],
  ])('refuses the name %s before it writes anything', async (name, reason) => {
    await mkdir(join(folder, 'inside/deep'), { recursive: true })
    const { code, err } = await runIn(join(folder, 'inside/deep'), ['new', '--', name])
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(reason) })
    expect(await readdir(folder, { recursive: true })).toEqual(['inside', 'inside/deep'])
  })

  it('accepts a folder below this one, and an absolute path', async () => {
    expect((await run(['apps/desk'])).code).toBe(0)
    expect((await run([join(folder, 'other')])).code).toBe(0)
    expect(existsSync(join(folder, 'apps/desk/package.json'))).toBe(true)
    expect(existsSync(join(folder, 'other/package.json'))).toBe(true)
  })

  it('does not change existing files', async () => {
    await mkdir(join(folder, 'full'))
    await writeFile(join(folder, 'full/note.txt'), 'mine')
    const { code, out, err } = await run(['full', '--yes'])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('full is not empty')
    expect(await readdir(join(folder, 'full'))).toEqual(['note.txt'])
    expect((await run(['full/note.txt', '--yes'])).err).toContain('is a file')
    await mkdir(join(folder, 'empty'))
    expect((await run(['empty', '--yes'])).code).toBe(0)
  })

  it('suggests a similar choice', async () => {
    const { code, err } = await run(['desk', '--records', 'postgrse'])
    expect({ code, isThere: existsSync(join(folder, 'desk')) }).toEqual({ code: 2, isThere: false })
    expect(err).toContain('Did you mean "postgres"?')
  })
})

describe('the package that a project installs', () => {
  const installed = async (resolved: string | undefined) => {
    const ownPackage = await readInstalledPackage()
    const packagePath = join(folder, 'node_modules', ownPackage.name)
    await mkdir(packagePath, { recursive: true })
    const lock = {
      packages: { [`node_modules/${ownPackage.name}`]: { version: ownPackage.version, resolved } },
    }
    await writeFile(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(lock))
    return await findOrigin(ownPackage, packagePath)
  }

  it('is the tarball that the command was run from', async () => {
    const path = join(folder, 'filigree.tgz')
    await writeFile(path, '')
    expect(await installed('file:filigree.tgz')).toEqual({ from: 'tarball', path })
  })

  it('is otherwise the version of the command', async () => {
    const { version } = await readInstalledPackage()
    const registry = { from: 'registry', version }
    expect(await installed('https://registry.example/filigree.tgz')).toEqual(registry)
    expect(await installed('file:gone.tgz')).toEqual(registry)
    expect(await installed(undefined)).toEqual(registry)
  })

  it('is the checkout if the package is not installed', async () => {
    expect(await findOrigin(await readInstalledPackage(), root)).toEqual({
      from: 'folder',
      path: root,
    })
  })
})

describe('the templates', () => {
  it('use versions that this package is tested with', async () => {
    const { devDependencies: installed } = await readInstalledPackage()
    const versions = await readVersions()
    const devDependencies = { ...installed, ...versions }
    const tools = JSON.parse(await readFile(join(root, 'test/tools/package.json'), 'utf8'))
    const { 'ts-jest': tsJest, typescript5, vitest } = tools.dependencies
    const typescript = typescript5.replace('npm:typescript@', '')
    expect(versions).toEqual({ 'ts-jest': tsJest, typescript, vitest })
    for (const { dependencies, devDependencies: more } of [
      ...(await readChoices('records')),
      ...(await readChoices('tests')),
    ]) {
      for (const name of [...dependencies, ...more]) expect(devDependencies).toHaveProperty([name])
    }
  })

  it('are in the package, together with the program of `npm create`', async () => {
    const ownPackage = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const create = JSON.parse(await readFile(join(root, 'create/package.json'), 'utf8'))
    expect(ownPackage.files).toContain('templates')
    expect(create.version).toBe(ownPackage.version)
    expect(create.dependencies.filigree).toBe(ownPackage.version)
  })
})

describe('the secrets of a project', () => {
  const secrets = [
    ...['production.env', '.env', '.env.production', 'deploy/staging.env', 'keys/public-key.pem'],
    ...[
      'private-key.pem',
      'certificates/desk.key',
      '.filigree/private-key.pem',
      '.filigree/dev.json',
    ],
    ...['data/app.db', 'copy.db', 'copy.db-wal', 'backups/today.db', 'desk.dump', 'uploads/a.png'],
  ]
  const others = ['package.json', 'src/main.ts', 'migrations/20260101000000_first.sqlite.sql']

  /** @returns those of the paths that a file of patterns excludes, by git's rules */
  function excludedBy(file: string, paths: readonly string[]): string[] {
    const patterns = ['-c', `core.excludesFile=${file}`, 'check-ignore', '--no-index', ...paths]
    return execFileSync('git', patterns, { cwd: folder, encoding: 'utf8' }).trim().split('\n')
  }

  it.each(['.gitignore', '.dockerignore'])(
    'are excluded by %s, and nothing else is',
    async (name) => {
      await run(['desk', '--yes'])
      execFileSync('git', ['init', '--quiet'], { cwd: folder })
      const file = join(folder, 'desk', name)
      expect(excludedBy(file, [...secrets, ...others])).toEqual(secrets)
    },
  )
})
