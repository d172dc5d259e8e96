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
 * @param targets `{ figure?, of, over?, atLeast | atMost }`: the contender's median, divided by that of `over` where one is named; `figure` is a position, 0 by default
 * @returns `{ text, value, holds }`; targets whose contenders were not measured are left out
 */
export function judge(targets, figures) {
  return targets.flatMap(({ figure = 0, of, over, atLeast, atMost }) => {
    const { name, unit, contenders } = figures[figure] ?? { contenders: {} }
    if (!contenders[of] || (over && !contenders[over])) return []
    const value = contenders[of].median / (over ? contenders[over].median : 1)
    const limit = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`
    const text = over ? `${limit} × ${over}` : `${limit} ${unit}`
    const holds = atLeast === undefined ? value <= atMost : value >= atLeast
    return [{ text: `${of}, ${name}: ${text}`, value, holds }]
  })
}
