/**
 * The SQL functions of every connection to SQLite, each of one argument and always with the same value for it. A reader
 * thread gets them as text (reader-threads.ts), so `makeFunctions` names nothing outside itself; and all are methods, for
 * compilers that keep names wrap other functions in helpers of their own.
 */

const makeFunctions = () => {
  const decimals = {
    /** The text has at least 21 characters: at least 20 digits and one character for the sign. */
    toSortable(units: string, precision: number): string {
      const width = Math.max(precision, 20)
      if (!units.startsWith('-')) return `1${units.padStart(width, '0')}`
      return `0${decimals.complement(units.slice(1).padStart(width, '0'))}`
    },

    /** @returns a stored value as a decimal with its full scale */
    toText(kept: unknown, places: number): string {
      const text = String(kept)
      // Integers of 64 bits have at most 20 characters; longer texts are the sortable form.
      const units = text.length > 20 ? decimals.fromSortable(text) : text
      const isNegative = units.startsWith('-')
      const digits = units
        .slice(isNegative ? 1 : 0)
        .replace(/^0+/, '')
        .padStart(places + 1, '0')
      const sign = isNegative && /[^0]/.test(digits) ? '-' : ''
      if (places === 0) return sign + digits
      return `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`
    },

    /** Half a unit is rounded away from nought. */
    toUnits(number: string, scale: number): string | undefined {
      const plain = /e/i.test(number) ? Number(number).toFixed(Math.min(scale + 1, 100)) : number
      const [, sign, whole = '', fraction = ''] = /^(-?)(?=\.?\d)(\d*)\.?(\d*)$/.exec(plain) ?? []
      if (sign === undefined) return undefined
      const more = Number(fraction[scale] ?? 0) >= 5 ? 1n : 0n
      const kept = `${whole}${fraction.slice(0, scale).padEnd(scale, '0')}`
      const units = BigInt(kept === '' ? '0' : kept) + more
      return units === 0n ? '0' : `${sign}${units}`
    },

    fromSortable(text: string): string {
      const digits = text.slice(1)
      return text.startsWith('1') ? digits : `-${decimals.complement(digits)}`
    },

    complement(digits: string): string {
      return digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
    },

    /** One number of the sums of groups of nine digits, the highest first. */
    joinChunks(chunks: readonly string[]): bigint {
      return chunks.reduce((sum, one) => sum * 1_000_000_000n + BigInt(one), 0n)
    },
  }

  const sql = {
    /** SQLite's own `lower` only knows ASCII letters. */
    filigree_fold(text: unknown): unknown {
      return typeof text === 'string' ? text.toLowerCase() : text
    },

    /** SQLite has no function for base64. */
    filigree_base64(value: unknown): unknown {
      if (typeof value === 'string') return Buffer.from(value).toString('base64')
      return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : null
    },

    /** The JSON text of a double, null for null. Of what JSON cannot write the text that SQLite has for it. */
    filigree_double(value: unknown): unknown {
      if (typeof value !== 'number') return null
      return Number.isFinite(value) ? String(value) : `${value > 0 ? '' : '-'}9.0e+999`
    },

    /** Of the scale and the stored value: `2 1250` is `12.50`. */
    filigree_decimal(value: unknown): unknown {
      if (typeof value !== 'string') return null
      const [scale = '', kept = ''] = value.split(' ')
      return decimals.toText(kept, Number(scale))
    },

    /** Of precision, scale and a number: `12 2 9.5` is kept as `950`. */
    filigree_units(value: unknown): unknown {
      if (typeof value !== 'string') return null
      const [digits = '', places = '', number = ''] = value.split(' ')
      const precision = Number(digits)
      const units = decimals.toUnits(number, Number(places))
      if (units === undefined || units.replace('-', '').length > precision) {
        throw new RangeError(
          `${number} is no number of at most ${digits} digits, ${places} behind the point`,
        )
      }
      // So many fit into a 64-bit integer.
      return precision <= 18 ? units : decimals.toSortable(units, precision)
    },

    /** Of the sums of digit groups, the highest first: text that sorts like the numbers. */
    filigree_sum(value: unknown): unknown {
      if (typeof value !== 'string') return null
      return decimals.toSortable(decimals.joinChunks(value.split(' ')).toString(), 60)
    },

    /** Of a count and such sums; halves are rounded away from zero. */
    filigree_mean(value: unknown): unknown {
      if (typeof value !== 'string') return null
      const [count = '1', ...chunks] = value.split(' ')
      const sum = decimals.joinChunks(chunks)
      const rows = BigInt(count)
      const isNegative = sum < 0n
      const size = isNegative ? -sum : sum
      const mean = (size * 2n + rows) / (rows * 2n)
      return decimals.toSortable((isNegative ? -mean : mean).toString(), 60)
    },
  }

  return { decimals, sql }
}

/** What the functions and the main thread's reading of rows share. */
export const { decimals, sql: sqlFunctions } = makeFunctions()

/** The text of a program whose value is the table of functions. */
export const functionsProgram = `(${makeFunctions.toString()})().sql`
