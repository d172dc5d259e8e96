/** Rules of a field that no value can keep together. */
import type { Problem } from '../errors/declaration-error.js'
import type { FieldNote } from './field.js'
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
  rules: FieldNote['rules'],
  problems: Problem[],
): void {
  const refuse = (message: string, remedy: string): void => {
    problems.push({ code: 'FIELD_RULE_VALUE', message: `${where}: ${message}.`, remedy })
  }
  for (const [least, most] of ranges) {
    if (isAbove(rules[least], rules[most], kind, rules))
      refuse(`rule "${least}" is above rule "${most}"`, 'No value could keep both: correct one.')
  }
  if (rules.lowercase === true && rules.uppercase === true)
    refuse('rules "lowercase" and "uppercase" stand together', 'Remove one.')
}

function isAbove(
  least: unknown,
  most: unknown,
  kind: KindName | undefined,
  rules: FieldNote['rules'],
): boolean {
  if (least === undefined || most === undefined) return false
  const [a, b] = [comparableOf(least, kind, rules), comparableOf(most, kind, rules)]
  return (a as number) > (b as number)
}

/** Of `1.5` and `1.50` the same, where the kind says so. */
function comparableOf(
  value: unknown,
  kind: KindName | undefined,
  rules: FieldNote['rules'],
): unknown {
  const entry = kind === undefined ? undefined : kindOf(kind, rules)
  if (entry?.comparable === undefined || !isOfKind(value, entry)) return value
  return entry.comparable(value)
}
