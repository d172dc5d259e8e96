/**
 * Reads `traceparent` and `tracestate` from requests, and adds them to the requests of `fetch`.
 * Source: W3C Trace Context, Level 1, §3.2 and §3.3.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  context,
  createTraceState,
  isSpanContextValid,
  propagation,
  trace,
  TraceFlags,
  type Context,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
} from './opentelemetry.js'

/** Registers the propagator of this file, unless the application has registered another one. @returns a function that undoes this */
export function installPropagator(): () => void {
  if (propagation.fields().length > 0) return () => undefined
  propagation.setGlobalPropagator(new TraceContextPropagator())
  return () => {
    propagation.disable()
  }
}

const traceparentPattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

class TraceContextPropagator implements TextMapPropagator {
  inject(from: Context, carrier: unknown, setter: TextMapSetter): void {
    const spanContext = trace.getSpanContext(from)
    if (spanContext === undefined || !isSpanContextValid(spanContext)) return
    const flags = (spanContext.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
    setter.set(carrier, 'traceparent', `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`)
    const state = spanContext.traceState?.serialize() ?? ''
    if (state !== '') setter.set(carrier, 'tracestate', state)
  }

  extract(into: Context, carrier: unknown, getter: TextMapGetter): Context {
    const [, version, traceId = '', spanId = '', flags = '0', more] =
      traceparentPattern.exec(firstOf(getter.get(carrier, 'traceparent'))?.trim() ?? '') ?? []
    // Version ff is invalid, and version 00 has nothing after the flags.
    if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) {
      return into
    }
    const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
    const spanContext = { traceId, spanId, traceFlags, isRemote: true }
    if (!isSpanContextValid(spanContext)) return into
    const state = firstOf(getter.get(carrier, 'tracestate'))
    const traceState = state === undefined ? undefined : createTraceState(state)
    return trace.setSpanContext(into, { ...spanContext, ...(traceState && { traceState }) })
  }

  fields(): string[] {
    return ['traceparent', 'tracestate']
  }
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** The part of undici's request that is used. */
interface OutgoingRequest {
  readonly headers?: string | readonly unknown[]
  addHeader(name: string, value: string): unknown
}

const requestCreated = 'undici:request:create'

/** Adds the headers of the current trace to each request of `fetch`. @returns a function that stops this */
export function propagateInFetch(): () => void {
  subscribe(requestCreated, addTraceHeaders)
  return () => {
    unsubscribe(requestCreated, addTraceHeaders)
  }
}

function addTraceHeaders(message: unknown): void {
  const active = context.active()
  if (trace.getSpanContext(active) === undefined) return
  const { request } = message as { request: OutgoingRequest }
  // A header that was set by a handler or an instrumentation is not changed.
  if (headerNames(request.headers).includes('traceparent')) return
  const headers: Record<string, string> = {}
  propagation.inject(active, headers)
  for (const [name, value] of Object.entries(headers)) request.addHeader(name, value)
}

/** Older versions of undici store the headers as lines of text, newer versions as a list of names and values in turn. */
function headerNames(headers: string | readonly unknown[] = []): string[] {
  const list =
    typeof headers === 'string'
      ? headers.split('\r\n').map((line) => line.split(':', 1)[0] ?? '')
      : headers.filter((_, index) => index % 2 === 0).map(String)
  return list.map((name) => name.toLowerCase())
}
