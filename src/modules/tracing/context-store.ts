/**
 * Where running code finds its tracing context. The framework runs work in the store of a channel; OpenTelemetry asks
 * its context manager. If the application has none, the store is the manager; otherwise the store runs work in both.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  type Context,
  type ContextManager,
} from './opentelemetry.js'
import { TraceContext } from './trace-context.js'

export class ContextStore extends AsyncLocalStorage<Context> {
  /** True if the application brought its own context manager. */
  isForeign = false

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
    if (!this.isForeign) return super.run(store, callback, ...args)
    return super.run(store, () => context.with(store, callback, undefined, ...args))
  }
}

/**
 * Sets defaults for what the application has not set: a context manager, and the propagation of `traceparent`.
 *
 * @param ends receives functions that undo this
 */
export function installDefaults(ends: (() => void)[]): ContextStore {
  const store = new ContextStore()
  if (hasManager()) store.isForeign = true
  else {
    context.setGlobalContextManager(new StoreManager(store))
    ends.push(() => {
      context.disable()
    })
  }
  if (propagation.fields().length === 0) {
    propagation.setGlobalPropagator(new TraceContext())
    ends.push(() => {
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
