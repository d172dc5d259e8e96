/** Lets the runner time what a contender does in its own process, without HTTP. */
import { announce } from '../contract.mjs'

/** Calls until the time is over; synchronous answers are not waited for. */
async function callFor(call, milliseconds, state) {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    for (let n = 0; n < 16; n++) {
      const answer = call(state.calls++)
      if (answer instanceof Promise) await answer
    }
  }
}

/** Calls a second, and the microseconds of processor that this process used for one. */
async function time(call, { milliseconds, inFlight }) {
  const state = { calls: 0 }
  const used = process.cpuUsage()
  const start = performance.now()
  await Promise.all(Array.from({ length: inFlight }, () => callFor(call, milliseconds, state)))
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(used)
  return { perSecond: state.calls / seconds, cost: (user + system) / state.calls }
}

async function timeOnce(call) {
  const start = performance.now()
  await call(0)
  return { seconds: (performance.now() - start) / 1000 }
}

/**
 * Answers the runner's questions, and says that it does.
 *
 * @param calls `{ find(n), list(n), … }`; `n` counts up, for other arguments in every call
 */
export function answerCalls(calls) {
  process.on('message', async ({ name, value, once, milliseconds, inFlight = 1 }) => {
    try {
      const call = calls[name]
      if (value !== undefined) process.send({ value: (await call(value)) ?? null })
      else process.send(once ? await timeOnce(call) : await time(call, { milliseconds, inFlight }))
    } catch (error) {
      process.send({ error: String(error.stack) })
    }
  })
  announce('in-process')
}
