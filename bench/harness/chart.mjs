/** Draws the numbers as bars: one SVG without scripts or fonts of its own, legible on light and dark pages. */
import { formatNumber } from './table.mjs'

const width = 760
const labelWidth = 260
const valueWidth = 150
const barRoom = width - labelWidth - valueWidth
const barHeight = 16
const barStep = 23
const panelHead = 44
const panelGap = 18

const style = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .unit, .foot { fill: #59636e; font-size: 12px }
  .page { fill: #ffffff; stroke: #d1d9e0 }
  .own { fill: #b4530a } .peer { fill: #8c96a0 } .own-text { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .unit, .foot { fill: #9198a1 }
    .page { fill: #0d1117; stroke: #3d444d } .own { fill: #f0883e } .peer { fill: #656c76 }
  }`

const escape = (text) =>
  text.replace(
    /[&<>"]/g,
    (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign],
  )

/** The first measurement of a row, with the best contender on top. */
function drawPanel({ title, figures: [figure] }, top) {
  const sign = figure.better === 'higher' ? -1 : 1
  const bars = Object.entries(figure.contenders).sort((a, b) => sign * (a[1].median - b[1].median))
  const longest = Math.max(...bars.map(([, { median }]) => median))
  const lines = [
    `<text class="title" x="20" y="${top + 18}">${escape(title)}</text>`,
    `<text class="unit" x="20" y="${top + 35}">${escape(`${figure.unit}, ${figure.better} is better`)}</text>`,
  ]
  bars.forEach(([name, { median }], position) => {
    const y = top + panelHead + position * barStep
    const length = Math.max(2, (median / longest) * barRoom)
    const own = name.startsWith('Filigree')
    const text = own ? ' class="own-text"' : ''
    lines.push(
      `<text${text} x="${labelWidth - 8}" y="${y + 13}" text-anchor="end">${escape(name)}</text>`,
      `<rect class="${own ? 'own' : 'peer'}" x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
      `<text${text} x="${(labelWidth + length + 8).toFixed(1)}" y="${y + 13}">${formatNumber(median)}</text>`,
    )
  })
  return { lines, height: panelHead + bars.length * barStep + panelGap }
}

/**
 * Draws the first measurement of every row that has a chart.
 *
 * @param results what `results.json` holds
 * @returns the SVG's text
 */
export function drawChart({ rows }) {
  const panels = []
  let height = 20
  for (const row of Object.values(rows)) {
    if (row.chart === false || Object.keys(row.figures[0].contenders).length === 0) continue
    const panel = drawPanel(row, height)
    panels.push(...panel.lines)
    height += panel.height
  }
  const machines = new Set(
    Object.values(rows).map(
      ({ machine }) =>
        `Node ${machine.node.slice(1)}, ${machine.cpu}, ${machine.cores} cores, ${machine.load}`,
    ),
  )
  for (const text of machines) {
    panels.push(`<text class="foot" x="20" y="${height + 8}">${escape(text)}</text>`)
    height += 18
  }
  height += 12
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Filigree beside its peers">
<style>${style}
</style>
<rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${panels.join('\n')}
</svg>
`
}
