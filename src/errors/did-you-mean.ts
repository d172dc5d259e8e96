/** Suggests the known name closest to a mistyped one. */

/**
 * Returns a sentence to append to a message about an unknown name.
 *
 * @returns `Did you mean "int"?`, or an empty string if no name is similar enough
 */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = suggestion(name, candidates)
  return nearest === undefined ? '' : `Did you mean "${nearest}"?`
}

/**
 * Returns the known name that is close enough to be a typing error, ignoring case. Names of up to four letters may
 * differ by one edit. Longer names may differ by two edits or a third of the length. Prefixes count as close.
 */
export function suggestion(name: string, candidates: Iterable<string>): string | undefined {
  const target = name.toLowerCase()
  let best: string | undefined
  const reach = name.length <= 4 ? 1 : Math.max(2, Math.floor(name.length / 3))
  let bestDistance = reach + 1
  for (const candidate of candidates) {
    const distance = nearness(target, candidate.toLowerCase(), reach)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function nearness(target: string, candidate: string, reach: number): number {
  if (target === candidate) return 0
  if (candidate.length >= 2 && (target.startsWith(candidate) || candidate.startsWith(target))) {
    return Math.min(reach, 2, Math.abs(target.length - candidate.length))
  }
  return editDistance(target, candidate)
}

/** Damerau–Levenshtein distance. Swapping two adjacent letters counts as one edit. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1
      let distance = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + cost,
      )
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) distance = Math.min(distance, (beforeLast[column - 2] ?? 0) + 1)
      current.push(distance)
    }
    beforeLast = last
    last = current
  }
  return last[b.length] ?? 0
}
