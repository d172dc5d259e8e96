/** Distances on the globe, and boxes of latitudes and longitudes that make the search for neighbours short. */

export interface Place {
  readonly lat: number
  readonly lng: number
}

export interface Range {
  readonly from: number
  readonly to: number
}

export interface Box {
  readonly lat: Range
  /** Two ranges if the box crosses the date line. */
  readonly lngs: readonly Range[]
}

const earthRadius = 6371
const toRadians = Math.PI / 180

/** The smallest box that contains the circle, also across the date line and around the poles. */
export function boxAround({ lat, lng }: Place, kilometres: number): Box {
  const angle = kilometres / earthRadius
  const rows = { from: lat - angle / toRadians, to: lat + angle / toRadians }
  const isAtPole = rows.from <= -90 || rows.to >= 90
  if (isAtPole) return { lat: rows, lngs: [{ from: -180, to: 180 }] }
  const width = Math.asin(Math.sin(angle) / Math.cos(lat * toRadians)) / toRadians
  return { lat: rows, lngs: aroundTheGlobe({ from: lng - width, to: lng + width }) }
}

function aroundTheGlobe({ from, to }: Range): Range[] {
  if (from < -180) {
    return [
      { from: from + 360, to: 180 },
      { from: -180, to },
    ]
  }
  if (to > 180) {
    return [
      { from, to: 180 },
      { from: -180, to: to - 360 },
    ]
  }
  return [{ from, to }]
}

/** Great-circle distance in kilometres (haversine). */
export function distance(a: Place, b: Place): number {
  const half = (from: number, to: number): number => Math.sin(((to - from) * toRadians) / 2) ** 2
  const chord =
    half(a.lat, b.lat) +
    Math.cos(a.lat * toRadians) * Math.cos(b.lat * toRadians) * half(a.lng, b.lng)
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(chord)))
}

export function toTenths(kilometres: number): number {
  return Math.round(kilometres * 10) / 10
}
