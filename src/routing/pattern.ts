/**
 * Path patterns, such as `/items/<id:int>` or `/items/{id:int}`, which are equivalent, and the types of their parameters.
 * Source: specification, Route declaration rules; decisions, Routing.
 */

import type { Problems } from '../errors/problems.js'
import { didYouMean } from '../errors/did-you-mean.js'

/** The type of a path parameter: the segments that it matches, and the value for the handler. Source: decisions, Routing. */
export interface PathType {
  readonly name: string
  /** If several types match a segment, the lower rank wins. Static text wins over all of them. */
  readonly rank: number
  /** @returns the value for the handler; `undefined` if the segment is not of the type, so that the route does not match */
  convert(text: string): string | number | undefined
  /** Whether it gets the segment as it was sent, still percent-encoded. */
  readonly isEncoded?: true
  /** Its values as JSON Schema, for documentation. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** `<id:int>`: an optional minus and digits, within ±(2^53 − 1). `-0` is 0. */
const int: PathType = {
  name: 'int',
  rank: 1,
  convert: (text) => {
    const start = text.charCodeAt(0) === minus ? 1 : 0
    if (!isDigits(text, start, text.length)) return undefined
    const value = Number(text)
    return Number.isSafeInteger(value) ? value + 0 : undefined
  },
  schema: { type: 'integer' },
}

/** `<x:float>`: `-?` digits with an optional fraction, or `.5`. No exponent, no `5.`, finite. */
const float: PathType = {
  name: 'float',
  rank: 2,
  convert: (text) => {
    const start = text.charCodeAt(0) === minus ? 1 : 0
    const dot = text.indexOf('.', start)
    const matches =
      dot === -1
        ? isDigits(text, start, text.length)
        : isDigits(text, dot + 1, text.length) && (dot === start || isDigits(text, start, dot))
    if (!matches) return undefined
    const value = Number(text)
    return Number.isFinite(value) ? value + 0 : undefined
  },
  schema: { type: 'number' },
}

/** `<id:uuid>`: the text format of RFC 9562 in either case. The handler gets it in lower case. */
const uuid: PathType = {
  name: 'uuid',
  rank: 3,
  convert: (text) =>
    text.length === 36 && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
      ? text.toLowerCase()
      : undefined,
  schema: { type: 'string', format: 'uuid' },
}

/** `<name:slug>`: ASCII letters, digits, `-` and `_`. */
const slug: PathType = {
  name: 'slug',
  rank: 4,
  convert: (text) => (/^[\w-]+$/.test(text) ? text : undefined),
  schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
}

/**
 * `<id:key>`: the parts of a key between commas, `7,2`. The handler gets the segment as it was sent, because a comma within a
 * part is percent-encoded.
 */
export const keyType: PathType = {
  name: 'key',
  rank: 5,
  convert: (text) => text,
  isEncoded: true,
  schema: { type: 'string' },
}

/** `<name>`: any one segment. */
export const plainType: PathType = {
  name: 'string',
  rank: 6,
  convert: (text) => text,
  schema: { type: 'string' },
}

/** `<rest:path>`: the complete rest of the path, including slashes, at least one character. */
export const restType: PathType = {
  name: 'path',
  rank: 7,
  convert: (text) => text,
  schema: { type: 'string' },
}

/** The types that may follow the colon, by name. */
const pathTypes: ReadonlyMap<string, PathType> = new Map(
  [int, float, restType, uuid, slug].map((type) => [type.name, type]),
)

const minus = 45

function isDigits(text: string, start: number, end: number): boolean {
  if (start >= end) return false
  for (let index = start; index < end; index++) {
    const code = text.charCodeAt(index)
    if (code < 48 || code > 57) return false
  }
  return true
}

export type Segment =
  | { readonly kind: 'static'; readonly text: string }
  | { readonly kind: 'parameter'; readonly name: string; readonly type: PathType }

export interface Pattern {
  /** Canonical: angle brackets, no trailing slash. `/items/<id:int>` */
  readonly text: string
  readonly segments: readonly Segment[]
  /** Names of the parameters from left to right. */
  readonly names: readonly string[]
}

/**
 * @param text begins with `/`. Static text is written decoded (`/café`). A segment is either static or one parameter
 * @param problems receives all mistakes, at the place of the pattern: `GET /items (ItemController.list)`
 * @returns the pattern; `undefined` if it has mistakes
 */
export function parsePattern(text: string, problems: Problems): Pattern | undefined {
  const before = problems.count
  if (!text.startsWith('/')) {
    problems.add({
      code: 'RELATIVE_PATH',
      message: `path "${text}" is relative.`,
      remedy: `Begin it with a slash: "/${text}".`,
    })
    return undefined
  }
  if (/[?#]/.test(text)) {
    problems.add({
      code: 'MALFORMED_PATTERN',
      message: 'a path ends before "?" and "#".',
      remedy: 'Declare query parameters with the `query` option or argument.',
    })
  }
  const segments = splitPattern(text).map((part) => parseSegment(part, problems))
  checkNames(segments, problems)
  checkRest(segments, problems)
  if (problems.count > before) return undefined
  return Object.freeze({
    text: toText(segments),
    segments: Object.freeze(segments),
    names: Object.freeze(
      segments.flatMap((part) => (part.kind === 'parameter' ? [part.name] : [])),
    ),
  })
}

/** Joins the paths of a controller and a route: `/items` and `/` become `/items`. `parsePattern` checks the result. */
export function joinPaths(base: string, path: string): string {
  if (base === '' || base === '/') return path === '' ? '/' : path
  if (path === '' || path === '/') return base
  return `${base.endsWith('/') ? base.slice(0, -1) : base}${path}`
}

function splitPattern(text: string): string[] {
  const trimmed = text.length > 1 && text.endsWith('/') ? text.slice(1, -1) : text.slice(1)
  return trimmed === '' && text === '/' ? [] : trimmed.split('/')
}

const parameter = /^(?:<([^<>{}]*)>|\{([^<>{}]*)\})$/

function parseSegment(part: string, problems: Problems): Segment {
  if (part === '') {
    problems.add({
      code: 'MALFORMED_PATTERN',
      message: 'two slashes in a row match nothing.',
      remedy: 'Remove one of them.',
    })
  }
  if (!/[<>{}]/.test(part)) {
    checkPlainSegment(part, problems)
    return { kind: 'static', text: part }
  }
  const match = parameter.exec(part)
  const inner = match?.[1] ?? match?.[2]
  if (inner === undefined) {
    problems.add({
      code: 'MALFORMED_PATTERN',
      message: `segment "${part}" mixes text and brackets.`,
      remedy: 'A segment is either text or one parameter: /files/<name>.',
    })
    return { kind: 'static', text: part }
  }
  const colon = inner.indexOf(':')
  const name = colon === -1 ? inner : inner.slice(0, colon)
  if (name === '') {
    problems.add({
      code: 'EMPTY_PARAMETER_NAME',
      message: `parameter "${part}" has no name.`,
      remedy: 'Name it: <id>.',
    })
  } else if (!/^(?!__proto__$)[A-Za-z_$][\w$]*$/.test(name)) {
    problems.add({
      code: 'MALFORMED_PARAMETER_NAME',
      message: `"${name}" cannot be the name of an argument.`,
      remedy: 'Use letters, digits, _ and $.',
    })
  }
  const type = colon === -1 ? plainType : readType(inner.slice(colon + 1), problems)
  return { kind: 'parameter', name, type }
}

/** Parameters in the syntax of other frameworks would only match their own text. */
function checkPlainSegment(part: string, problems: Problems): void {
  const [, name] = /^:([A-Za-z_$][\w$]*)/.exec(part) ?? []
  if (name !== undefined) {
    const isRest = /[*+]$/.test(part)
    problems.add({
      code: 'MALFORMED_PATTERN',
      message: `segment "${part}" is not a parameter here.`,
      remedy: `Write <${name}${isRest ? ':path' : ''}>.`,
    })
  } else if (part.includes('*')) {
    const [rest = 'rest'] = /[A-Za-z_$][\w$]*/.exec(part) ?? []
    problems.add({
      code: 'MALFORMED_PATTERN',
      message: `segment "${part}" matches no other text.`,
      remedy: `Write <${rest}:path> for the rest of a path, or <name> for one segment.`,
    })
  }
}

function readType(name: string, problems: Problems): PathType {
  // For the routes of records, not for those of applications, whose programs cannot read it.
  const type = name === keyType.name ? keyType : pathTypes.get(name)
  if (type !== undefined) return type
  const typeNames = [...pathTypes.keys()]
  const remedy = `${didYouMean(name, typeNames)} Types: ${typeNames.join(', ')}.`.trim()
  problems.add({ code: 'UNKNOWN_PATH_TYPE', message: `unknown type "${name}".`, remedy })
  return plainType
}

function checkNames(segments: readonly Segment[], problems: Problems): void {
  const names = new Set<string>()
  for (const segment of segments) {
    if (segment.kind !== 'parameter' || segment.name === '') continue
    if (names.has(segment.name)) {
      problems.add({
        code: 'DUPLICATE_PARAMETER_NAME',
        message: `two parameters are named "${segment.name}".`,
        remedy: 'Rename one of them.',
      })
    }
    names.add(segment.name)
  }
}

function checkRest(segments: readonly Segment[], problems: Problems): void {
  for (const segment of segments.slice(0, -1)) {
    if (segment.kind === 'parameter' && segment.type === restType) {
      problems.add({
        code: 'PATH_NOT_LAST',
        message: `<${segment.name}:path> takes the whole rest.`,
        remedy: 'Make it the last segment.',
      })
    }
  }
}

function toText(segments: readonly Segment[]): string {
  const parts = segments.map((segment) => {
    if (segment.kind === 'static') return segment.text
    return segment.type === plainType
      ? `<${segment.name}>`
      : `<${segment.name}:${segment.type.name}>`
  })
  return `/${parts.join('/')}`
}
