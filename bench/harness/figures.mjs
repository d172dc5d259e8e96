/** Medians and the ratios that count. */

/** The middle of the values; the mean of the two in the middle where their number is even. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Takes one property of every round: `{ a: [{ p99: 3 }] }` → `{ a: [3] }`. */
export const pick = (results, property) =>
  Object.fromEntries(
    Object.entries(results).map(([name, rounds]) => [name, rounds.map((round) => round[property])]),
  )

/**
 * One measured quantity of a row.
 *
 * @param values `{ contender: [one value a round] }`
 * @returns `{ name, unit, better: 'higher' | 'lower', contenders: { name: { median, rounds } } }`
 */
export function toFigure(name, unit, better, values) {
  const contenders = {}
  for (const [contender, rounds] of Object.entries(values)) {
    if (rounds.length > 0) contenders[contender] = { median: median(rounds), rounds }
  }
  return { name, unit, better, contenders }
}

/**
 * Judges a row's targets.
 *
 * @param targets `{ figure?, of, over?, atLeast | atMost | atMostMore }`: the contender's median, divided by that of `over` where one is named, or what it exceeds that by (`atMostMore`); `figure` is a position, 0 by default
 * @returns `{ text, value, holds }`; targets whose contenders were not measured are left out
 */
export function judge(targets, figures) {
  return targets.flatMap(({ figure = 0, of, over, ...limit }) => {
    const { name, unit, contenders } = figures[figure] ?? { contenders: {} }
    if (!contenders[of] || (over && !contenders[over])) return []
    const own = contenders[of].median
    const other = over && contenders[over].median
    const { wanted, value, holds } = weigh(limit, own, other, { unit, over })
    return [{ text: `${of}, ${name}: ${wanted}`, value, holds }]
  })
}

function weigh({ atLeast, atMost, atMostMore }, own, other, { unit, over }) {
  if (atMostMore !== undefined) {
    const value = own - other
    const wanted = `at most ${atMostMore} ${unit} more than ${over}`
    return { wanted, value, holds: value <= atMostMore }
  }
  const value = over ? own / other : own
  const against = over ? `× ${over}` : unit
  return atLeast === undefined
    ? { wanted: `at most ${atMost} ${against}`, value, holds: value <= atMost }
    : { wanted: `at least ${atLeast} ${against}`, value, holds: value >= atLeast }
}
