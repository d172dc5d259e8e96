/** `filigree types`: writes the routes of an application as TypeScript types for its client. */
import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Class } from '../../metadata/class.js'
import { isOfPackage } from '../../bootstrap/module.js'
import type { PlannedRoute } from '../../serving/planned-route.js'
import { reachable } from '../../routing/route.js'
import { loadPlan, type LoadedApplication } from '../load-application.js'
import {
  defineCommand,
  flag,
  moduleFileOf,
  moduleOption,
  option,
  type Terminal,
  UsageError,
} from '../command.js'
import { countOf, writeOutput } from '../output.js'
import { toPosix, importedFiles, resolvePackage } from '../project-files.js'
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
 * @param entry the loaded file, a built module, or a source file if a loader compiles sources
 * @param required classes that are also searched in packages, if no file of the application exports them
 * @returns no entry for a class that no module exports
 */
async function findExports(
  entry: Pick<LoadedApplication, 'path' | 'exports'>,
  required: ReadonlySet<Class>,
  optional: ReadonlySet<Class>,
): Promise<ReadonlyMap<Class, ExportLocation>> {
  const locations = new Map<Class, ExportLocation>()
  const missing = new Set<unknown>([...required, ...optional])
  const packages = new Map<string, string>()
  for (const file of importedFiles(entry.path, packages)) {
    if (missing.size === 0) return locations
    // To import a file again that waits for its call of `bootstrap` would wait for ever.
    const exported = file === entry.path ? (entry.exports ?? {}) : await load(file)
    takeExports(exported, { from: file, isPackage: false }, missing, locations)
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
  exported: Readonly<Record<string, unknown>>,
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

export const typesCommand = defineCommand({
  group: 'Generate',
  usage: 'filigree types [file]',
  summary: 'writes the types of the routes for the client',
  description: `Writes the routes of an application as an interface for createClient<Routes>(). The application is not started. Its
controllers must be exported. Without --source the types refer to the built files, which need declarations.`,
  options: {
    out: option(
      '<file>',
      'the file to write. Its imports are relative to it. Default: standard output',
    ),
    source: option(
      '<folder>',
      'imports sources of this folder in place of the built files in --built',
    ),
    built: option('<folder>', 'the folder of the built files. Requires --source'),
    tanstack: flag(
      'adds createQueries(client) with options for TanStack Query. --out must name a .ts file',
    ),
    check: flag('writes nothing. The exit code is 1 if the file in --out is out of date'),
    module: moduleOption,
  },
  examples: [
    'filigree types --out web/routes.d.ts',
    'filigree types --source src --built dist --out web/routes.d.ts --check',
  ],
  run: async (args, terminal) => {
    const { cwd } = terminal
    const { out, check, source, built, tanstack } = args.values
    if (check && out === undefined)
      throw new UsageError('--check needs --out, the file to compare.')
    if ((source === undefined) !== (built === undefined))
      throw new UsageError('--source and --built require each other: --source src --built dist.')
    if (tanstack && out?.endsWith('.d.ts') === true)
      throw new UsageError('--tanstack writes code. Name a .ts file: --out queries.ts.')
    // Clients have the prefix in their baseUrl.
    const loaded = await loadPlan(moduleFileOf(args), terminal, { basePath: '' })
    const { plan, path } = loaded
    // Routes of packages, such as /metrics, are not for clients.
    const routes = reachable(plan.routes).filter(({ route }) => !isOfPackage(route.controller))
    const { required, optional } = referredClasses(routes)
    const locations = await findExports(loaded, new Set(required.keys()), optional)
    const missing = [...required].filter(([type]) => !locations.has(type))
    if (missing.length > 0) {
      await terminal.err(reportMissing(missing, toPosix(relative(cwd, path)), loaded.exports))
      return false
    }
    const text = toText({ routes, locations, path, cwd, out, source, built, tanstack })
    if (out === undefined) await terminal.out(text)
    else if (check) return await compare(text, out, terminal)
    else await writeOutput(out, text, terminal)
    return true
  },
})

function reportMissing(
  missing: readonly [Class, string][],
  entry: string,
  exports: LoadedApplication['exports'],
): string {
  const lines = missing.map(
    ([type, key]) =>
      `  ${key}: class ${type.name || '(without a name)'} is not exported by any module that ${entry} imports. Write "export" before it.\n`,
  )
  const hint =
    exports === undefined
      ? `  ${entry} calls bootstrap, so its own exports cannot be read. Move the classes in it to another file.\n`
      : ''
  return `filigree types: ${countOf(missing.length, 'problem')}\n${lines.join('')}${hint}`
}

interface Paths {
  readonly cwd: string
  /** The absolute path of the application's file. */
  readonly path: string
  readonly out: string | undefined
  readonly source: string | undefined
  readonly built: string | undefined
  readonly tanstack: boolean
}

interface RoutesText extends Paths {
  readonly routes: readonly PlannedRoute[]
  readonly locations: ReadonlyMap<Class, ExportLocation>
}

function toText({ routes, locations, ...paths }: RoutesText): string {
  const { cwd, out, tanstack } = paths
  const folder = out === undefined ? cwd : dirname(resolve(cwd, out))
  const imports = new Map<Class, NamedImport>()
  for (const [type, { from, isPackage, name }] of locations) {
    const file = isPackage ? from : toSpecifier(folder, toSource(from, paths))
    imports.set(type, { from: file, name })
  }
  return writeRoutesFile({ command: toCommand(paths), routes, imports, tanstack })
}

/** The command line with normalised paths, so that the generated file does not depend on their spelling. */
function toCommand({ cwd, path, out, source, built, tanstack }: Paths): string {
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

function toSource(file: string, { cwd, source, built }: Paths): string {
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

/** Compares the text with the existing file. */
async function compare(text: string, out: string, terminal: Terminal): Promise<boolean> {
  const before = await readFile(resolve(terminal.cwd, out), 'utf8').catch(() => undefined)
  // Git can change line endings.
  if (before?.replaceAll('\r\n', '\n') === text) {
    await terminal.err(`${out} is up to date.\n`)
    return true
  }
  const state = before === undefined ? 'does not exist' : 'is out of date'
  await terminal.err(`filigree types: ${out} ${state}. Run the command without --check.\n`)
  return false
}
