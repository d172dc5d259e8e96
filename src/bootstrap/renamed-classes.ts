/**
 * Finds classes that a bundler has renamed. Tables, components, GraphQL types and stored jobs are named after classes, so a
 * bundle without the original names changes the database and the API. Sources: the manuals of esbuild (keep names) and Terser.
 */
import type { Problem } from '../errors/declaration-error.js'
import { shapeOf } from '../fields/shape.js'
import type { Class } from '../metadata/class.js'
import type { PlannedRoute } from '../serving/planned-route.js'

interface NamedClasses {
  /** Providers, controllers and interceptors. */
  readonly classes: readonly Class[]
  readonly records: readonly Class[]
  readonly routes: readonly PlannedRoute[]
}

/** Names in a message. */
const maxNames = 5

/** @returns one warning, or none */
export function findRenamedClasses(named: NamedClasses): Problem[] {
  const all = [...collectClasses(named)]
  const names = new Set(all.map(({ name }) => name))
  const areNamesKept = all.some(isKept) || isTypeScriptProgram()
  const renamed = all
    .filter((type) => isRenamedSelf(type) || (!areNamesKept && isRenamedSecond(type, names)))
    .map((type) => `${type.name} (${originalName(type.name)})`)
  if (renamed.length === 0) return []
  const more = renamed.length > maxNames ? ` and ${renamed.length - maxNames} more` : ''
  const list = [...new Set(renamed)].slice(0, maxNames).join(', ')
  return [
    {
      code: 'CLASS_RENAMED',
      message: `A bundler has renamed classes: ${list}${more}. Tables, types and jobs have these names too.`,
      remedy:
        'Set keepNames: true in esbuild, tsup and Vite, or keep_classnames: true in Terser and SWC.',
    },
  ]
}

function collectClasses({ classes, records, routes }: NamedClasses): Set<Class> {
  const declared = routes.flatMap(({ classes: { body, query, returns } }) =>
    [body, query, ...returns.values()].flatMap((input) =>
      input === undefined ? [] : [input.type],
    ),
  )
  const shapes = new Set([...records, ...declared])
  for (const type of shapes)
    for (const { nested } of shapeOf(type).fields) if (nested !== undefined) shapes.add(nested())
  return new Set([...classes, ...shapes])
}

/** `_Tree` is esbuild's name of a class `Tree` that refers to itself. */
function isRenamedSelf(type: Class): boolean {
  return /^_[A-Z]/.test(type.name) && sourceOf(type).startsWith(`class ${type.name}`)
}

/**
 * `Item2` is esbuild's name of the second class `Item` of a bundle: `let Item2 = class { … }`. People use such names too,
 * but then the source has the name, or other classes show that the names are kept.
 */
function isRenamedSecond(type: Class, names: ReadonlySet<string>): boolean {
  const { name } = type
  if (!/[A-Za-z]\d+$/.test(name) || !names.has(originalName(name))) return false
  return /^class\s*(?:extends\b|\{)/.test(sourceOf(type))
}

/** A program that tsx or Node runs from its sources is not bundled, so no two of its names collide. */
function isTypeScriptProgram(): boolean {
  return /\.[cm]?tsx?$/.test(process.argv[1] ?? '')
}

function originalName(name: string): string {
  return name.startsWith('_') ? name.slice(1) : name.replace(/\d+$/, '')
}

/** True if a bundler has added code that sets the original name: `static { __name(this, "Item") }`. */
function isKept(type: Class): boolean {
  return /^class[^{]*\{\s*static\s*\{\s*[\w$]+\(this,/.test(sourceOf(type))
}

function sourceOf(type: Class): string {
  return Function.prototype.toString.call(type)
}
