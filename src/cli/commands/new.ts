/** `filigree new`: creates a project from templates and installs its packages. */

import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { builtinModules } from 'node:module'
import { basename, isAbsolute, relative, resolve } from 'node:path'
import { didYouMean } from '../../errors/did-you-mean.js'
import { type Command, exitCodes, UsageError, type Terminal, readArguments } from '../command.js'
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

const usage = `filigree new <folder> [--records <choice>] [--tests <choice>] [--page] [--yes] [--no-install] [--json]
  Makes a project: two records, routes, a login, tests, a migration, a Dockerfile, and a README with the next steps.
  Installs the very package that the command was run from. A folder that is not empty is left as it is.
  --records name    the database; a wrong name lists them
  --tests name      what runs the tests; a wrong name lists them
  --page            with a page that uses the browser client
  --yes             asks nothing; without a terminal nothing is asked either
  --no-install      only writes the files
  --json            { folder, records, tests, page, installed, next } on standard output
  npm create filigree <folder> is the same`

export const newCommand: Command = { usage, summary: 'a project that runs', run }

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const kinds = {
    ...({ records: 'text', tests: 'text', page: 'switch' } as const),
    ...({ yes: 'switch', 'no-install': 'switch', json: 'switch' } as const),
  }
  const { values, positionals } = readArguments(args, kinds)
  const prompt = values.yes ? undefined : terminal.prompt
  const records = await readChoices('records')
  const tests = await readChoices('tests')
  // Wrong choices are reported before the first question.
  const chosen = {
    records: findChoice(records, values.records),
    tests: findChoice(tests, values.tests),
  }
  const name = positionals[0] ?? (await prompt?.('Folder of the project: '))?.trim() ?? ''
  if (name === '') throw new UsageError('name the folder: filigree new desk.')
  checkProjectName(name, terminal.cwd)
  const folder = resolve(terminal.cwd, name)
  await checkFolderIsEmpty(folder, name)
  const parts: ProjectParts = {
    records: chosen.records ?? (await choose('Records in', records, prompt)),
    tests: chosen.tests ?? (await choose('Tests by', tests, prompt)),
    page: values.page || (await confirm('With a page for browsers?', prompt)),
  }
  await writeProject(folder, parts)
  const manager = findManager()
  const installed = !values['no-install'] && (await installPackages(manager, folder))
  const result = { folder, ...namesOf(parts), installed, next: nextSteps(manager, installed) }
  const relativeFolder = relative(terminal.cwd, folder)
  const text = values.json ? `${JSON.stringify(result, null, 2)}\n` : toText(result, relativeFolder)
  if (!installed && !values['no-install'])
    await terminal.err(`The packages could not be installed; the project is there all the same.\n`)
  await terminal.out(text)
  return exitCodes.done
}

function namesOf({ records, tests, page }: ProjectParts): object {
  return { records: records.name, tests: tests.name, page }
}

function findChoice(choices: readonly Choice[], name: string | undefined): Choice | undefined {
  if (name === undefined) return undefined
  const choice = choices.find((one) => one.name === name)
  if (choice !== undefined) return choice
  const names = choices.map((one) => one.name)
  const near = didYouMean(name, names)
  throw new UsageError(`${name} is none of ${names.join(', ')}. ${near}`.trim())
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
      `${name} is outside of this folder. Go there first, or give the whole path.`,
    )
  const last = basename(folder)
  if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(last))
    throw new UsageError(
      `"${last}" cannot name a project. Use letters, digits, spaces, dots, - and _, and begin with a letter or digit.`,
    )
  const packageName = toPackageName(last)
  if (reservedNames.has(packageName))
    throw new UsageError(
      `A project cannot be called ${packageName}: npm could not install its packages.`,
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
    throw new UsageError(`${name} is a file. Name a folder that is not there yet.`)
  }
  throw new UsageError(`${name} is not empty. Name a folder that is not there yet, or is empty.`)
}

type Prompt = Terminal['prompt']

async function choose(
  question: string,
  choices: readonly Choice[],
  prompt: Prompt,
): Promise<Choice> {
  const [first] = choices
  if (first === undefined) throw new Error('There are no templates beside the command.')
  const lines = choices.map(({ name, title }) => `  ${name}: ${title}\n`).join('')
  const answer = (await prompt?.(`${lines}${question} [${first.name}]: `))?.trim() ?? ''
  if (answer === '') return first
  const near = choices.find(({ name }) => name.startsWith(answer.toLowerCase()))
  return near ?? findChoice(choices, answer) ?? first
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
  return `${folder === '' ? 'The project' : folder} is there. Next:\n${lines.join('')}README.md has the five steps after that.\n`
}
