/**
 * Reports floating promises of handlers in development, with the route: promises in a result, which JSON writes as
 * `{}`, and rejections that are never awaited.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, isThenable } from '../core/maybe-promise.js'
import type { Log } from '../core/log.js'
import { Reply } from '../http/reply.js'
import type { Invoker } from './invoker.js'

const running = new AsyncLocalStorage<string>()

/** The route or job that started the running code; `undefined` outside of them, or if promises are not followed. */
export function routeOfPromise(): string | undefined {
  return running.getStore()
}

export interface PromiseWatch {
  readonly log: Log
  /** Whether to follow promises always, or only for the first handlers of the process. Following reduces throughput. */
  readonly follows: 'always' | 'first'
}

/** Maximum requests per process to follow outside production and development. Further requests cost nothing. */
const maxFollowed = 1_000
let followed = 0

/** @param name name of the work for the log, such as a route or a job */
export function followPromises<Given, Result>(
  work: (input: Given) => Result,
  name: string,
  { follows }: Pick<PromiseWatch, 'follows'>,
): (input: Given) => Result {
  if (follows === 'always') return (input) => running.run(name, work, input)
  return (input) => {
    if (followed >= maxFollowed) return work(input)
    if (++followed < maxFollowed) return running.run(name, work, input)
    // Promises regain full speed, as if none had been followed.
    running.disable()
    return work(input)
  }
}

/** @param name name of the route for the log */
export function watchPromises(invoke: Invoker, name: string, watch: PromiseWatch): Invoker {
  const { log } = watch
  const run = followPromises(invoke, name, watch)
  let remaining = maxInspectedResults
  return (request) => {
    if (remaining === 0) return run(request)
    return after(run(request), (result) => {
      if (remaining === 0) return result
      remaining--
      const path = findPromise(result)
      if (path === undefined) return result
      remaining = 0
      log.warn(
        { code: 'FORGOTTEN_AWAIT', route: name, path },
        `${name} returns a promise at ${path}, which is sent as {}. Await it first.`,
      )
      return result
    })
  }
}

/** Maximum results per route to inspect. A missing await shows in the first results, and later ones cost nothing. */
const maxInspectedResults = 100

/** Finds the path of the first promise in a result, e.g. `items.0.owner`. */
function findPromise(result: unknown): string | undefined {
  const body: unknown = result instanceof Reply ? result.body : result
  const waiting: PendingValue[] = [{ value: body, path: '' }]
  // The loop also visits values that it adds meanwhile.
  for (const { value, path } of waiting) {
    if (waiting.length > maxInspectedValues) return undefined
    if (!isData(value)) continue
    for (const [key, member] of Object.entries(value)) {
      const memberPath = path === '' ? key : `${path}.${key}`
      if (isThenable(member)) return memberPath
      if (typeof member === 'object' && member !== null)
        waiting.push({ value: member, path: memberPath })
    }
  }
  return undefined
}

interface PendingValue {
  readonly value: unknown
  readonly path: string
}

/** Maximum objects and lists to inspect in one result, including circular ones. */
const maxInspectedValues = 1_000

/** True for values that JSON writes by their members. False for bytes, streams and objects with `toJSON`. */
function isData(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    !ArrayBuffer.isView(value) &&
    !(Symbol.asyncIterator in value) &&
    !('toJSON' in value) &&
    !('pipe' in value)
  )
}
