/**
 * Draws the land of the map out of the package `world-countries` (its outlines are under the ODbL):
 * `node test/install.mjs test/tools`, then `node samples/atlas/draw-land.mjs > samples/atlas/page/assets/land.svg`
 *
 * The unit is a tenth of a degree, y grows southwards. Points that move an outline by less than 0.2° are left out, and
 * so are islands smaller than a twelfth of a square degree.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const tolerance = 0.2
const leastArea = 0.08

const tools = createRequire(new URL('../../test/tools/package.json', import.meta.url))
const folder = join(dirname(tools.resolve('world-countries')), 'data')

/** Douglas and Peucker: keeps the ends, and points further from the line between them. */
function simplify(points) {
  const [from, to] = [points[0], points.at(-1)]
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]]
  const length = Math.hypot(dx, dy)
  const away = ([x, y]) =>
    length === 0
      ? Math.hypot(x - from[0], y - from[1])
      : Math.abs(dy * (x - from[0]) - dx * (y - from[1])) / length
  let furthest = 0
  for (let index = 1; index < points.length - 1; index++) {
    if (away(points[index]) > away(points[furthest])) furthest = index
  }
  if (furthest === 0 || away(points[furthest]) <= tolerance) return [from, to]
  return [
    ...simplify(points.slice(0, furthest + 1)).slice(0, -1),
    ...simplify(points.slice(furthest)),
  ]
}

function areaOf(ring) {
  const sum = ring.reduce((total, [x, y], index) => {
    const [nextX, nextY] = ring[(index + 1) % ring.length]
    return total + x * nextY - nextX * y
  }, 0)
  return Math.abs(sum / 2)
}

/** A ring has no ends: it is simplified as two lines. */
function toPath(ring) {
  const half = Math.floor(ring.length / 2)
  const kept = [...simplify(ring.slice(0, half + 1)).slice(0, -1), ...simplify(ring.slice(half))]
  const points = kept.slice(0, -1).map(([x, y]) => [Math.round(x * 10), Math.round(y * -10)])
  if (points.length < 3) return ''
  const steps = points
    .slice(1)
    .map(([x, y], index) => [x - points[index][0], y - points[index][1]].join(' '))
  return `M${points[0].join(' ')}l${steps.join(' ')}z`.replaceAll(' -', '-')
}

const paths = readdirSync(folder)
  .filter((name) => name.endsWith('.geo.json'))
  .sort()
  .flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).features)
  .flatMap(({ geometry }) => {
    const { type, coordinates = [] } = geometry ?? {}
    return type === 'Polygon' ? [coordinates] : coordinates
  })
  .map(([outline]) => outline)
  .filter((outline) => outline?.length > 3 && areaOf(outline) > leastArea)
  .map(toPath)

console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1800 -900 3600 1800">
<!-- Written by draw-land.mjs out of world-countries (ODbL). -->
<path id="land" d="${paths.join('')}"/>
</svg>`)
