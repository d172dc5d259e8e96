/**
 * Reads one comparison, `{ gte: 5 }`, of an operand: a column, a value within JSON, or a measure of a group. The operand
 * checks and encodes values, and creates the test for the statement.
 */
import { clip } from '../../core/text.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { operatorOf, operators, readOperator, type Operator } from '../../sql/operators.js'
import { invalid } from './query-errors.js'

/** The left side of a comparison. `Test` is what the statement tests. */
export interface Operand<Test> {
  readonly dialect: Dialect
  /** The maximum number of values of `in`. */
  readonly maxItems: number
  /** @returns why the operator does not fit; `undefined` if it does */
  findMisfit(operator: Operator): string | undefined
  /**
   * Whether a comparison with this value is omitted.
   *
   * @throws {DeclarationError} for `undefined`, and for `skip` in a position that does not allow it
   */
  isSkipped(value: unknown, path: string): boolean
  /** @throws {DeclarationError} for `undefined` and `skip` in a list, also for its holes */
  checkItems(list: readonly unknown[], path: string): void
  /**
   * The value for the driver.
   *
   * @throws {HttpError} 400 `VALIDATION` for a value that cannot be compared, and for null
   */
  encode(value: unknown, path: string, operator: Operator): unknown
  /** The text of a pattern in the form in which texts are stored. @throws {HttpError} 400 for one pattern too many */
  encodeText(text: string, path: string): string
  compare(operator: Operator, encoded: unknown): Test
  testNull(isNull: boolean): Test
  /** @throws {HttpError} 400 for too many values */
  testList(encoded: readonly unknown[], orNull: boolean, path: string): Test
  /** A test that holds if all of them hold. */
  every(tests: readonly Test[]): Test
}

/** The maximum number of characters of a pattern. */
export const maxPatternLength = 1000

/**
 * @param name the name of the operator
 * @returns `undefined` for no comparison: the value is `skip`
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readComparison<Test>(
  operand: Operand<Test>,
  name: string,
  value: unknown,
  path: string,
): Test | undefined {
  const operator = readOperator(name)
  if (operator === undefined) {
    const suggestion = didYouMean(clip(name), Object.keys(operators))
    throw invalid(path, 'unknown', `is not a comparison. ${suggestion}`.trim())
  }
  const misfit = operand.findMisfit(operator)
  if (misfit !== undefined) throw invalid(path, 'type', misfit)
  return operand.isSkipped(value, path) ? undefined : readTest(operand, operator, value, path)
}

/** Reads the value of a comparison that fits the operand. */
export function readTest<Test>(
  operand: Operand<Test>,
  operator: Operator,
  value: unknown,
  path: string,
): Test {
  const { operand: kind, takesNull } = operatorOf(operator)
  switch (kind) {
    case 'flag':
      if (typeof value !== 'boolean') throw invalid(path, 'type', 'must be true or false')
      return operand.testNull(value)
    case 'list':
      return readList(operand, operator, value, path)
    case 'values':
      return readValues(operand, operator, value, path)
    case 'pattern':
    case 'part':
      return operand.compare(operator, readPattern(operand, operator, value, path))
    case 'item':
    case 'value':
      if (value === null && takesNull) return operand.testNull(operator === 'eq')
      return operand.compare(operator, operand.encode(value, path, operator))
  }
}

function readList<Test>(
  operand: Operand<Test>,
  operator: Operator,
  list: unknown,
  path: string,
): Test {
  if (!Array.isArray(list)) throw invalid(path, 'type', 'must be a list')
  const { maxItems } = operand
  if (list.length > maxItems) throw invalid(path, 'maxItems', `must have at most ${maxItems} items`)
  operand.checkItems(list, path)
  const orNull = list.includes(null)
  const items: unknown[] = orNull ? list.filter((item) => item !== null) : list
  const encoded = items.map((item, index) => operand.encode(item, `${path}.${index}`, operator))
  return operand.testList(encoded, orNull, path)
}

/** `{ between: [1, 5] }` is `{ gte: 1, lte: 5 }`. */
function readValues<Test>(
  operand: Operand<Test>,
  operator: Operator,
  list: unknown,
  path: string,
): Test {
  const { means = [] } = operatorOf(operator)
  if (!Array.isArray(list) || list.length !== means.length)
    throw invalid(path, 'type', `must be a list of ${means.length} values`)
  operand.checkItems(list, path)
  return operand.every(
    means.map((one, index) => {
      const at = `${path}.${index}`
      if (list[index] === null) throw invalid(at, 'type', 'must not be null')
      return readTest(operand, one, list[index], at)
    }),
  )
}

function readPattern<Test>(
  operand: Operand<Test>,
  operator: Operator,
  value: unknown,
  path: string,
): string {
  const { operand: kind, pattern } = operatorOf(operator)
  if (typeof value !== 'string' || /[\0\p{Surrogate}]/u.test(value))
    throw invalid(path, 'type', 'must be a string')
  if (value.length > maxPatternLength)
    throw invalid(path, 'maxLength', `must have at most ${maxPatternLength} characters`)
  if (kind === 'pattern' && /(?:^|[^\\])(?:\\\\)*\\$/.test(value))
    throw invalid(path, 'pattern', 'must not end in a single backslash')
  const text = operand.encodeText(value, path)
  return pattern === undefined ? text : pattern(text, operand.dialect)
}
