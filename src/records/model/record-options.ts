/** Checks the values of `@Record({ … })`: what a program without types writes there, or a variable that says something else. */
import { isolations, type Isolation } from '../../core/isolation.js'
import type { Problem } from '../../errors/declaration-error.js'
import { refuseUnknownNames } from '../../errors/unknown-names.js'
import type { Class } from '../../metadata/note.js'
import type { RecordOptions } from './record.js'

type Test = readonly [wanted: string, fits: (value: unknown) => boolean]

const flag: Test = ['true or false', (value) => typeof value === 'boolean']
const text: Test = ['a name', (value) => typeof value === 'string' && value !== '']

const tests: Readonly<Record<keyof RecordOptions, Test>> = {
  indexes: ["a list: [{ fields: ['name'] }]", Array.isArray],
  isolation: [
    "'read committed', 'repeatable read' or 'serializable'",
    (value) => isolations.includes(value as Isolation),
  ],
  mutations: [
    'false, a role or a list of roles',
    (value) =>
      value === false || [value].flat().every((role) => typeof role === 'string' && role !== ''),
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
}

const optionNames = Object.fromEntries(Object.keys(tests).map((name) => [name, true as const]))

/** @returns the options without those that cannot be used */
export function checkRecordOptions(
  type: Class,
  options: Readonly<RecordOptions>,
  problems: Problem[],
): RecordOptions {
  const where = `@Record of ${type.name}`
  refuseUnknownNames(where, options, optionNames, problems)
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
