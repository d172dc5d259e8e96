/** Prints the measurements of a row as a table: medians, spread, and the ratio to Filigree. */

import { isBesideName } from './contenders.mjs'

/** Three significant digits, with separators: `81,200`, `3.42`. */
export function formatNumber(value) {
  const digits =
    Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

function toLines({ name, unit, better, contenders }) {
  const own = contenders.Filigree?.median
  const cells = Object.entries(contenders).map(([contender, { median, rounds }]) => [
    contender,
    formatNumber(median),
    `${formatNumber(Math.min(...rounds))} – ${formatNumber(Math.max(...rounds))}`,
    own === undefined || median <= 0 ? '' : `${(own / median).toFixed(2)} ×`,
  ])
  const heads = [`${name} (${better} is better)`, unit, 'lowest – highest', 'Filigree is']
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...cells.map((line) => line[column].length)),
  )
  const pad = (line) =>
    line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]),
    )
  return [heads, ...cells].map((line) => `  ${pad(line).join('   ')}`)
}

/** The text of one measured row: its tables, targets and failures. */
export function formatRow({ name, title, figures, targets, failures }) {
  const lines = ['', `${name}: ${title}`]
  for (const figure of figures) {
    if (Object.keys(figure.contenders).length > 0) lines.push('', ...toLines(figure))
  }
  if (targets.length > 0) lines.push('')
  for (const { text, value, holds } of targets) {
    lines.push(`  ${holds ? 'holds ' : 'MISSED'}  ${text}: ${value.toFixed(3)}`)
  }
  if (failures.length > 0) lines.push('')
  for (const { contender, reason } of failures) {
    lines.push(`  ${isBesideName(contender) ? 'ABSENT' : 'FAILED'}  ${contender}: ${reason}`)
  }
  return lines.join('\n')
}
