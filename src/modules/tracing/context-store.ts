/** Stores the current tracing context, and makes it the active context of OpenTelemetry. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  context,
  createContextKey,
  ROOT_CONTEXT,
  type Context,
  type ContextManager,
} from './opentelemetry.js'

/** Diagnostics channels are bound to this store: the context of an event is active while its work runs. */
export class ContextStore extends AsyncLocalStorage<Context> {
  #hasCustomManager = false

  /**
   * Registers a context manager that reads this store, unless the application has registered another manager.
   *
   * @returns a function that undoes this
   */
  install(): () => void {
    this.#hasCustomManager = isManagerRegistered()
    if (this.#hasCustomManager) return () => undefined
    context.setGlobalContextManager(new StoreManager(this))
    return () => {
      context.disable()
    }
  }

  override run<R>(active: Context, callback: () => R): R
  override run<R, Args extends unknown[]>(
    active: Context,
    callback: (...args: Args) => R,
    ...args: Args
  ): R
  override run<R, Args extends unknown[]>(
    active: Context,
    callback: (...args: Args) => R,
    ...args: Args
  ): R {
    return this.#hasCustomManager
      ? context.with(active, callback, undefined, ...args)
      : super.run(active, callback, ...args)
  }
}

/** Without a manager, `context.with` ignores its context. */
function isManagerRegistered(): boolean {
  const key = createContextKey('filigree')
  return context.with(
    ROOT_CONTEXT.setValue(key, true),
    () => context.active().getValue(key) === true,
  )
}

/** The active context is the one in the store. */
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
