/** Output of commands: reports, tables, JSON, times, sizes, and files. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Paint } from '../core/paint.js'
import type { Terminal } from './command.js'

/** Writes the file of `--out`, in a folder that is created, and says so. */
export async function writeOutput(path: string, text: string, terminal: Terminal): Promise<void> {
  const file = resolve(terminal.cwd, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  await terminal.err(`Written: ${path}\n`)
}

/** Colours the report of configuration problems that `describeError` writes. */
export function paintReport(report: string, paint: Paint): string {
  return report
    .split('\n')
    .map((line, index) => {
      const [, code, message] = /^(error\[\w+\]:)(.*)$/.exec(line) ?? []
      if (code !== undefined) return `${paint('red', code)}${paint('bold', message ?? '')}`
      const [, arrow, location] = /^( +--> )(.+)$/.exec(line) ?? []
      if (arrow !== undefined) return paint('dim', arrow) + paint('cyan', location ?? '')
      const [, gutter, marks] = /^( +\| +)(\^+)$/.exec(line) ?? []
      if (gutter !== undefined) return paint('dim', gutter) + paint('red', marks ?? '')
      const [, number, source] = /^( *\d* +\|)(.*)$/.exec(line) ?? []
      if (number !== undefined) return paint('dim', number) + (source ?? '')
      const [, equals, fix] = /^( += )(.*)$/.exec(line) ?? []
      if (equals !== undefined) return paint('dim', equals) + paint('green', fix ?? '')
      return index === 0 ? paint('red', line) : line
    })
    .join('\n')
}

/** Writes a value as JSON with a line feed. */
export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** @returns the rows as lines of a text table. Each column except the last is as wide as its longest text. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((text, column) => (widths[column] = Math.max(widths[column] ?? 0, widthOf(text))))
  const lines = rows.map((row) => {
    const cells = row.map((text, column) =>
      column === row.length - 1 ? text : text + ' '.repeat((widths[column] ?? 0) - widthOf(text)),
    )
    return `${cells.join('  ').trimEnd()}\n`
  })
  return lines.join('')
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}

/** Headings of a table, bold in a terminal with colours. */
export function toHeading(paint: Paint, ...headings: readonly string[]): string[] {
  return headings.map((heading) => paint('bold', heading))
}

/** @returns `1 problem`, `3 problems` */
export function countOf(count: number, label: string): string {
  return `${count} ${label}${count === 1 ? '' : 's'}`
}

/** @returns a time for people: `85 ms`, `1.2 s`, `2 min 5 s` */
export function describeTime(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** @returns a size for people: `512 bytes`, `3.4 MB` */
export function describeSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  const units = ['kB', 'MB', 'GB', 'TB']
  const exponent = Math.min(units.length, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** exponent).toFixed(1)} ${units[exponent - 1] ?? ''}`
}
