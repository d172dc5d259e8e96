/** Rows of texts as a table for people. */

/** Columns are as wide as their longest text; the last one is not filled. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((text, place) => (widths[place] = Math.max(widths[place] ?? 0, text.length)))
  return rows
    .map((row) =>
      row
        .map((text, place) => (place === row.length - 1 ? text : text.padEnd(widths[place] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}
