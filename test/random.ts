/** Reproducible random numbers for tests and measurements. */

/** The seed of property tests. Each run tests the same cases; set SEED to test others. */
export const seed = Number(process.env.SEED ?? 7)

/** @returns a function for integers from 0 to `below` − 1. The same seed gives the same numbers. */
export function randomNumbers(seed: number): (below: number) => number {
  const random = createRandom(seed)
  return (below) => Math.floor(random() * below)
}

/** @returns how many rounds a property test runs: by default `count`. `ROUNDS=10` runs ten times as many. */
export function rounds(count: number): number {
  return Math.ceil(count * Number(process.env.ROUNDS ?? 1))
}

/** The same numbers for the same seed (mulberry32), from 0 up to 1. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
