/** Looks at what an application stands on: Node.js, the compiler and its options, tsx. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Finding } from './findings.js'
import { readOwnPackage } from './own-package.js'

/** @param cwd the folder of the project */
export async function examineSetup(cwd: string): Promise<Finding[]> {
  const require = createRequire(join(cwd, 'package.json'))
  return [examineNode((await readOwnPackage()).engines.node), ...examineCompiler(cwd, require)]
}

function examineNode(wanted: string): Finding {
  const version = process.versions.node
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = wanted.replace(/^\D+/, '').split('.').map(Number)
  const fits = major > leastMajor || (major === leastMajor && minor >= leastMinor)
  if (fits) return { about: 'Node.js', state: 'ok', what: version }
  const what = `${version} is older than ${wanted.replace(/^\D+/, '')}`
  return { about: 'Node.js', state: 'fault', what, remedy: 'Install a newer Node.js.' }
}

/** The part of the compiler's interface that is used; TypeScript 7 has none. */
interface Compiler {
  readonly version: string
  readonly sys?: object
  readFile?: unknown
  readConfigFile?(path: string, read: unknown): { config?: unknown; error?: unknown }
  parseJsonConfigFileContent?(
    config: unknown,
    host: unknown,
    folder: string,
  ): { readonly options: Readonly<Record<string, unknown>> }
}

function examineCompiler(cwd: string, require: NodeJS.Require): Finding[] {
  const file = join(cwd, 'tsconfig.json')
  if (!existsSync(file)) return []
  let compiler: Compiler
  try {
    compiler = require('typescript') as Compiler
  } catch {
    const remedy = 'Install it: npm install --save-dev typescript@6.'
    return [{ about: 'TypeScript', state: 'note', what: 'is not installed', remedy }]
  }
  const { version, sys } = compiler
  const found: Finding[] = [{ about: 'TypeScript', state: 'ok', what: version }]
  const read = compiler.readConfigFile?.(
    file,
    (sys as { readFile?: unknown } | undefined)?.readFile,
  )
  const parsed =
    read?.config === undefined
      ? undefined
      : compiler.parseJsonConfigFileContent?.(read.config, sys, cwd)
  const options = parsed?.options ?? askCompiler(cwd, require)
  if (options === undefined) {
    const what = 'tsconfig.json cannot be read by this compiler'
    return [...found, { about: 'compiler options', state: 'note', what }]
  }
  return [...found, ...examineOptions(options)]
}

/** Of a compiler without an interface, which TypeScript 7 is. */
function askCompiler(
  cwd: string,
  require: NodeJS.Require,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const file = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
    const { stdout } = spawnSync(process.execPath, [file, '--showConfig'], {
      ...{ cwd, encoding: 'utf8', timeout: 20_000 },
    })
    const { compilerOptions } = JSON.parse(stdout) as { compilerOptions?: object }
    return compilerOptions as Readonly<Record<string, unknown>> | undefined
  } catch {
    return undefined
  }
}

function examineOptions(options: Readonly<Record<string, unknown>>): Finding[] {
  const { experimentalDecorators, emitDecoratorMetadata, strict } = options
  const found: Finding[] = []
  const note = (what: string, remedy: string): void => {
    found.push({ about: 'compiler options', state: 'note', what, remedy })
  }
  if (experimentalDecorators !== true)
    note(
      'experimentalDecorators is off: decorators are the standard ones, which emit no types',
      'Write kinds, body and static inject everywhere, or switch it on.',
    )
  if (emitDecoratorMetadata === true)
    note(
      'emitDecoratorMetadata is on, which tsx and esbuild leave out',
      'Where they compile, write { body: Class } and static inject.',
    )
  if (strict !== true) note('strict is off', 'Switch it on: the types of records rely on it.')
  if (found.length > 0) return found
  return [{ about: 'compiler options', state: 'ok', what: 'decorators and strict are on' }]
}
