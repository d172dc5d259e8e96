/** Adds the trace to requests of `fetch`: undici, which implements it, publishes each request before it is sent. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { context, propagation, trace } from './opentelemetry.js'

/** The part of undici's request that is used. */
interface OutgoingRequest {
  readonly headers?: string | readonly unknown[]
  addHeader(name: string, value: string): unknown
}

const created = 'undici:request:create'

/** @returns a function that ends it */
export function injectIntoFetch(): () => void {
  subscribe(created, inject)
  return () => {
    unsubscribe(created, inject)
  }
}

function inject(message: unknown): void {
  const active = context.active()
  if (trace.getSpanContext(active) === undefined) return
  const { request } = message as { request: OutgoingRequest }
  // A header that a handler or an instrumentation has set stays.
  if (names(request.headers).includes('traceparent')) return
  const headers: Record<string, string> = {}
  propagation.inject(active, headers)
  for (const [name, value] of Object.entries(headers)) request.addHeader(name, value)
}

/** Older versions have lines of text, newer ones names and values in turn. */
function names(headers: string | readonly unknown[] = []): string[] {
  const list =
    typeof headers === 'string'
      ? headers.split('\r\n').map((line) => line.split(':', 1)[0] ?? '')
      : headers.filter((_, index) => index % 2 === 0).map(String)
  return list.map((name) => name.toLowerCase())
}
