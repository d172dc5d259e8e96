/**
 * Reads and writes `traceparent` and `tracestate`, if the application has no propagator of its own.
 * Source: W3C Trace Context, Level 1, §3.2 and §3.3.
 */
import {
  createTraceState,
  isSpanContextValid,
  trace,
  TraceFlags,
  type Context,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
} from './opentelemetry.js'

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

export class TraceContext implements TextMapPropagator {
  inject(from: Context, carrier: unknown, setter: TextMapSetter): void {
    const found = trace.getSpanContext(from)
    if (found === undefined || !isSpanContextValid(found)) return
    const flags = (found.traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
    setter.set(carrier, 'traceparent', `00-${found.traceId}-${found.spanId}-${flags}`)
    const state = found.traceState?.serialize() ?? ''
    if (state !== '') setter.set(carrier, 'tracestate', state)
  }

  extract(into: Context, carrier: unknown, getter: TextMapGetter): Context {
    const [, version, traceId = '', spanId = '', flags = '0', more] =
      form.exec(firstOf(getter.get(carrier, 'traceparent'))?.trim() ?? '') ?? []
    // Version ff is invalid, and version 00 has nothing after the flags.
    if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) {
      return into
    }
    const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
    const found = { traceId, spanId, traceFlags, isRemote: true }
    if (!isSpanContextValid(found)) return into
    const state = firstOf(getter.get(carrier, 'tracestate'))
    const traceState = state === undefined ? undefined : createTraceState(state)
    return trace.setSpanContext(into, { ...found, ...(traceState && { traceState }) })
  }

  fields(): string[] {
    return ['traceparent', 'tracestate']
  }
}

function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
