/** Rules of a field that no value can keep together. */
import type { Problem } from '../errors/declaration-error.js'
import type { FieldMetadata } from './field.js'
import { isOfKind, kindOf, type KindName } from './kinds/table.js'

const ranges = [
  ['min', 'max'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const

/** @param rules sound each by itself */
export function findContradictions(
  where: string,
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
  problems: Problem[],
): void {
  const addProblem = (message: string, remedy: string): void => {
    problems.push({ code: 'FIELD_RULE_VALUE', message: `${where}: ${message}.`, remedy })
  }
  for (const [lower, upper] of ranges) {
    if (isAbove(rules[lower], rules[upper], kind, rules))
      addProblem(
        `rule "${lower}" is above rule "${upper}"`,
        'No value could keep both: correct one.',
      )
  }
  if (rules.lowercase === true && rules.uppercase === true)
    addProblem('rules "lowercase" and "uppercase" stand together', 'Remove one.')
}

function isAbove(
  lower: unknown,
  upper: unknown,
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
): boolean {
  if (lower === undefined || upper === undefined) return false
  const [a, b] = [comparableOf(lower, kind, rules), comparableOf(upper, kind, rules)]
  return (a as number) > (b as number)
}

/** Of `1.5` and `1.50` the same, where the kind says so. */
function comparableOf(
  value: unknown,
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
): unknown {
  const entry = kind === undefined ? undefined : kindOf(kind, rules)
  if (entry?.comparable === undefined || !isOfKind(value, entry)) return value
  return entry.comparable(value)
}
