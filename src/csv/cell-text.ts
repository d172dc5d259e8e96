/**
 * Reads and writes the cells of CSV (RFC 4180) as spreadsheets do. Text that a spreadsheet would run as a formula gets a leading
 * apostrophe.
 */

/** The text of a cell, and whether it was quoted. A quoted empty cell is an empty text. An unquoted one has no value. */
export interface Cell {
  readonly text: string
  readonly quoted: boolean
}

/** The first characters of formulas. Spreadsheets also accept a leading line feed and the full-width forms. */
const formulaStart = '[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]'
const formula = new RegExp(`^'*${formulaStart}`)
const escapedFormula = new RegExp(`^'+${formulaStart}`)
/** What separates cells somewhere: spreadsheets of many countries read `;`, and pasted text is divided at tabs. */
const separators = /[",;\t\r\n]/
const numberText = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** @param value a JSON value */
export function writeCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === '') return '""'
  const safe = formula.test(text) && !numberText.test(text) ? `'${text}` : text
  return separators.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** @returns undefined unless the text is a number as `writeCell` and spreadsheets write it, such as `1e-7` and `1E+21` */
export function readNumber(text: string): number | undefined {
  const value = numberText.test(text) ? Number(text) : NaN
  return Number.isFinite(value) ? value : undefined
}

export function writeLine(values: readonly unknown[]): string {
  return `${values.map(writeCell).join(',')}\r\n`
}

/** Reverses the escaping of `writeCell`. */
export function readCell(text: string): string {
  return escapedFormula.test(text) ? text.slice(1) : text
}
