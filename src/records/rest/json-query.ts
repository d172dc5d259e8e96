/**
 * Reads a query's conditions on a JSON column, in any of three spellings: `meta.path=a,b&meta.gte=1`,
 * `meta.path.a.b.gte=1`, and `meta={"path":["a","b"],"gte":1}` for names that contain dots or commas.
 */
import { isMap, parseJson } from '../../core/json.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { listItems, type TextValues } from '../../http/query.js'
import { invalid } from '../filters/invalid.js'
import { operatorOf, operatorsFor, readOperator, type Operator } from '../../sql/operators.js'

export interface JsonParameter {
  /** `meta.path.a.gte` */
  readonly name: string
  /** `meta` */
  readonly field: string
  /** The names after the field. */
  readonly rest: readonly string[]
  readonly text: string | string[]
}

type Test = Record<string, unknown>

/** @returns `undefined` for a path whose comparison is in other parameters */
export function readJsonTest(parameter: JsonParameter, query: TextValues): Test | undefined {
  const { name, field, rest, text } = parameter
  const [first, ...more] = rest
  if (first === undefined) return readJsonValue(name, text)
  if (first !== 'path') return readWithPath(parameter, query)
  if (more.length === 0) {
    const isUsed = Object.keys(query).some(
      (other) => other.startsWith(`${field}.`) && !other.startsWith(`${field}.path`),
    )
    return isUsed ? undefined : { path: toPath(text) }
  }
  const last = more.length > 1 ? readOperator(more.at(-1) ?? '') : undefined
  const operator = last ?? 'eq'
  const path = last === undefined ? more : more.slice(0, -1)
  return { path, [operator]: readOperand(operator, name, query) }
}

function readJsonValue(name: string, text: string | string[]): Test {
  try {
    const value: unknown = parseJson(String(text))
    if (isMap(value)) return value
  } catch {
    // The error is thrown below.
  }
  throw invalid(name, 'type', 'must be JSON such as {"path":["a","b"],"eq":1}')
}

function readWithPath({ name, field, rest }: JsonParameter, query: TextValues): Test {
  const [named = '', ...more] = rest
  const operator = readOperator(named)
  if (operator === undefined || more.length > 0) {
    const suggestion = didYouMean(clip(named), operatorsFor('json'))
    throw invalid(name, 'unknown', `is not a comparison. ${suggestion}`.trim())
  }
  const path = query[`${field}.path`]
  const operand = readOperand(operator, name, query)
  if (path !== undefined) return { path: toPath(path), [operator]: operand }
  if (operator === 'isNull') return { isNull: operand }
  throw invalid(name, 'required', `needs ${field}.path beside it`)
}

function toPath(text: string | string[]): readonly string[] {
  return Array.isArray(text) ? text : text.split(',')
}

function readOperand(operator: Operator, name: string, query: TextValues): unknown {
  const text = query[name] ?? ''
  const { operand } = operatorOf(operator)
  if (operand === 'list' || operand === 'values') return listItems(query, name).map(toScalar)
  if (Array.isArray(text)) throw invalid(name, 'type', 'must be given once')
  if (operand === 'value') return toScalar(text)
  if (operand !== 'flag') return text
  if (text === 'true' || text === 'false') return text === 'true'
  throw invalid(name, 'type', 'must be true or false')
}

/** Reads `1` as a number, `true` as a boolean, `"1"` and everything else as text. */
function toScalar(text: string): unknown {
  try {
    const value: unknown = parseJson(text)
    return typeof value === 'object' && value !== null ? text : value
  } catch {
    return text
  }
}
