/** The map: an equirectangular picture, x the longitude and y the latitude southwards, both in degrees. */
const map = document.getElementById('map')
const caption = document.getElementById('caption')
const zoom = document.getElementById('zoom')

/** Without Antarctica, which has no cities. */
const world = { left: -180, top: -84, width: 360, height: 144 }
/** The width of the closest view, in degrees. */
const closest = 36

let points = []
let others = []
let chosen
let view = world

/** @param {(place: { lat: number, lng: number }) => void} onPlace called with the selected place */
export function startMap(onPlace) {
  drawGround()
  new ResizeObserver(look).observe(map)
  zoom.addEventListener('click', () => {
    zoom.setAttribute('aria-pressed', String(!isZoomed()))
    look()
  })
  map.addEventListener('click', ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(map.getScreenCTM().inverse())
    onPlace({ lat: round(-y), lng: round(x) })
  })
  look()
}

/** @param {{ name: string, lat: number, lng: number }[]} cities the cities of the current page */
export function showCities(cities) {
  points = cities
  look()
}

/**
 * @param {{ name: string, lat: number, lng: number }[]} cities cities of other pages: fainter, and below the cities of the
 * page
 */
export function showOthers(cities) {
  others = cities
  look()
}

/** @param {{ lat: number, lng: number, name?: string } | undefined} place the place that is marked with a ring */
export function markPlace(place) {
  chosen = place
  look()
}

function look() {
  const seen = chosen === undefined ? [...points, ...others] : [chosen]
  zoom.hidden = seen.length === 0
  zoom.textContent = isZoomed() ? 'Whole world' : 'Zoom in'
  view = isZoomed() && seen.length > 0 ? around(seen) : world
  map.setAttribute('viewBox', `${view.left} ${view.top} ${view.width} ${view.height}`)
  // Text is drawn in degrees, too: it has to shrink with them.
  map.style.setProperty('--degree', String(view.width / world.width))
  drawGraticule()
  drawPoints()
  const names = points.slice(0, 3).map(({ name }) => name)
  const more = points.length > names.length ? ` and ${points.length - names.length} more` : ''
  const label = points.length === 0 ? 'Map of the world' : `Map with ${names.join(', ')}${more}`
  map.setAttribute('aria-label', label)
  caption.textContent = points.length === 0 ? '' : span(points)
}

const isZoomed = () => zoom.getAttribute('aria-pressed') === 'true'

/** The smallest view with the map's proportions that contains all places and some margin. */
function around(places) {
  const [west, east] = rangeOf(places.map(({ lng }) => lng))
  const [north, south] = rangeOf(places.map(({ lat }) => -lat))
  const shape = world.width / world.height
  const width = Math.max((east - west) * 1.3, (south - north) * 1.4 * shape, closest)
  if (width >= world.width) return world
  const height = width / shape
  return {
    left: within((west + east - width) / 2, world.left, world.left + world.width - width),
    top: within((north + south - height) / 2, -90, 90 - height),
    width,
    height,
  }
}

function drawGround() {
  map.replaceChildren(
    draw('rect', { class: 'sea', x: -180, y: -90, width: 360, height: 180 }),
    draw('use', { class: 'land', href: '/assets/land.svg#land', transform: 'scale(0.1)' }),
    draw('g', { class: 'graticule' }),
    draw('g', { class: 'points' }),
  )
}

function drawGraticule() {
  // On narrow screens there is room for half as many labels.
  const least = map.clientWidth < 500 ? 4 : 8
  const step = [60, 30, 15, 10, 5, 2, 1].find((degrees) => view.width / degrees >= least) ?? 1
  const right = view.left + view.width
  const bottom = view.top + view.height
  const size = view.width / world.width
  const parts = []
  for (let lng = Math.ceil(view.left / step) * step; lng <= right; lng += step) {
    parts.push(draw('path', { d: `M${lng} ${view.top}V${bottom}`, class: lng === 0 ? 'zero' : '' }))
    const place = { x: lng + size, y: bottom - 1.5 * size }
    if (right - lng > 18 * size) parts.push(draw('text', place, degrees(lng, 'E', 'W')))
  }
  for (let y = Math.ceil(view.top / step) * step; y <= bottom; y += step) {
    parts.push(draw('path', { d: `M${view.left} ${y}H${right}`, class: y === 0 ? 'zero' : '' }))
    const place = { x: view.left + size, y: y - size }
    if (bottom - y > 12 * size) parts.push(draw('text', place, degrees(-y, 'N', 'S')))
  }
  map.querySelector('.graticule').replaceChildren(...parts)
}

/** Lines of zero length with round ends: they keep their size in pixels at every zoom. */
function drawPoints() {
  const toPoint = ({ name, lat, lng }, kind) =>
    draw('path', { d: `M${lng} ${-lat}h0`, class: kind }, name)
  const parts = [
    ...others.map((city) => toPoint(city, 'other')),
    ...points.map((city) => toPoint(city, 'shown')),
  ]
  if (chosen !== undefined) parts.push(toPoint(chosen, 'ring'), toPoint(chosen, 'chosen'))
  map.querySelector('.points').replaceChildren(...parts)
}

/** @param {string} [text] the content of a text element, or the tooltip of any other */
function draw(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  if (text === undefined) return element
  if (name === 'text' || name === 'title') element.textContent = text
  else element.append(draw('title', {}, text))
  return element
}

function span(places) {
  const [south, north] = rangeOf(places.map(({ lat }) => lat))
  const [west, east] = rangeOf(places.map(({ lng }) => lng))
  const ends = [
    [degrees(south, 'N', 'S'), degrees(north, 'N', 'S')],
    [degrees(west, 'E', 'W'), degrees(east, 'E', 'W')],
  ]
  return ends.map(([from, to]) => (from === to ? from : `${from} to ${to}`)).join(', ')
}

const rangeOf = (values) => [Math.min(...values), Math.max(...values)]
const within = (value, least, most) => Math.min(Math.max(value, least), most)
const round = (value) => Math.round(value * 1000) / 1000

/** @returns {string} `64° N` */
export function degrees(value, positive, negative) {
  const side = value === 0 ? '' : ` ${value > 0 ? positive : negative}`
  return `${Math.round(Math.abs(value))}°${side}`
}
