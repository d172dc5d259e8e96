/** The type of a path parameter: the segments that it matches, and the value for the handler. Source: decisions, Routing. */
export interface PathType {
  readonly name: string
  /** If several types match a segment, the lower rank wins. Static text wins over all of them. */
  readonly rank: number
  /** @returns the value for the handler; `undefined` if the segment is not of the type, so that the route does not match */
  convert(text: string): string | number | undefined
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

/** `<name>`: any one segment. */
export const plainType: PathType = {
  name: 'string',
  rank: 5,
  convert: (text) => text,
  schema: { type: 'string' },
}

/** `<rest:path>`: the complete rest of the path, including slashes, at least one character. */
export const restType: PathType = {
  name: 'path',
  rank: 6,
  convert: (text) => text,
  schema: { type: 'string' },
}

/** The types that may follow the colon, by name. */
export const pathTypes: ReadonlyMap<string, PathType> = new Map(
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
