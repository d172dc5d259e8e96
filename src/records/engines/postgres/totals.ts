/** Sums and means on PostgreSQL. Source: PostgreSQL, Aggregate Functions. */
import { toDecimal } from '../../../fields/kinds/decimal.js'
import type { Dialect } from '../engine.js'
import { toWhole } from '../total.js'

/** Sums of whole numbers are `numeric` there and cannot overflow. */
export const postgresTotal: Dialect['total'] = (called, { storage, field: { entry } }) => {
  const scale = entry.digits?.scale ?? 0
  const encode = (operand: unknown): unknown => operand
  if (storage === 'decimal') {
    return {
      // A table that others made may have doubles there.
      sql:
        called === 'sum'
          ? 'sum(cast({c} as numeric))'
          : `round(avg(cast({c} as numeric)), ${scale})`,
      isText: false,
      isExact: true,
      decode: (value) => toDecimal(String(value), scale),
      encode,
    }
  }
  const isExact = storage === 'wide' && called === 'sum'
  return {
    sql: called === 'sum' ? 'sum({c})' : 'cast(avg({c}) as double precision)',
    isText: false,
    isExact,
    decode: isExact ? String : storage === 'integer' && called === 'sum' ? toWhole : Number,
    encode,
  }
}
