/**
 * Values that stand for unique values while rows exchange them. A placeholder keeps the rules that the database checks: `min`,
 * `max` and `maxLength`. Where a field has no bound it lies where values are rare, because it must not be the value of a row.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'

/** @returns a value of the property that hardly any row has; `undefined` if the field has none */
export function makePlaceholder({ relations }: Table, column: Column): unknown {
  const { field, storage } = column
  for (const { kind, local } of relations.values())
    if (kind === 'belongsTo' && local === column) return undefined
  if (column.isBoolean || field.rules.oneOf !== undefined) return undefined
  if (column.isUuid) return randomUUID()
  const { maxLength = longest } = field.rules
  const length = Math.min(maxLength, longest)
  switch (storage) {
    case 'text':
      return randomBytes(longest).toString('hex').slice(0, length)
    case 'bytes':
      return randomBytes(length)
    case 'integer':
      return Number(between(boundsOf(field.rules, BigInt, 2n ** 48n)))
    case 'wide':
      return String(between(boundsOf(field.rules, BigInt, 2n ** 62n)))
    case 'real':
      return Number(between(boundsOf(field.rules, wholeOf, 2n ** 48n)))
    case 'decimal':
      return decimalOf(column)
    case 'date':
    case 'moment':
      return momentOf(column)
    case 'time':
      return timeOf(field.rules)
    default:
      return undefined
  }
}

const longest = 32

interface Bounds {
  readonly least: bigint
  readonly most: bigint
}

/**
 * Below zero where there is no `min`, else above all.
 *
 * @param read a bound as a whole number
 * @param far how far the values without a bound go
 */
function boundsOf(
  { min, max }: Column['field']['rules'],
  read: (bound: string | number) => bigint,
  far: bigint,
): Bounds {
  if (min === undefined) {
    const most = max === undefined ? -far / 2n : smaller(read(max), -far / 2n)
    return { least: most - far / 2n, most }
  }
  const least = read(min)
  if (max !== undefined) return { least, most: read(max) }
  return { least: least + far / 2n, most: least + far }
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

/** Both are possible. */
function between({ least, most }: Bounds): bigint {
  const count = most - least + 1n
  return count <= 1n ? least : least + (BigInt(`0x${randomBytes(16).toString('hex')}`) % count)
}

function wholeOf(bound: string | number): bigint {
  return BigInt(Math.trunc(Number(bound)))
}

/** In units of its last digit. */
function decimalOf({ field }: Column): string {
  const { precision, scale } = field.entry.digits ?? { precision: 18, scale: 2 }
  const units = (bound: string | number): bigint => {
    const [whole = '0', fraction = ''] = String(bound).split('.')
    return BigInt(whole + fraction.padEnd(scale, '0').slice(0, scale))
  }
  const largest = 10n ** BigInt(precision) - 1n
  const { min, max } = field.rules
  const number = between({
    least: min === undefined ? -largest : units(min),
    most: max === undefined ? (min === undefined ? -largest / 2n : largest) : units(max),
  })
  const digits = String(number < 0n ? -number : number).padStart(scale + 1, '0')
  const point = digits.length - scale
  const text = scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
  return number < 0n ? `-${text}` : text
}

/** In the first centuries of the calendar, unless the field has bounds. */
function momentOf({ field, storage }: Column): string {
  const { min, max } = field.rules
  const read = (bound: string | number): bigint => BigInt(Date.parse(String(bound)))
  const [first, last] = min === undefined ? ['0001-01-02', '0999-12-31'] : [min, '9998-12-31']
  const least = read(first)
  const most = max === undefined ? read(last) : read(max)
  const moment = new Date(Number(between({ least: smaller(least, most), most }))).toISOString()
  return storage === 'date' ? moment.slice(0, 10) : moment
}

function timeOf({ min = '00:00:00', max = '23:59:59' }: Column['field']['rules']): string {
  const read = (time: string | number): bigint =>
    BigInt(Date.parse(`1970-01-01T${String(time)}Z`) / 1000)
  const seconds = Number(between({ least: read(min), most: read(max) }))
  return new Date(seconds * 1000).toISOString().slice(11, 19)
}
