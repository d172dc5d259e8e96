/** Sums and averages on PostgreSQL. Source: PostgreSQL, Aggregate Functions. */
import { toDecimal } from '../../fields/kinds/decimal.js'
import type { Dialect } from '../contract/dialect.js'
import { toWhole } from '../contract/total.js'

/** Sums of integers are `numeric` there and cannot overflow. */
export const postgresTotal: Dialect['total'] = (called, { storage, field: { entry } }) => {
  const scale = entry.digits?.scale ?? 0
  const encode = (operand: unknown): unknown => operand
  if (storage === 'decimal') {
    return {
      // A table of another program may have doubles.
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
  if (storage === 'real')
    return { sql: ofDoubles[called], isText: false, isExact: false, decode: Number, encode }
  const isExact = storage === 'wide' && called === 'sum'
  return {
    sql: called === 'sum' ? 'sum({c})' : 'cast(avg({c}) as double precision)',
    isText: false,
    isExact,
    decode: isExact ? String : storage === 'integer' && called === 'sum' ? toWhole : Number,
    encode,
  }
}

/**
 * Of doubles: the server answers no sum that is no double, and no mean where a square on its way is none, so that one odd
 * row would spoil the figure for all. Such rows are added up as exact numbers. What no double holds is the nearest one.
 */
function totalOfDoubles(called: 'sum' | 'avg', bound: string): string {
  const isOdd = `abs({c}) >= ${bound}`
  const usual = `${called}({c}) filter (where not ${isOdd})`
  const odd = `sum(cast({c} as numeric)) filter (where ${isOdd})`
  const sum = `(${odd} + coalesce(cast(sum({c}) filter (where not ${isOdd}) as numeric), 0))`
  const exact = called === 'sum' ? sum : `${sum} / count({c})`
  // Below the smallest double is none either.
  const double = `cast(round(greatest(least(${exact}, ${largestDouble}), -${largestDouble}), 300) as double precision)`
  return `case when bool_or(${isOdd}) then ${double} else cast(${usual} as double precision) end`
}

const largestDouble = '1.7976931348623157e308'
/** Below it the sum of a table's doubles is one, and the square of one beside others. */
const ofDoubles = {
  sum: totalOfDoubles('sum', '1e290'),
  avg: totalOfDoubles('avg', '1e140'),
}
