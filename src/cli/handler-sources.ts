/**
 * Compares the sources of handlers with their routes, for programs whose compiler emits no types (tsx, esbuild, standard
 * decorators). Only types that are certain from the text are compared.
 */
import type { ApplicationPlan } from '../bootstrap/plan-application.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Class } from '../metadata/class.js'
import { findArgumentProblems, type ArgumentType } from '../serving/argument-types.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { SourceIndex } from './problem-location.js'

export function findHandlerMistakes(
  { routes, records }: Pick<ApplicationPlan, 'routes' | 'records'>,
  index: SourceIndex,
): Problem[] {
  const known = classesByName([...records, ...routes.flatMap(classesOf)])
  const typeOf = (text: string): ArgumentType => toType(text, known, index)
  return routes.flatMap(({ route, classes, ofPackage }) => {
    const text = ofPackage ? undefined : index.memberText(route.controller.name, route.member)
    const parameters = text === undefined ? undefined : readParameters(text, route.member)
    // Otherwise a decorator or a base class has another function, or `args` names them.
    const names = parameters?.map(({ name }) => name)
    if (names?.join() !== route.argumentNames.join()) return []
    return findArgumentProblems(
      route,
      classes,
      (parameters ?? []).map(({ type }) => typeOf(type)),
    )
  })
}

function classesOf({ classes: { body, query, returns } }: PlannedRoute): Class[] {
  return [body, query, ...returns.values()].flatMap((declared) => declared?.type ?? [])
}

/** Undefined for a name of several classes. */
function classesByName(classes: readonly Class[]): ReadonlyMap<string, Class | undefined> {
  const known = new Map<string, Class | undefined>()
  for (const type of new Set(classes)) known.set(type.name, known.has(type.name) ? undefined : type)
  return known
}

function toType(
  text: string,
  known: ReadonlyMap<string, Class | undefined>,
  index: SourceIndex,
): ArgumentType {
  if (text === 'string' || text === 'number' || text === 'boolean') return text
  if (/^(?:readonly\s+)?[\w$]+\[\]$/.test(text)) return 'list'
  if (!/^[A-Z][\w$]*$/.test(text)) return undefined
  if (known.has(text)) return known.get(text)
  const source = index.classText(text)
  return source === undefined ? undefined : { name: text, fields: readRequiredFields(source) }
}

/** The names of properties with `@Field` that are always present: `@Field('string') title!: string`. */
function readRequiredFields(source: string): string[] {
  const property =
    /@Field\((?:[^()]|\([^()]*\))*\)\s*(?:(?:public|readonly|override)\s+)*([\w$]+)!:/g
  return [...source.matchAll(property)].flatMap(([, name]) => name ?? [])
}

interface WrittenParameter {
  readonly name: string
  /** Empty if it is not written. */
  readonly type: string
}

/** @returns undefined for generic methods, and for parameters that are destructured */
function readParameters(text: string, member: string): WrittenParameter[] | undefined {
  const name = member.replaceAll('$', '\\$')
  const opening = new RegExp(`(?:^|[\\s*)])${name}\\(`).exec(text)
  if (opening === null) return undefined
  const parts = splitParameters(text.slice(opening.index + opening[0].length))
  const parameters = parts?.map((part) => {
    const [, parameter, type = ''] = parameterPattern.exec(part.trim()) ?? []
    return parameter === undefined ? undefined : { name: parameter, type: type.trim() }
  })
  return parameters?.every((one) => one !== undefined) === true ? parameters : undefined
}

/** A name, with an optional type and default. */
const parameterPattern = /^([\w$]+)\??\s*(?::\s*([^=]*))?(?:=[^>].*)?$/s

const brackets: Readonly<Record<string, number>> = {
  '(': 1,
  '[': 1,
  '{': 1,
  '<': 1,
  ')': -1,
  ']': -1,
  '}': -1,
  '>': -1,
}

/** @param text after the opening bracket of the parameters */
function splitParameters(text: string): string[] | undefined {
  const parts = ['']
  let depth = 0
  // Comments and texts may contain brackets, and an arrow is not one.
  const tokens = /\/\*.*?\*\/|\/\/[^\n]*|'[^'\n]*'|"[^"\n]*"|`[^`]*`|=>|./gs
  for (const [token] of text.matchAll(tokens)) {
    if (/^\/[/*]/.test(token)) continue
    if (token === ')' && depth === 0)
      return parts.at(-1)?.trim() === '' ? parts.slice(0, -1) : parts
    depth += brackets[token] ?? 0
    if (token === ',' && depth === 0) parts.push('')
    else parts.push(`${parts.pop() ?? ''}${token}`)
  }
  return undefined
}
