/** `filigree types`: writes the routes of an application as TypeScript types for its client. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Class } from '../../metadata/class-metadata.js'
import { isOfPackage } from '../../bootstrap/module.js'
import { planApplication } from '../../bootstrap/plan-application.js'
import type { PlannedRoute } from '../../serving/served-route.js'
import { reachable } from '../../routing/route.js'
import { loadApplication } from '../load-application.js'
import {
  type Command,
  exitCodes,
  moduleOption,
  readArguments,
  readModuleArgument,
  type Terminal,
  UsageError,
} from '../command.js'
import { toPosix } from '../package-files.js'
import { importedFiles, resolvePackage } from '../source-files.js'
import { referredClasses } from './route-types.js'
import { writeRoutesFile, type NamedImport } from './routes-file.js'

/** The module and the name that a class can be imported from. */
interface ExportLocation {
  /** The absolute path of a file, or the name of a package. */
  readonly from: string
  readonly isPackage: boolean
  /** The name of the export, or `default`. It can differ from the name of the class. */
  readonly name: string
}

/**
 * Searches the exports of a file and of its imports for classes. The modules are already loaded, so no code runs again.
 *
 * @param entry absolute path of a built module, or of a source file if a loader compiles sources
 * @param required classes that are also searched in packages, if no file of the application exports them
 * @returns no entry for a class that no module exports
 */
async function findExports(
  entry: string,
  required: ReadonlySet<Class>,
  optional: ReadonlySet<Class>,
): Promise<ReadonlyMap<Class, ExportLocation>> {
  const locations = new Map<Class, ExportLocation>()
  const missing = new Set<unknown>([...required, ...optional])
  const packages = new Map<string, string>()
  for (const file of importedFiles(entry, packages)) {
    if (missing.size === 0) return locations
    takeExports(await load(file), { from: file, isPackage: false }, missing, locations)
  }
  for (const [specifier, importer] of packages) {
    if ([...required].every((type) => !missing.has(type))) return locations
    const file = resolvePackage(specifier, importer)
    if (file === undefined) continue
    takeExports(await load(file), { from: specifier, isPackage: true }, missing, locations)
  }
  return locations
}

async function load(file: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>
}

function takeExports(
  exported: Record<string, unknown>,
  location: Omit<ExportLocation, 'name'>,
  missing: Set<unknown>,
  locations: Map<Class, ExportLocation>,
): void {
  for (const [name, value] of Object.entries(exported)) {
    // `export { A as 'an a' }`: names that the generated types could not import.
    if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) continue
    if (missing.delete(value)) locations.set(value as Class, { ...location, name })
  }
}

const flags = {
  out: {
    type: 'string',
    value: '<file>',
    help: 'the file to write. Its imports are relative to it. Default: standard output',
  },
  source: {
    type: 'string',
    value: '<folder>',
    help: 'imports sources of this folder in place of the built files in --built',
  },
  built: {
    type: 'string',
    value: '<folder>',
    help: 'the folder of the built files. Requires --source',
  },
  tanstack: {
    type: 'boolean',
    help: 'adds createQueries(client) with options for TanStack Query. --out must name a .ts file',
  },
  check: {
    type: 'boolean',
    help: 'writes nothing. The exit code is 1 if the file in --out is out of date',
  },
  module: moduleOption,
} as const

export const typesCommand: Command = {
  group: 'Generate',
  usage: 'filigree types [file]',
  summary: 'writes the types of the routes for the client',
  description: `Writes the routes of an application as an interface for createClient<Routes>(). The application is not started. Its
controllers must be exported. Without --source the types refer to the built files, which need declarations.`,
  options: flags,
  examples: [
    'filigree types --out web/routes.d.ts',
    'filigree types dist/main.js --source src --built dist --out web/routes.d.ts --check',
  ],
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const commandOptions = toArguments(args)
  const application = await loadApplication(commandOptions.path, terminal)
  const { module, path } = application
  // Clients have the prefix in their baseUrl.
  const planOptions = { ...application.options, basePath: '', logger: false as const }
  const { routes: all } = await planApplication(module, planOptions)
  // Routes of packages, such as /metrics, are not for clients.
  const routes = reachable(all).filter(({ route }) => !isOfPackage(route.controller))
  const { required, optional } = referredClasses(routes)
  const locations = await findExports(path, new Set(required.keys()), optional)
  const missing = [...required].filter(([type]) => !locations.has(type))
  if (missing.length > 0) {
    await terminal.err(reportMissing(missing, toPosix(relative(terminal.cwd, path))))
    return exitCodes.failed
  }
  const text = toText({
    routes,
    locations,
    path,
    options: commandOptions,
    cwd: terminal.cwd,
  })
  if (commandOptions.out === undefined) {
    await terminal.out(text)
    return exitCodes.done
  }
  if (commandOptions.check) return await check(text, commandOptions.out, terminal)
  const out = resolve(terminal.cwd, commandOptions.out)
  await mkdir(dirname(out), { recursive: true })
  await writeFile(out, text)
  return exitCodes.done
}

interface Arguments {
  readonly path: string | undefined
  readonly out: string | undefined
  readonly source: string | undefined
  readonly built: string | undefined
  readonly tanstack: boolean
  readonly check: boolean
}

function toArguments(args: readonly string[]): Arguments {
  const { values, positionals } = readArguments(args, flags)
  const { out, source, built, tanstack, check } = values
  if (check && out === undefined) throw new UsageError('--check needs --out, the file to compare.')
  if ((source === undefined) !== (built === undefined)) {
    throw new UsageError('--source and --built require each other: --source src --built dist.')
  }
  if (tanstack && out?.endsWith('.d.ts') === true) {
    throw new UsageError('--tanstack writes code. Name a .ts file: --out queries.ts.')
  }
  const path = readModuleArgument(values, positionals)
  return { path, out, source, built, tanstack, check }
}

function reportMissing(missing: readonly [Class, string][], entry: string): string {
  const lines = missing.map(
    ([type, key]) =>
      `  ${key}: class ${type.name || '(without a name)'} is not exported by any module that ${entry} imports. Write "export" before it.\n`,
  )
  const count = missing.length === 1 ? '1 problem' : `${missing.length} problems`
  return `filigree types: ${count}\n${lines.join('')}`
}

interface RoutesText {
  readonly routes: readonly PlannedRoute[]
  readonly locations: ReadonlyMap<Class, ExportLocation>
  readonly path: string
  readonly options: Arguments
  readonly cwd: string
}

function toText({ routes, locations, path, options, cwd }: RoutesText): string {
  const { out, tanstack } = options
  const folder = out === undefined ? cwd : dirname(resolve(cwd, out))
  const imports = new Map<Class, NamedImport>()
  for (const [type, { from, isPackage, name }] of locations) {
    const file = isPackage ? from : toSpecifier(folder, toSource(from, options, cwd))
    imports.set(type, { from: file, name })
  }
  return writeRoutesFile({ command: toCommand(path, options, cwd), routes, imports, tanstack })
}

/** The command line with normalised paths, so that the generated file does not depend on their spelling. */
function toCommand(path: string, { out, source, built, tanstack }: Arguments, cwd: string): string {
  const named = [
    ['', path],
    ['--out ', out],
    ['--source ', source],
    ['--built ', built],
  ] as const
  const parts = named.flatMap(([option, value]) =>
    value === undefined ? [] : [option + toPosix(relative(cwd, resolve(cwd, value)))],
  )
  return ['filigree types', ...parts, ...(tanstack ? ['--tanstack'] : [])].join(' ')
}

function toSource(file: string, { source, built }: Arguments, cwd: string): string {
  if (source === undefined || built === undefined) return file
  const inside = relative(resolve(cwd, built), file)
  const isOutside = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)
  return isOutside ? file : join(resolve(cwd, source), inside)
}

/** @returns a relative import path with the ending of the built file */
function toSpecifier(folder: string, file: string): string {
  const path = toPosix(relative(folder, file)).replace(/\.([cm]?)tsx?$/, '.$1js')
  return path.startsWith('../') ? path : `./${path}`
}

async function check(text: string, out: string, terminal: Terminal): Promise<number> {
  const before = await readFile(resolve(terminal.cwd, out), 'utf8').catch(() => undefined)
  // Git can change line endings.
  if (before?.replaceAll('\r\n', '\n') === text) return exitCodes.done
  const state = before === undefined ? 'does not exist' : 'is out of date'
  await terminal.err(`filigree types: ${out} ${state}. Run the command without --check.\n`)
  return exitCodes.failed
}
