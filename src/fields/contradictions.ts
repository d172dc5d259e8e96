/** Rules of a field that no value can keep together, and a default that is none of `oneOf`. */
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
  const { oneOf, default: preset } = rules
  if (!Array.isArray(oneOf) || preset === undefined || preset === null) return
  if (typeof preset === 'function' || preset === 'now' || oneOf.length === 0) return
  const stray = [preset].flat().find((value: unknown) => !isOneOf(value, oneOf, kind, rules))
  if (stray !== undefined)
    refuse(`default ${JSON.stringify(stray)} is none of rule "oneOf"`, 'Give one of them.')
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

function isOneOf(
  value: unknown,
  oneOf: readonly unknown[],
  kind: KindName | undefined,
  rules: FieldNote['rules'],
): boolean {
  const wanted = comparableOf(value, kind, rules)
  return oneOf.some((one) => comparableOf(one, kind, rules) === wanted)
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
