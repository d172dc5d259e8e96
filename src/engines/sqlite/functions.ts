/**
 * The SQL functions that every SQLite connection defines. They are deterministic and have one argument. Reader threads
 * get them as source text (`client-reads.ts`), so `makeFunctions` uses nothing outside itself. All of them are
 * methods, because compilers that preserve function names wrap other functions in a helper that the thread does not
 * have.
 */

const makeFunctions = () => {
  const decimals = {
    /** The text has at least 21 characters: at least 20 digits and one character for the sign. */
    toSortable(units: string, precision: number): string {
      const width = Math.max(precision, 20)
      if (!units.startsWith('-')) return `1${units.padStart(width, '0')}`
      return `0${decimals.complement(units.slice(1).padStart(width, '0'))}`
    },

    /**
     * @returns a stored value as a decimal with its full scale
     * @throws {RangeError} for a value that no decimal is stored as, such as `15.5`
     */
    toText(stored: unknown, scale: number): string {
      const text = String(stored)
      // Integers of 64 bits have at most 20 characters; longer texts are the sortable form.
      const isSortable = text.length > 20
      const isStored =
        typeof stored === 'number'
          ? Number.isSafeInteger(stored)
          : (isSortable ? /^[01]\d+$/ : /^-?\d+$/).test(text)
      if (!isStored) throw decimals.malformed(text)
      const units = isSortable ? decimals.fromSortable(text) : text
      const isNegative = units.startsWith('-')
      const digits = units.slice(isNegative ? 1 : 0).padStart(scale + 1, '0')
      const sign = isNegative && /[^0]/.test(digits) ? '-' : ''
      if (scale === 0) return sign + digits
      return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
    },

    /** Rounds half a unit away from zero. @returns `undefined` if the text is not a number */
    toUnits(number: string, scale: number): string | undefined {
      const plain = /e/i.test(number) ? Number(number).toFixed(Math.min(scale + 1, 100)) : number
      const [, sign, integerPart = '', fraction = ''] =
        /^(-?)(?=\.?\d)(\d*)\.?(\d*)$/.exec(plain) ?? []
      if (sign === undefined) return undefined
      const roundUp = Number(fraction[scale] ?? 0) >= 5 ? 1n : 0n
      const storedText = `${integerPart}${fraction.slice(0, scale).padEnd(scale, '0')}`
      const units = BigInt(storedText === '' ? '0' : storedText) + roundUp
      return units === 0n ? '0' : `${sign}${units}`
    },

    /** The error of a value that other programs have written. `errors.ts` recognizes it by its message. */
    malformed(text: string): RangeError {
      return new RangeError(`malformed decimal: ${text.slice(0, 60)}`)
    },

    /** Without leading zeros. */
    fromSortable(text: string): string {
      const digits = text.slice(1)
      if (text.startsWith('1')) return digits.replace(/^0+/, '')
      return `-${decimals.complement(digits).replace(/^0+/, '')}`
    },

    complement(digits: string): string {
      return digits.replace(/\d/g, (digit) => String(9 - Number(digit)))
    },

    /** Combines the sums of groups of nine digits, the most significant first, to one number. */
    joinChunks(chunks: readonly string[]): bigint {
      return chunks.reduce((sum, one) => {
        if (!/^-?\d+$/.test(one)) throw decimals.malformed(one)
        return sum * 1_000_000_000n + BigInt(one)
      }, 0n)
    },
  }

  const conversions = {
    /** @returns `undefined` if the text is no such value */
    toStored(type: string, text: string): unknown {
      switch (type) {
        case 'integer':
          return conversions.toInteger(text)
        case 'real':
          return conversions.toReal(text)
        case 'integer_boolean':
          return { true: 1, 1: 1, false: 0, 0: 0 }[text]
        case 'text_uuid':
          return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)
            ? text.toLowerCase()
            : undefined
        case 'text_timestamp':
          return conversions.toTimestamp(text)
        case 'text_date':
          return text.length === 10 && conversions.toTimestamp(text) !== undefined
            ? text
            : undefined
        case 'text_time':
          return /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text) ? text : undefined
        default:
          return conversions.toUnits(type, text)
      }
    },

    toInteger(text: string): string | undefined {
      const [, digits] = /^(-?\d{1,19})(?:\.0*)?$/.exec(text) ?? []
      return digits !== undefined && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits)
        ? String(BigInt(digits))
        : undefined
    },

    toReal(text: string): number | undefined {
      const isNumber = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)
      return isNumber && Number.isFinite(Number(text)) ? Number(text) : undefined
    },

    /** Without an offset it is in UTC. */
    toTimestamp(text: string): string | undefined {
      const [, day = '', time = '00:00', seconds = ':00', fraction = '.0', zone = 'Z'] =
        /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?:(:\d\d)(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)?)?$/.exec(
          text,
        ) ?? []
      const date = new Date(`${day}T00:00:00Z`)
      // Dates such as February 30 are read as a day in March.
      if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(day)) return undefined
      const point = new Date(`${day}T${time}${seconds}${fraction.slice(0, 4)}${zone.toUpperCase()}`)
      if (Number.isNaN(point.getTime()) || time.startsWith('24')) return undefined
      const stored = point.toISOString()
      return stored.length === 24 && !stored.startsWith('0000') ? stored : undefined
    },

    /** The stored form of a decimal. */
    toUnits(type: string, text: string): string | undefined {
      const [, integerScale] = /^integer_scale_(\d+)$/.exec(type) ?? []
      const [, digits = '18', scale = integerScale] = /^text_decimal_(\d+)_(\d+)$/.exec(type) ?? []
      if (scale === undefined) return text
      const precision = Number(digits)
      const units = decimals.toUnits(text, Number(scale))
      if (units === undefined || units.replace('-', '').length > precision) return undefined
      // 18 digits fit into a 64-bit integer.
      return precision <= 18 ? units : decimals.toSortable(units, precision)
    },
  }

  const sql = {
    /** As `foldCase`. SQLite's `lower` converts only ASCII letters. */
    filigree_fold(text: unknown): unknown {
      return typeof text === 'string' ? text.toLowerCase().replaceAll('ς', 'σ') : text
    },

    /** SQLite has no function for base64. */
    filigree_base64(value: unknown): unknown {
      if (typeof value === 'string') return Buffer.from(value).toString('base64')
      return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : null
    },

    /** The JSON text of a double, or null. Infinity becomes the number that SQLite writes for it. */
    filigree_double(value: unknown): unknown {
      if (typeof value !== 'number') return null
      return Number.isFinite(value) ? String(value) : `${value > 0 ? '' : '-'}9.0e+999`
    },

    /** Formats a stored decimal. The argument is the scale and the stored value: `2 1250` becomes `12.50`. */
    filigree_decimal(value: unknown): unknown {
      if (typeof value !== 'string') return null
      const [scale = '', storedText = ''] = value.split(' ')
      return decimals.toText(storedText, Number(scale))
    },

    /** A decimal number of any scale as text that sorts like the numbers; null for anything else. */
    filigree_sortable(value: unknown): unknown {
      const [, sign, whole = '', fraction = ''] =
        /^(-?)(\d{1,40})(?:\.(\d{1,40}))?$/.exec(String(value)) ?? []
      if (sign === undefined) return null
      const units = BigInt(whole + fraction.padEnd(40, '0'))
      return decimals.toSortable(units === 0n ? '0' : `${sign}${units}`, 80)
    },

    /**
     * Converts a text to the stored form of a column's type. The argument is the type, the field for messages and the
     * text: `integer_scale_2 Product.price 9.5` becomes `950`.
     */
    filigree_convert(value: unknown): unknown {
      if (typeof value !== 'string') return null
      const [type = '', field = ''] = value.split(' ', 2)
      const text = value.slice(type.length + field.length + 2)
      const converted = conversions.toStored(type, text)
      if (converted !== undefined) return converted
      throw new RangeError(
        `${field}: ${JSON.stringify(text.slice(0, 60))} cannot be converted to ${type}`,
      )
    },

    /** Combines the sums of digit groups, the most significant first, to text that sorts like the numbers. */
    filigree_sum(value: unknown): unknown {
      if (typeof value !== 'string') return null
      return decimals.toSortable(decimals.joinChunks(value.split(' ')).toString(), 60)
    },

    /** The average, from a count and the sums of digit groups. Halves are rounded away from zero. */
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

/** `decimals` is used by the SQL functions and by the code that reads rows. */
export const { decimals, sql: sqlFunctions } = makeFunctions()

/** JavaScript source of an expression whose value is the object of SQL functions. */
export const functionsProgram = `(${makeFunctions.toString()})().sql`
