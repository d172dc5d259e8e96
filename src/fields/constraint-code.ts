/**
 * class-validator's rules of plain meaning as code over a value `v`. A rule is written as code only where its constraint
 * speaks the built-in's message and agrees with the code on a row of probes, so that a rule of the same name made by an
 * application, or a later version's other meaning, is asked instead. Source: class-validator 0.15, src/decorator.
 */
import type { FunctionSet } from './function-set.js'
import { builtIns } from './built-in-constraints.js'
import { argumentsOf, type ConstraintRule } from './constraint-rule.js'

/**
 * @returns an expression that is true for values that keep the rule, or `undefined` where the constraint must be asked
 */
export function writeConstraint(rule: ConstraintRule, functions: FunctionSet): string | undefined {
  const { constraint, metadata: note } = rule
  if (constraint === undefined || note.validateIf !== undefined) return undefined
  const builtIn = builtIns[rule.code]
  if (builtIn === undefined || !hasBuiltInMessage(rule, builtIn.message)) return undefined
  if (builtIn.isExcluded?.(rule) === true) return undefined
  const code = builtIn.code(note.constraints ?? [], functions)
  if (code === 'call') return writeOriginalCall(rule, functions)
  return code !== undefined && agreesOnProbes(rule, code, functions) ? code : undefined
}

function hasBuiltInMessage(rule: ConstraintRule, message: string): boolean {
  const expected = (rule.metadata.each === true ? 'each value in ' : '') + message
  const args = argumentsOf(rule, undefined, {})
  try {
    return rule.constraint?.instance.defaultMessage?.(args) === expected
  } catch {
    return false
  }
}

function writeOriginalCall(rule: ConstraintRule, functions: FunctionSet): string | undefined {
  const { instance } = rule.constraint ?? {}
  if (instance === undefined) return undefined
  return `${functions.constant(instance)}.validate(v, ${functions.constant(argumentsOf(rule, undefined, undefined))})`
}

function agreesOnProbes(rule: ConstraintRule, code: string, functions: FunctionSet): boolean {
  const test = functions.tryOut(code)
  const args = argumentsOf(rule, undefined, {})
  return [...probes, ...probesAround(rule.metadata.constraints ?? [])].every((value) => {
    try {
      return Boolean(rule.constraint?.instance.validate(value, args)) === Boolean(test(value))
    } catch {
      // Where the built-in throws (IsNumber's decimal places of 1e-7) there is nothing to agree on.
      return true
    }
  })
}

const probes: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  '',
  'a',
  'abc',
  '5',
  '😀',
  '❤️',
  'abcdefghij'.repeat(30),
  0,
  -0,
  1,
  -1,
  1.5,
  0.001,
  1e21,
  NaN,
  Infinity,
  -Infinity,
  [],
  [1],
  ['a', 'b', 'c'],
  {},
  { a: 1 },
  new Date(0),
  () => 0,
]

function probesAround(args: readonly unknown[]): unknown[] {
  return args.flat(1).flatMap((arg) => {
    if (typeof arg !== 'number' || !Number.isFinite(arg)) return [arg]
    const size = Math.min(Math.max(0, Math.floor(arg)), 10_000)
    const lengths = [Math.max(0, size - 1), size, size + 1]
    return [
      arg,
      arg - 1,
      arg + 1,
      arg + 0.1,
      ...lengths.flatMap((length) => [
        'x'.repeat(length),
        '😀'.repeat(length),
        new Array(length).fill(0),
      ]),
    ]
  })
}
