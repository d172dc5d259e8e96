/** The state of a response from the arrival of its request until its last byte. */
import { checkHeader } from './header-checks.js'
import { HeaderList } from './header-list.js'
import type { Outgoing } from './node-messages.js'

/** A stream in the result of a handler or an interceptor. */
export interface ReturnedStream {
  readonly body: object
  /** Runs work in the asynchronous context in which the stream was returned. */
  readonly runInContext: (work: () => void) => void
}

/** What the writers of a response's body use of its request. */
export interface RespondingRequest {
  readonly outgoing: Outgoing
  readonly route?: object | undefined
  readonly response: Pick<PendingResponse, 'sentBytes'>
}

export class PendingResponse {
  /** Headers that steps and handlers collected, which are sent with any response. */
  headers: HeaderList | undefined = undefined
  /** The request headers that the response depends on: bits of `cache-headers.ts`. */
  varyBits = 0
  /** Streams in results of handlers and interceptors. Streams that are not sent are released. */
  streams: ReturnedStream[] | undefined = undefined
  /** True after JSON that depends on the caller was written for the response. */
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
    this.addUnchecked(name, value)
  }

  addUnchecked(name: string, value: string): void {
    this.headers ??= new HeaderList()
    this.headers.add(name, value)
  }

  /** Replaces a header of that name that was added before, unless the header may repeat. Throws as `addHeader` does. */
  setHeader(name: string, value: string): void {
    checkHeader(name, value)
    this.headers ??= new HeaderList()
    this.headers.set(name, value)
  }

  addHeaders(headers: HeaderList): void {
    if (this.headers === undefined) this.headers = headers.copy()
    else this.headers.addAll(headers)
  }

  /** @param bits the request headers that the response depends on: bits of `cache-headers.ts` */
  varyOn(bits: number): void {
    this.varyBits |= bits
  }
}
