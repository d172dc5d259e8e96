/** `filigree types`: writes the routes of an application as TypeScript types for its client. */
import { existsSync, statSync } from 'node:fs'
import { readFile, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Class } from '../../metadata/class-metadata.js'
import { isOfPackage } from '../../bootstrap/module.js'
import { planApplication } from '../../bootstrap/plan-application.js'
import type { PlannedRoute } from '../../serving/served-route.js'
import { reachable } from '../../routing/route.js'
import { loadApplication } from '../load-application.js'
import { readArguments, type Command, exitCodes, UsageError, type Terminal } from '../command.js'
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
 * Follows the static imports of a file, breadth first, and searches each module's exports for the given classes. The
 * modules are already loaded, so no code runs again. Dynamic imports are not followed, because loading them could have effects.
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
  const files = new Set([entry])
  // The set grows during the loop.
  for (const file of files) {
    if (missing.size === 0) return locations
    takeExports(await load(file), { from: file, isPackage: false }, missing, locations)
    for (const specifier of staticImports(await readFile(file, 'utf8'))) {
      const next = resolveFile(specifier, file)
      if (next !== undefined) files.add(next)
      else if (/^[^./#]/.test(specifier) && !specifier.startsWith('node:')) {
        packages.set(specifier, file)
      }
    }
  }
  for (const [specifier, importer] of packages) {
    if ([...required].every((type) => !missing.has(type))) return locations
    const file = resolveBare(specifier, importer)
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

/**
 * `import … from 'x'`, `import 'x'` and `export … from 'x'` at the beginning of a line or, in minified code, of a
 * statement, so that comments do not match. Imports of types do not count.
 */
const statement =
  /(?:^|[;}])[ \t]*(?:import|export)\b(?!\s+type\b)(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm

function staticImports(text: string): string[] {
  return [...text.matchAll(statement)].flatMap((match) => match[2] ?? [])
}

/** @returns `undefined` for packages, files without code, and missing files */
function resolveFile(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('#')) return resolveBare(specifier, importer)
  if (!/^\.\.?\//.test(specifier)) return undefined
  const path = join(dirname(importer), specifier)
  return candidates(path).find((file) => isCode.test(file) && isFile(file))
}

const isCode = /\.[cm]?[jt]sx?$/

/** Sources import each other by the names of the built files, or without an ending. */
function candidates(path: string): string[] {
  const source = path.replace(/\.([cm]?)js(x?)$/, '.$1ts$2')
  const bare = ['.ts', '.tsx', '.js', '/index.ts', '/index.js'].map((end) => path + end)
  return [path, source, path.replace(/\.js$/, '.tsx'), ...bare]
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}

function resolveBare(specifier: string, importer: string): string | undefined {
  try {
    const file = createRequire(importer).resolve(specifier)
    return isCode.test(file) ? file : undefined
  } catch {
    // Modules that only the build tools know (an alias, say) cannot be imported by the types.
    return undefined
  }
}

const usage = `filigree types [module.js] [--out routes.d.ts] [--source src --built dist] [--tanstack] [--check]
  Writes the routes of an application as an interface for createClient<Routes>(); nothing is started.
  module.js         as for filigree openapi; the controllers of its application are exported
  --out file        where to, and what the imports in it are relative to; default: standard output
  --source, --built what lies in the folder --built is imported from where its source lies in --source;
                    default: the built files, which need their declarations beside them
  --tanstack        adds createQueries(client), options for TanStack Query; --out then names a .ts file
  --check           writes nothing, and exits with 1 where the file is not what would be written`

export const typesCommand: Command = {
  usage,
  summary: "the routes' types, for its client",
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const commandOptions = toArguments(args)
  const { module, options, path } = await loadApplication(commandOptions.path, terminal)
  // Clients have the prefix in their baseUrl.
  const planOptions = { ...options, basePath: '', logger: false as const }
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
  const { values, positionals } = readArguments(args, {
    out: 'text',
    source: 'text',
    built: 'text',
    tanstack: 'switch',
    check: 'switch',
  })
  const { out, source, built, tanstack, check } = values
  if (check && out === undefined) throw new UsageError('--check needs --out, the file to compare.')
  if ((source === undefined) !== (built === undefined)) {
    throw new UsageError('--source and --built go together: --source src --built dist.')
  }
  if (tanstack && out?.endsWith('.d.ts') === true) {
    throw new UsageError('--tanstack writes code: name a .ts file, --out queries.ts.')
  }
  return { path: positionals[0], out, source, built, tanstack, check }
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

function toText({ routes, locations: places, path, options: given, cwd }: RoutesText): string {
  const folder = given.out === undefined ? cwd : dirname(resolve(cwd, given.out))
  const imports = new Map<Class, NamedImport>()
  for (const [type, { from, isPackage, name }] of places) {
    const file = isPackage ? from : toSpecifier(folder, toSource(from, given, cwd))
    imports.set(type, { from: file, name })
  }
  const { tanstack } = given
  return writeRoutesFile({ command: toCommand(path, given, cwd), routes, imports, tanstack })
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

function toPosix(path: string): string {
  return path.split(sep).join('/')
}

async function check(text: string, out: string, terminal: Terminal): Promise<number> {
  const before = await readFile(resolve(terminal.cwd, out), 'utf8').catch(() => undefined)
  // Git can change line endings.
  if (before?.replaceAll('\r\n', '\n') === text) return exitCodes.done
  const state = before === undefined ? 'does not exist' : 'is out of date'
  await terminal.err(`filigree types: ${out} ${state}. Run the command without --check.\n`)
  return exitCodes.failed
}
