/** Layers of engines: each replaces some calls of another engine. */
import type { Engine, PoolState, RequestStatements, Runner } from './contract/engine.js'

/**
 * An engine that does the same as another one, except the members that a layer replaces. The other engine may be an instance
 * of a class, whose methods need their `this`.
 */
export function createLayer(engine: Engine, replaced: Partial<Engine>): Engine {
  const { dialect, status, schema, requests, batching, processes, backup, copying } = engine
  return {
    dialect,
    status,
    run: (statement, values, resultKind) => engine.run(statement, values, resultKind),
    begin: (options) => engine.begin(options),
    schema,
    requests,
    batching,
    processes,
    backup,
    copying,
    close: () => engine.close(),
    ...replaced,
  }
}

/** Runs statements in order on a runner around the engine's own. */
export function wrapInOrder(
  inOrder: RequestStatements['inOrder'],
  wrap: (runner: Runner) => Runner,
): RequestStatements['inOrder'] {
  return (
    inOrder &&
    ((send, writing) =>
      inOrder((runner) => {
        send(wrap(runner))
      }, writing))
  )
}

/** The state of an engine without a connection pool. */
export const noPool: PoolState = Object.freeze({ maxConnections: 0, open: 0, idle: 0, waiting: 0 })
