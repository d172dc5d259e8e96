/** What the contenders of the row `records` are called with. */

/** The key that call `n` looks for: another one each time, all of them there. */
export const keyOf = (n) => (n % 1000) + 1

export const listLimit = 50

/** A hundred thousand rows without keys, made before the clock runs. */
export const manyRows = Array.from({ length: 100_000 }, (_, n) => ({
  name: `Lamp ${n}`,
  price: (n % 400) / 4,
  categoryId: (n % 20) + 1,
}))

/** Rows in one statement, for contenders that write several rows with it. */
export const batchSize = 1000

export function* inBatches(rows) {
  for (let start = 0; start < rows.length; start += batchSize) {
    yield rows.slice(start, start + batchSize)
  }
}
