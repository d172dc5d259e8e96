/**
 * Names the route of promises that a handler forgot, in development: one in its answer, which JSON makes `{}`, and one
 * that nobody waits for and that fails.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, isThenable } from '../core/maybe-promise.js'
import type { Log } from '../core/log.js'
import { Reply } from '../http/reply.js'
import type { Invoker } from './invoker.js'

const running = new AsyncLocalStorage<string>()

/** The route or job that began what runs now; `undefined` where that is not followed, and outside of those. */
export function routeOfPromise(): string | undefined {
  return running.getStore()
}

export interface PromiseWatch {
  readonly log: Log
  /** Follows handlers through promises, which costs a part of the throughput: always, or the first ones of the process. */
  readonly follows: 'always' | 'first'
}

/** Requests of a process that are followed where it is neither in production nor in development: the rest cost nothing. */
const maxFollowed = 1_000
let followed = 0

/** @param name of the work, for the log: a route's, a job's */
export function followPromises<Given, Result>(
  work: (input: Given) => Result,
  name: string,
  { follows }: Pick<PromiseWatch, 'follows'>,
): (input: Given) => Result {
  if (follows === 'always') return (input) => running.run(name, work, input)
  return (input) => {
    if (followed >= maxFollowed) return work(input)
    if (++followed < maxFollowed) return running.run(name, work, input)
    // Promises are as fast again as if none had been followed.
    running.disable()
    return work(input)
  }
}

/** @param name the route's, for the log */
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
        `${name} answers a promise at ${path}, which is sent as {}: await it first.`,
      )
      return result
    })
  }
}

/** Answers of a route that are looked at: who forgot an await finds it in the first ones, and the rest cost nothing. */
const maxInspectedResults = 100

/** Where the first promise of an answer is, e.g. `items.0.owner`. */
function findPromise(result: unknown): string | undefined {
  const body: unknown = result instanceof Reply ? result.body : result
  const waiting: PendingValue[] = [{ value: body, path: '' }]
  // What is added meanwhile is looked at too.
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

/** Objects and lists looked at in one answer, circles among them. */
const maxInspectedValues = 1_000

/** True for what JSON writes by its members; not for bytes, streams and what says its JSON itself. */
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
