/** The current tracing context: where it is stored, and how `traceparent` is read from requests and added to outgoing ones. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  createTraceState,
  isSpanContextValid,
  trace,
  TraceFlags,
  type Context,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  context,
  propagation,
  createContextKey,
  ROOT_CONTEXT,
  type ContextManager,
} from './opentelemetry.js'

/**
 * Reads and writes `traceparent` and `tracestate`, if the application has no propagator of its own.
 * Source: W3C Trace Context, Level 1, §3.2 and §3.3.
 */

const traceparentPattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

class TraceContext implements TextMapPropagator {
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

/** @returns a function that ends it */
export function injectIntoFetch(): () => void {
  subscribe(requestCreated, inject)
  return () => {
    unsubscribe(requestCreated, inject)
  }
}

function inject(message: unknown): void {
  const active = context.active()
  if (trace.getSpanContext(active) === undefined) return
  const { request } = message as { request: OutgoingRequest }
  // A header that was set by a handler or an instrumentation is not changed.
  if (names(request.headers).includes('traceparent')) return
  const headers: Record<string, string> = {}
  propagation.inject(active, headers)
  for (const [name, value] of Object.entries(headers)) request.addHeader(name, value)
}

/** Older versions of undici have lines of text, newer ones alternate names and values. */
function names(headers: string | readonly unknown[] = []): string[] {
  const list =
    typeof headers === 'string'
      ? headers.split('\r\n').map((line) => line.split(':', 1)[0] ?? '')
      : headers.filter((_, index) => index % 2 === 0).map(String)
  return list.map((name) => name.toLowerCase())
}

export class ContextStore extends AsyncLocalStorage<Context> {
  /** True if the application has a custom context manager. */
  hasCustomManager = false

  override run<R>(store: Context, callback: () => R): R
  override run<R, Args extends unknown[]>(
    store: Context,
    callback: (...args: Args) => R,
    ...args: Args
  ): R
  override run<R, Args extends unknown[]>(
    store: Context,
    callback: (...args: Args) => R,
    ...args: Args
  ): R {
    if (!this.hasCustomManager) return super.run(store, callback, ...args)
    return super.run(store, () => context.with(store, callback, undefined, ...args))
  }
}

/**
 * Sets defaults for what the application has not set: a context manager, and the propagation of `traceparent`.
 *
 * @param stopCallbacks receives functions that undo this
 */
export function installDefaults(stopCallbacks: (() => void)[]): ContextStore {
  const store = new ContextStore()
  if (hasManager()) store.hasCustomManager = true
  else {
    context.setGlobalContextManager(new StoreManager(store))
    stopCallbacks.push(() => {
      context.disable()
    })
  }
  if (propagation.fields().length === 0) {
    propagation.setGlobalPropagator(new TraceContext())
    stopCallbacks.push(() => {
      propagation.disable()
    })
  }
  return store
}

function hasManager(): boolean {
  const key = createContextKey('filigree')
  return context.with(
    ROOT_CONTEXT.setValue(key, true),
    () => context.active().getValue(key) === true,
  )
}

class StoreManager implements ContextManager {
  readonly #store: ContextStore

  constructor(store: ContextStore) {
    this.#store = store
  }

  active(): Context {
    return this.#store.getStore() ?? ROOT_CONTEXT
  }

  with<Args extends unknown[], F extends (...args: Args) => ReturnType<F>>(
    active: Context,
    callback: F,
    self?: ThisParameterType<F>,
    ...args: Args
  ): ReturnType<F> {
    return this.#store.run(active, () => callback.apply(self, args))
  }

  bind<T>(active: Context, target: T): T {
    if (typeof target !== 'function') return target
    const store = this.#store
    const bound = function (this: unknown, ...args: unknown[]): unknown {
      return store.run(active, () => Reflect.apply(target, this, args) as unknown)
    }
    return bound as T
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#store.disable()
    return this
  }
}
