/** Types of the public API that applications do not need by name. */
import type { connect } from '../src/index.js'

export type Class<T = object> = abstract new (...args: never[]) => T

/** The kinds that `@Field` takes: `string`, `integer`, `datetime` … */
export type { KindName } from '../src/fields/kinds/table.js'

export type DatabaseOptions = Parameters<typeof connect>[0]
