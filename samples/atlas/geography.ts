/** Distances on the globe, and cells of one degree that make the search for neighbours short. */

export interface Place {
  readonly lat: number
  readonly lng: number
}

/** A square of one degree, e.g. `64:-22`. */
export type Cell = string

const kilometresPerDegree = 111.2
const earthRadius = 6371

export function toCell({ lat, lng }: Place): Cell {
  return `${Math.floor(lat)}:${Math.floor(lng)}`
}

/** Every cell that a circle may touch, across the date line and around the poles. */
export function cellsAround({ lat, lng }: Place, kilometres: number): Set<Cell> {
  const rows = Math.ceil(kilometres / kilometresPerDegree)
  const widest = Math.min(89, Math.abs(lat) + rows)
  const columns = Math.min(180, Math.ceil(rows / Math.cos((widest * Math.PI) / 180)))
  const cells = new Set<Cell>()
  for (let row = -rows; row <= rows; row++) {
    for (let column = -columns; column <= columns; column++) {
      const around = ((((lng + column + 180) % 360) + 360) % 360) - 180
      cells.add(toCell({ lat: lat + row, lng: around }))
    }
  }
  return cells
}

/** Great-circle distance in kilometres (haversine). */
export function distance(a: Place, b: Place): number {
  const toRadians = Math.PI / 180
  const half = (from: number, to: number): number => Math.sin(((to - from) * toRadians) / 2) ** 2
  const chord =
    half(a.lat, b.lat) +
    Math.cos(a.lat * toRadians) * Math.cos(b.lat * toRadians) * half(a.lng, b.lng)
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(chord)))
}
