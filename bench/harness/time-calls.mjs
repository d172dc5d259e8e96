/** Asks contenders that answer calls in their own process: what they answer, and how long it takes. */
import { isDeepStrictEqual } from 'node:util'

/** @throws {Error} what the contender threw, or that it ended */
function askChild({ child }, question) {
  return new Promise((resolve, reject) => {
    const end = () => reject(new Error('ended without an answer'))
    child.once('exit', end)
    child.once('message', (answer) => {
      child.off('exit', end)
      if (answer.error) reject(new Error(answer.error))
      else resolve(answer)
    })
    child.send(question)
  })
}

/** @throws {Error} when call `name` with `n` answers anything but `expected` */
export async function assertSameValue(server, { name, n, expected }) {
  const { value } = await askChild(server, { name, value: n })
  if (isDeepStrictEqual(value, expected)) return
  throw new Error(
    `${name}: answered ${JSON.stringify(value).slice(0, 300)} instead of ${JSON.stringify(expected).slice(0, 300)}`,
  )
}

/** @returns `perSecond`, and `cost` in microseconds of processor time a call */
export const timeCalls = (server, name, { seconds, inFlight }) =>
  askChild(server, { name, milliseconds: seconds * 1000, inFlight })

/** @returns the `seconds` of one call */
export const timeCall = (server, name) => askChild(server, { name, once: true })
