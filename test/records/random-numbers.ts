/** Pseudo-random integers for tests. */

/** @returns a function that returns integers from 0 to `below` − 1. The same seed gives the same numbers in every run. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
