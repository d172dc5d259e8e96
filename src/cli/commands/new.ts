/**
 * `filigree new`: creates a project from the folder `templates` and installs its packages. The files of all projects are
 * followed by the files of the chosen database, tests and page, whose `choice.json` has additions to package.json.
 */

import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, isAbsolute, resolve } from 'node:path'
import { spawn } from 'node:child_process'
import { builtinModules } from 'node:module'
import {
  findOrigin,
  packageFolder,
  readInstalledPackage,
  toPosix,
  type PackageOrigin,
} from '../project-files.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { defineCommand, flag, option, type Terminal, UsageError } from '../command.js'
import { describeTime, toJson } from '../output.js'

const managers = ['npm', 'pnpm', 'yarn', 'bun'] as const
type PackageManager = (typeof managers)[number]

/** @returns the package manager that runs the command, or npm if it is unknown */
function findManager(agent = process.env.npm_config_user_agent): PackageManager {
  const name = agent?.split('/')[0]
  return managers.find((one) => one === name) ?? 'npm'
}

/** SQLite for a Node that has none. */
const driver = 'better-sqlite3'

/** Milliseconds between two lines while packages are installed. */
const reportInterval = 15_000

/** Without a network npm would retry for minutes. */
const networkOptions = [
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=500',
  '--fetch-timeout=60000',
]

/** What npm shows: its progress, and what a package prints that is compiled. */
function outputOptions(parts: ProjectParts): readonly string[] {
  return ['--progress', ...(needsDriver(parts) ? ['--foreground-scripts'] : [])]
}

/** True if this Node has no SQLite of its own, as Node 20 and 22 before 22.16, and the project needs it. */
function needsDriver({ records }: ProjectParts): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return records.name === 'sqlite' && (major < 22 || (major === 22 && minor < 16))
}

/** Installs the packages, with output on standard error. @returns true if it succeeded */
function installPackages(
  manager: PackageManager,
  cwd: string,
  parts: ProjectParts,
): Promise<boolean> {
  const options = ['--no-audit', '--no-fund', '--prefer-offline', ...networkOptions]
  return new Promise((resolve) => {
    const npmOptions = manager === 'npm' ? [...options, ...outputOptions(parts)] : []
    const child = spawn(manager, ['install', ...npmOptions], {
      cwd,
      stdio: ['ignore', process.stderr, process.stderr],
      shell: process.platform === 'win32',
    })
    child.on('error', () => {
      resolve(false)
    })
    child.on('exit', (code) => {
      resolve(code === 0)
    })
  })
}

export const newCommand = defineCommand({
  group: 'Develop',
  usage: 'filigree new <folder>',
  summary: 'creates a project that runs',
  description: `Creates a project with two records, routes, a sign-in, an admin page, tests, a migration, a Dockerfile, and a README with the next
steps. It installs the package that the command was run from. A folder that is not empty is not changed. "npm create filigree
<folder>" does the same.`,
  options: {
    records: option('<database>', 'sqlite or postgres. Default: sqlite', ['sqlite', 'postgres']),
    tests: option('<runner>', 'node, vitest or jest. Default: node', ['node', 'vitest', 'jest']),
    page: flag('adds a page that uses the browser client'),
    yes: flag('uses the defaults without asking, as without a terminal'),
    'no-install': flag('writes the files only'),
    json: flag('prints { folder, records, tests, page, installed, next }'),
  },
  examples: ['filigree new desk', 'filigree new desk --records postgres --tests vitest --page'],
  run: async ({ values, positionals }, terminal) => {
    const prompt = values.yes ? undefined : terminal.prompt
    const records = await readChoices('records')
    const tests = await readChoices('tests')
    // Wrong choices are reported before the first prompt.
    const chosen = {
      records: findChoice(records, values.records),
      tests: findChoice(tests, values.tests),
    }
    const name = positionals[0] ?? (await prompt?.('Folder of the project: '))?.trim() ?? ''
    if (name === '') throw new UsageError('the folder is missing. Write filigree new desk.')
    checkProjectName(name, terminal.cwd)
    const folder = resolve(terminal.cwd, name)
    await checkFolderIsEmpty(folder, name)
    const parts: ProjectParts = {
      records: chosen.records ?? (await choose('Database', records, prompt)),
      tests: chosen.tests ?? (await choose('Test runner', tests, prompt)),
      page: values.page || (await confirm('Add a page for browsers?', prompt)),
    }
    await writeProject(folder, parts)
    const manager = findManager()
    const installed =
      !values['no-install'] && (await installWithProgress(manager, folder, parts, terminal))
    const result = { folder, ...namesOf(parts), installed, next: nextSteps(manager, installed) }
    const relativeFolder = relative(terminal.cwd, folder)
    await terminal.out(values.json ? toJson(result) : toText(result, relativeFolder))
    return true
  },
})

async function installWithProgress(
  manager: PackageManager,
  folder: string,
  parts: ProjectParts,
  { err }: Terminal,
): Promise<boolean> {
  await err(`The files are written. Installing the packages with ${manager}:\n`)
  if (needsDriver(parts))
    await err(
      `Node ${process.versions.node} has no SQLite, so ${driver} is installed. If its binary cannot be downloaded, it is compiled, which takes some minutes. Node 22.16 and later need neither.\n`,
    )
  const start = performance.now()
  const duration = (): string => describeTime(performance.now() - start)
  // Package managers print nothing while they download or compile a large file.
  const timer = setInterval(
    () => void err(`Still installing after ${duration()}.\n`),
    reportInterval,
  )
  const installed = await installPackages(manager, folder, parts)
  clearInterval(timer)
  if (!installed)
    await err('The packages could not be installed. The files of the project are complete.\n')
  else if (needsDriver(parts) && !existsSync(join(folder, 'node_modules', driver)))
    await err(
      `${driver} could not be installed: the lines above say why. To compile it, Python 3, make and a C++ compiler are needed. Install them and run ${manager} install, or use Node 22.16 or later.\n`,
    )
  else await err(`Installed in ${duration()}.\n`)
  return installed
}

function namesOf({ records, tests, page }: ProjectParts): object {
  return { records: records.name, tests: tests.name, page }
}

function findChoice(choices: readonly Choice[], name: string | undefined): Choice | undefined {
  if (name === undefined) return undefined
  const choice = choices.find((one) => one.name === name)
  if (choice !== undefined) return choice
  const names = choices.map((one) => one.name)
  const suggestion = didYouMean(name, names)
  throw new UsageError(`unknown choice ${name}. Choices: ${names.join(', ')}. ${suggestion}`.trim())
}

/**
 * Checks the folder of a new project: a relative path is below the current folder, and its name is valid for shells, file
 * systems and npm.
 *
 * @throws {UsageError}
 */
function checkProjectName(name: string, cwd: string): void {
  const folder = resolve(cwd, name)
  if (!isAbsolute(name) && relative(cwd, folder).startsWith('..'))
    throw new UsageError(
      `${name} is outside of this folder. Change to its folder first, or write the absolute path.`,
    )
  const last = basename(folder)
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(last))
    throw new UsageError(
      `"${last}" cannot name a project. Use letters, digits, spaces, dots, - and _, and begin with a letter or digit.`,
    )
  const packageName = toPackageName(last)
  if (reservedNames.has(packageName))
    throw new UsageError(
      `a project cannot be called ${packageName}, because npm could not install its packages.`,
    )
}

/** Names that npm refuses, and the names of this package, because a package cannot depend on itself. */
const reservedNames: ReadonlySet<string> = new Set([
  ...['node_modules', 'favicon.ico', 'filigree', 'create-filigree'],
  ...builtinModules,
])

/** @throws {UsageError} the path is a file or a folder that is not empty */
async function checkFolderIsEmpty(folder: string, name: string): Promise<void> {
  try {
    const entries = await readdir(folder)
    if (entries.length === 0) return
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return
    if (code !== 'ENOTDIR') throw error
    throw new UsageError(`${name} is a file. Name a new folder.`)
  }
  throw new UsageError(`${name} is not empty. Name a new or an empty folder.`)
}

type Prompt = Terminal['prompt']

async function choose(label: string, choices: readonly Choice[], prompt: Prompt): Promise<Choice> {
  const [first] = choices
  if (first === undefined) throw new Error('The package has no templates.')
  const lines = choices.map(({ name, title }) => `  ${name}: ${title}\n`).join('')
  const answer = (await prompt?.(`${lines}${label} [${first.name}]: `))?.trim() ?? ''
  if (answer === '') return first
  const byPrefix = choices.find(({ name }) => name.startsWith(answer.toLowerCase()))
  return byPrefix ?? findChoice(choices, answer) ?? first
}

async function confirm(label: string, prompt: Prompt): Promise<boolean> {
  return /^y/i.test((await prompt?.(`${label} [y/N]: `))?.trim() ?? '')
}

function nextSteps(manager: PackageManager, installed: boolean): string[] {
  return [...(installed ? [] : [`${manager} install`]), `${manager} run dev`, `${manager} run test`]
}

interface CreatedProject {
  readonly installed: boolean
  readonly next: readonly string[]
}

function toText({ next }: CreatedProject, folder: string): string {
  const lines = [...(folder === '' ? [] : [`cd ${folder}`]), ...next].map((line) => `  ${line}\n`)
  return `${folder === '' ? 'The project' : folder} is created. Next:\n${lines.join('')}README.md describes the five steps after that.\n`
}

// Templates.

/** A template that can be chosen for a part of the project. */
interface Choice {
  readonly name: string
  /** Description for the question. */
  readonly title: string
  readonly isDefault: boolean
  readonly folder: string
  /** Names of packages. Their versions are the ones that filigree is tested with. */
  readonly dependencies: readonly string[]
  readonly devDependencies: readonly string[]
  /** Additions to package.json. */
  readonly package: Readonly<Record<string, object>>
}

interface ProjectParts {
  readonly records: Choice
  readonly tests: Choice
  readonly page: boolean
}

const templates = join(packageFolder, 'templates')

/** @returns the choices of a part, the default first */
export async function readChoices(part: 'records' | 'tests'): Promise<readonly Choice[]> {
  const names = await readdir(join(templates, part))
  const choices = await Promise.all(
    names.map(async (name): Promise<Choice> => {
      const folder = join(templates, part, name)
      const text = await readFile(join(folder, choiceFile), 'utf8')
      const file = JSON.parse(text) as Partial<Choice> & { title: string; default?: boolean }
      return {
        name,
        folder,
        title: file.title,
        isDefault: file.default === true,
        dependencies: file.dependencies ?? [],
        devDependencies: file.devDependencies ?? [],
        package: file.package ?? {},
      }
    }),
  )
  return choices.sort((a, b) => Number(b.isDefault) - Number(a.isDefault))
}

const choiceFile = 'choice.json'

/** @param folder absolute path of an empty folder, which is created if necessary */
async function writeProject(folder: string, parts: ProjectParts): Promise<void> {
  const name = toPackageName(basename(folder))
  await mkdir(folder, { recursive: true })
  const sources = [
    join(templates, 'base'),
    parts.records.folder,
    parts.tests.folder,
    ...(parts.page ? [join(templates, 'page')] : []),
  ]
  for (const source of sources) await copyTemplate(source, folder, name)
  const filigreePackage = await readInstalledPackage()
  const dependency = await copyPackage(await findOrigin(filigreePackage), folder)
  const { devDependencies, peerDependencies } = filigreePackage
  const versions = { ...peerDependencies, ...devDependencies, ...(await readVersions()) }
  const file = toPackageFile(name, dependency, versions, parts)
  const complete = needsDriver(parts) ? withDriver(file, versions) : file
  const text = JSON.stringify(complete, null, 2)
  await writeFile(join(folder, 'package.json'), `${text}\n`)
}

/** Copies a template. Names that begin with `_` get a dot instead, because npm does not pack files such as `.gitignore`. */
async function copyTemplate(source: string, folder: string, name: string): Promise<void> {
  for (const entry of await readdir(source, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || entry.name === choiceFile) continue
    const path = join(entry.parentPath, entry.name)
    const target = join(folder, relative(source, path).replace(/(^|[\\/])_/g, '$1.'))
    await mkdir(dirname(target), { recursive: true })
    const text = await readFile(path, 'utf8')
    await writeFile(target, text.replaceAll('{{name}}', name))
  }
}

/** Copies a local tarball into the project, so that other machines can install it. @returns the dependency's version */
async function copyPackage(origin: PackageOrigin, folder: string): Promise<string> {
  if (origin.from === 'registry') return origin.version
  if (origin.from === 'folder') return `file:${toPosix(relative(folder, origin.path))}`
  const file = `vendor/${basename(origin.path)}`
  await mkdir(join(folder, 'vendor'), { recursive: true })
  await copyFile(origin.path, join(folder, file))
  return `file:${file}`
}

/** The versions of packages for projects that Filigree itself does not install. */
export async function readVersions(): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(join(templates, 'versions.json'), 'utf8')
  return JSON.parse(text) as Record<string, string>
}

interface ProjectPackage {
  readonly allowScripts?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

/** @param versions of the packages that filigree is tested with */
function toPackageFile(
  name: string,
  filigree: string,
  versions: Readonly<Record<string, string>>,
  { records, tests }: ProjectParts,
): ProjectPackage {
  const added = [records, tests]
  const versionOf = (one: string): string => versions[one] ?? '*'
  const versionsOf = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries([...names].sort().map((one) => [one, versionOf(one)]))
  const { scripts, ...packageFields } = merge(added.map((choice) => choice.package))
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    scripts: {
      dev: 'filigree dev',
      ...scripts,
      types: 'tsc',
      build: 'tsc -p tsconfig.build.json && filigree migrate build',
      start: 'node dist/main.js',
    },
    ...packageFields,
    dependencies: { filigree, ...versionsOf(records.dependencies) },
    devDependencies: {
      ...versionsOf([
        ...['@types/node', 'tsx'],
        ...added.flatMap(({ devDependencies }) => devDependencies),
      ]),
      // Client generators such as openapi-typescript require this version.
      typescript: versionOf('typescript'),
    },
  }
}

/**
 * Adds SQLite for a Node that has none. It is optional, because the project may be installed on a newer Node, which does not
 * need it and cannot always compile it.
 */
function withDriver(file: ProjectPackage, versions: Readonly<Record<string, string>>): object {
  return {
    ...file,
    optionalDependencies: { [driver]: versions[driver] ?? '*' },
    allowScripts: { ...file.allowScripts, [driver]: true },
  }
}

function merge(parts: readonly Readonly<Record<string, object>>[]): Record<string, object> {
  const merged: Record<string, object> = {}
  for (const [key, value] of parts.flatMap((part) => Object.entries(part)))
    merged[key] = { ...merged[key], ...value }
  return merged
}

/** @returns the name in package.json: `My Desk` becomes `my-desk` */
function toPackageName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[._-]+|-+$/g, '')
  return name === '' ? 'app' : name
}
