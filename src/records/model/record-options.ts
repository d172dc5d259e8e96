/** Checks the values of `@Record({ … })`: what a program without types writes there, or a variable that says something else. */
import { isolations, type Isolation } from '../../core/transaction.js'
import type { Problem } from '../../errors/declaration-error.js'
import { isMap } from '../../core/json.js'
import { refuseUnknownNames } from '../../errors/unknown-options.js'
import { isWriteRule } from '../../fields/write-rule.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { RecordOptions } from './record.js'

type Test = readonly [wanted: string, fits: (value: unknown) => boolean]

const flag: Test = ['true or false', (value) => typeof value === 'boolean']
const text: Test = ['a name', (value) => typeof value === 'string' && value !== '']

const tests: Readonly<Record<keyof RecordOptions, Test>> = {
  constraints: [
    "an object: { no_overlap: { message: 'The room is taken.' } }",
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  ],
  indexes: ["a list: [{ fields: ['name'] }]", Array.isArray],
  isolation: [
    "'read committed', 'repeatable read' or 'serializable'",
    (value) => isolations.includes(value as Isolation),
  ],
  name: text,
  plural: text,
  rows: ['a function: (user) => …', (value) => typeof value === 'function'],
  shardBy: text,
  search: ["a list of fields: ['name']", Array.isArray],
  searchLimit: ['a positive integer', (value) => Number.isSafeInteger(value) && Number(value) > 0],
  softDelete: flag,
  subscriptions: flag,
  table: text,
  timestamps: flag,
  was: text,
  version: flag,
  writes: [
    "false, a role, a list of roles, or rules for operations: { create: 'desk', delete: false }",
    (value) => isWriteRule(value) || isMap(value),
  ],
}

const operationNames = { create: true, update: true, delete: true } as const

const optionNames = Object.fromEntries(Object.keys(tests).map((name) => [name, true as const]))

/** @returns the options without those that cannot be used */
export function checkRecordOptions(
  type: Class,
  options: Readonly<RecordOptions>,
  problems: Problem[],
): RecordOptions {
  const where = `@Record of ${type.name}`
  refuseUnknownNames(where, options, optionNames, problems)
  const { writes } = options
  const perOperation: unknown = writes
  if (isMap(perOperation)) checkWriteRules(`${where}, writes`, perOperation, problems)
  const sound = Object.entries<unknown>(options).filter(([name, value]) => {
    if (!Object.hasOwn(tests, name)) return false
    const [wanted, fits] = tests[name as keyof RecordOptions]
    if (value === undefined || fits(value)) return true
    problems.push({
      code: 'INVALID_OPTION',
      message: `${where}: ${name} is not ${wanted}.`,
      remedy: 'Correct it, or leave it out.',
    })
    return false
  })
  return Object.fromEntries(sound)
}

function checkWriteRules(
  where: string,
  rules: Readonly<Record<string, unknown>>,
  problems: Problem[],
): void {
  refuseUnknownNames(where, rules, operationNames, problems)
  for (const [name, rule] of Object.entries(rules)) {
    if (!Object.hasOwn(operationNames, name) || rule === undefined || isWriteRule(rule)) continue
    problems.push({
      code: 'INVALID_OPTION',
      message: `${where}: ${name} is not false, a role or a list of roles.`,
      remedy: 'Correct it, or leave it out.',
    })
  }
}
