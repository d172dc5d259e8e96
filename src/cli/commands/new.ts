/** `filigree new`: creates a project from templates and installs its packages. */

import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { basename, isAbsolute, relative, resolve } from 'node:path'
import { didYouMean } from '../../errors/did-you-mean.js'
import {
  type Command,
  describeTime,
  exitCodes,
  readArguments,
  type Terminal,
  toJson,
  UsageError,
} from '../command.js'
import {
  readChoices,
  toPackageName,
  writeProject,
  type Choice,
  type ProjectParts,
} from './project-template.js'

const managers = ['npm', 'pnpm', 'yarn', 'bun'] as const
type PackageManager = (typeof managers)[number]

/** @returns the package manager that runs the command, or npm if it is unknown */
function findManager(agent = process.env.npm_config_user_agent): PackageManager {
  const name = agent?.split('/')[0]
  return managers.find((one) => one === name) ?? 'npm'
}

/** Without a network npm would retry for minutes. */
const networkOptions = [
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=500',
  '--fetch-timeout=60000',
]

/** Installs the packages, with output on standard error. @returns true if it succeeded */
function installPackages(manager: PackageManager, cwd: string): Promise<boolean> {
  const options =
    manager === 'npm' ? ['--no-audit', '--no-fund', '--prefer-offline', ...networkOptions] : []
  return new Promise((resolve) => {
    const child = spawn(manager, ['install', ...options], {
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

const flags = {
  records: {
    type: 'string',
    value: '<database>',
    help: 'sqlite or postgres. Default: sqlite',
    choices: ['sqlite', 'postgres'],
  },
  tests: {
    type: 'string',
    value: '<runner>',
    help: 'node, vitest or jest. Default: node',
    choices: ['node', 'vitest', 'jest'],
  },
  page: { type: 'boolean', help: 'adds a page that uses the browser client' },
  yes: { type: 'boolean', help: 'uses the defaults without asking, as without a terminal' },
  'no-install': { type: 'boolean', help: 'writes the files only' },
  json: { type: 'boolean', help: 'prints { folder, records, tests, page, installed, next }' },
} as const

export const newCommand: Command = {
  group: 'Develop',
  usage: 'filigree new <folder>',
  summary: 'creates a project that runs',
  description: `Creates a project with two records, routes, a sign-in, an admin page, tests, a migration, a Dockerfile, and a README with the next
steps. It installs the package that the command was run from. A folder that is not empty is not changed. "npm create filigree
<folder>" does the same.`,
  options: flags,
  examples: ['filigree new desk', 'filigree new desk --records postgres --tests vitest --page'],
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags)
  const prompt = values.yes ? undefined : terminal.prompt
  const records = await readChoices('records')
  const tests = await readChoices('tests')
  // Wrong choices are reported before the first question.
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
  const installed = !values['no-install'] && (await installWithProgress(manager, folder, terminal))
  const result = { folder, ...namesOf(parts), installed, next: nextSteps(manager, installed) }
  const relativeFolder = relative(terminal.cwd, folder)
  await terminal.out(values.json ? toJson(result) : toText(result, relativeFolder))
  return exitCodes.done
}

async function installWithProgress(
  manager: PackageManager,
  folder: string,
  { err, progress }: Terminal,
): Promise<boolean> {
  progress?.(`Installing packages with ${manager} …`)
  const start = performance.now()
  const installed = await installPackages(manager, folder)
  if (installed) progress?.(`Installed in ${describeTime(performance.now() - start)}.`)
  else await err('The packages could not be installed. The files of the project are complete.\n')
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

async function choose(
  question: string,
  choices: readonly Choice[],
  prompt: Prompt,
): Promise<Choice> {
  const [first] = choices
  if (first === undefined) throw new Error('The package has no templates.')
  const lines = choices.map(({ name, title }) => `  ${name}: ${title}\n`).join('')
  const answer = (await prompt?.(`${lines}${question} [${first.name}]: `))?.trim() ?? ''
  if (answer === '') return first
  const byPrefix = choices.find(({ name }) => name.startsWith(answer.toLowerCase()))
  return byPrefix ?? findChoice(choices, answer) ?? first
}

async function confirm(question: string, prompt: Prompt): Promise<boolean> {
  return /^y/i.test((await prompt?.(`${question} [y/N]: `))?.trim() ?? '')
}

function nextSteps(manager: PackageManager, installed: boolean): string[] {
  return [...(installed ? [] : [`${manager} install`]), `${manager} run dev`, `${manager} run test`]
}

interface Result {
  readonly installed: boolean
  readonly next: readonly string[]
}

function toText({ next }: Result, folder: string): string {
  const lines = [...(folder === '' ? [] : [`cd ${folder}`]), ...next].map((line) => `  ${line}\n`)
  return `${folder === '' ? 'The project' : folder} is created. Next:\n${lines.join('')}README.md describes the five steps after that.\n`
}
