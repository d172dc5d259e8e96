/** Reads the SQL of a column's default as the option `default` of a field. */
import type { ColumnForm } from '../../engines/contract/described-table.js'
import { kindOf } from '../../fields/kinds/table.js'
import { isOfKind } from '../../fields/kinds/table.js'
import { toCode } from './pulled-record.js'

export type ReadDefault =
  /** The column has none, or its default is null. */
  | { readonly is: 'none' }
  | { readonly is: 'value'; readonly code: string; readonly needs?: 'randomUUID' }
  /** The database computes the value from a function that has no counterpart here. */
  | { readonly is: 'unknown' }

/** @param preset `'new'::order_status`, `now()`, `(0)` */
export function readDefault(preset: string | undefined, form: ColumnForm): ReadDefault {
  if (preset === undefined) return { is: 'none' }
  const expression = withoutCasts(preset)
  if (/^null$/i.test(expression)) return { is: 'none' }
  const { kind } = form
  if (isNow(expression))
    return ['datetime', 'date', 'time'].includes(kind)
      ? { is: 'value', code: "'now'" }
      : { is: 'unknown' }
  if (/^(?:public\.)?(?:gen_random_uuid|uuid_generate_v[147]|uuidv[47])\(/i.test(expression))
    return kind === 'uuid'
      ? { is: 'value', code: '() => randomUUID()', needs: 'randomUUID' }
      : { is: 'unknown' }
  const literal = readLiteral(expression)
  const code = literal === undefined ? undefined : toDefaultCode(literal, form)
  return code === undefined ? { is: 'unknown' } : { is: 'value', code }
}

/** `('now'::text)::date` → `'now'` */
function withoutCasts(sql: string): string {
  const type =
    /::(?:"[^"]+"|[\w.]+)(?: [a-z]+)*(?:\([\d,]+\))?(?: with(?:out)? time zone)?(?:\[\])*$/i
  let text = sql.trim()
  for (;;) {
    const inner = isWrapped(text) ? text.slice(1, -1).trim() : text.replace(type, '').trim()
    if (inner === text) return text
    text = inner
  }
}

/** Whether one pair of parentheses is around the complete text. */
function isWrapped(text: string): boolean {
  if (!text.startsWith('(') || !text.endsWith(')')) return false
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const letter = text[index]
    if (letter === '(') depth++
    if (letter === ')' && --depth === 0 && index < text.length - 1) return false
  }
  return true
}

function isNow(expression: string): boolean {
  const plain = expression.toLowerCase().replace(/\s+/g, ' ')
  return (
    /^(?:now|clock_timestamp|statement_timestamp|transaction_timestamp)\(\)$/.test(plain) ||
    /^current_(?:timestamp|date|time)(?:\(\d\))?$/.test(plain) ||
    /^'now'$/.test(plain) ||
    /^(?:date|datetime|time|strftime)\((?:'[^']*', ?)?'now'(?:, ?'utc')?\)$/.test(plain) ||
    /^(?:now\(\)|current_timestamp) at time zone 'utc'(?:::text)?$/.test(plain) ||
    /^timezone\('utc'(?:::text)?, (?:now\(\)|current_timestamp)\)$/.test(plain)
  )
}

/** @returns a text, a number or a boolean; `undefined` for an expression */
function readLiteral(expression: string): string | number | boolean | undefined {
  if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(expression)) return Number(expression)
  if (/^(?:true|false)$/i.test(expression)) return expression.toLowerCase() === 'true'
  const [, text] = /^'((?:[^']|'')*)'$/.exec(expression) ?? []
  if (text !== undefined) return text.replaceAll("''", "'")
  // SQLite also takes double quotes.
  const [, quoted] = /^"((?:[^"]|"")*)"$/.exec(expression) ?? []
  return quoted
}

function toDefaultCode(literal: string | number | boolean, form: ColumnForm): string | undefined {
  const { kind, isList, digits, values } = form
  if (isList === true) return toListCode(String(literal), form)
  if (kind === 'json') return toJsonCode(String(literal))
  const value = toValue(literal, kind)
  if (value === undefined) return undefined
  if (values !== undefined) return values.includes(String(value)) ? toCode(value) : undefined
  return isOfKind(value, kindOf(kind, { ...digits })) ? toCode(value) : undefined
}

/** An array of PostgreSQL, `{new,"in work"}`. Each row gets a list of its own. */
function toListCode(literal: string, form: ColumnForm): string | undefined {
  const [, content] = /^\{(.*)\}$/s.exec(literal) ?? []
  const items = content?.match(/"(?:[^"\\]|\\.)*"|[^",{}]+/g) ?? []
  if (content === undefined || items.join(',') !== content) return undefined
  const codes = items.map((item) => {
    const text = item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/g, '$1') : item
    return text === 'NULL' ? undefined : toDefaultCode(text, { ...form, isList: false })
  })
  return codes.includes(undefined) ? undefined : `() => [${codes.join(', ')}]`
}

function toValue(
  literal: string | number | boolean,
  kind: ColumnForm['kind'],
): string | number | boolean | undefined {
  if (kind === 'boolean') return booleans.get(String(literal).toLowerCase())
  if (kind === 'integer' || kind === 'numeric')
    return typeof literal === 'boolean' || literal === '' ? undefined : Number(literal)
  return kind === 'blob' || typeof literal === 'boolean' ? undefined : String(literal)
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...(['true', 't', '1', 'yes', 'on'] as const).map((text) => [text, true] as const),
  ...(['false', 'f', '0', 'no', 'off'] as const).map((text) => [text, false] as const),
])

/** Objects are made anew for each row. */
function toJsonCode(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null) return undefined
    const code = toCode(value)
    return typeof value !== 'object' ? code : `() => ${Array.isArray(value) ? code : `(${code})`}`
  } catch {
    return undefined
  }
}
