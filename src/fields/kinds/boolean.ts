/** True or false; in text exactly `true`, `false`, `1` or `0`, so that `"false"` never becomes true. */
import type { Kind } from './kind.js'

export const boolean: Kind = {
  storage: 'integer',
  compares: 'equality',
  graphql: { type: 'Boolean', filter: 'Boolean' },
  schema: { type: 'boolean' },
  label: 'true or false',
  test: "typeof v === 'boolean'",
  fromText: (text) => booleansByText.get(text),
  rules: ['oneOf'],
}

const booleansByText: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])
