/**
 * The response to a request, while it is built and sent. Steps and handlers collect headers for it before it exists.
 * Written by `http/`.
 */
import { checkHeader } from './header-checks.js'
import { HeaderList } from './header-list.js'
import type { Outgoing } from './node-messages.js'

/** A stream in the result of a handler or an interceptor. */
export interface ReturnedStream {
  readonly body: object
  /** Runs work in the asynchronous context in which the stream was returned. */
  readonly runInContext: (work: () => void) => void
}

/** A response that is being sent. */
export interface Sending {
  readonly outgoing: Outgoing
  readonly route?: object | undefined
  readonly response: Pick<PendingResponse, 'sentBytes'>
}

export class PendingResponse {
  /** Collected headers, which are sent with any response. */
  headers: HeaderList | undefined = undefined
  /** The request headers that it depends on: bits of `cache-headers.ts`. */
  dependsOn = 0
  /** Streams in results of handlers and interceptors. Streams that are not sent are released. */
  streams: ReturnedStream[] | undefined = undefined
  /** True after JSON that depends on the caller was written for it. */
  jsonDependsOnCaller = false
  /** The error of a 5xx response, if there is one. */
  failure: unknown = undefined
  /** Bytes of the body so far. */
  sentBytes = 0
  /** The start of the request by the monotonic clock, if there are observers. */
  startTime = 0

  /** Adds a header. @throws {TypeError} if the name or the value cannot be sent */
  addHeader(name: string, value: string): void {
    checkHeader(name, value)
    this.addChecked(name, value)
  }

  addChecked(name: string, value: string): void {
    this.headers ??= new HeaderList()
    this.headers.add(name, value)
  }

  /** As `addHeader`, but replaces a header that was added by that name, unless it may repeat. */
  setHeader(name: string, value: string): void {
    checkHeader(name, value)
    this.headers ??= new HeaderList()
    this.headers.set(name, value)
  }

  /** Adds the headers of a route. */
  addAll(headers: HeaderList): void {
    if (this.headers === undefined) this.headers = headers.copy()
    else this.headers.addAll(headers)
  }

  /** @param bits of `cache-headers.ts` */
  varyOn(bits: number): void {
    this.dependsOn |= bits
  }
}
