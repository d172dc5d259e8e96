/** The base class of engines that wrap another engine. It forwards everything unchanged. */
import type { MaybePromise } from '../core/maybe-promise.js'
import type {
  BeginOptions,
  Results,
  Engine,
  EngineChannel,
  PoolState,
  Runner,
  SchemaChangeOptions,
  Statement,
  TransactionRunner,
  Values,
  ResultKind,
  TableSize,
} from './contract/engine.js'
import type { Catalogue } from './contract/table-schema.js'
import type { Dialect } from './contract/dialect.js'

/** Optional methods. A layer has a method if the wrapped engine has it. */
const optionalMethods = [
  'backup',
  'clientReads',
  'followCallers',
  'inOrder',
  'isFileLost',
  'parameterTypes',
  'pool',
  'heartbeat',
  'externalWriteVersion',
] as const satisfies readonly (keyof Engine)[]

export abstract class EngineLayer implements Engine {
  readonly dialect: Dialect
  readonly driver: string
  readonly changesPiecemeal: boolean
  readonly channel: EngineChannel | undefined
  // Not readonly, because layers may replace them.
  backup?: Engine['backup'] | undefined
  clientReads?: Engine['clientReads'] | undefined
  followCallers?: Engine['followCallers'] | undefined
  inOrder?: Engine['inOrder'] | undefined
  isFileLost?: Engine['isFileLost'] | undefined
  parameterTypes?: Engine['parameterTypes'] | undefined
  pool?: Engine['pool'] | undefined
  heartbeat?: Engine['heartbeat'] | undefined
  externalWriteVersion?: Engine['externalWriteVersion'] | undefined
  protected readonly inner: Engine

  constructor(inner: Engine) {
    this.inner = inner
    this.dialect = inner.dialect
    this.driver = inner.driver
    this.changesPiecemeal = inner.changesPiecemeal
    this.channel = inner.channel
    for (const name of optionalMethods) {
      const method = inner[name]?.bind(inner)
      if (method !== undefined) Object.assign(this, { [name]: method })
    }
  }

  get isReadOnly(): boolean {
    return this.inner.isReadOnly === true
  }

  abstract run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): MaybePromise<Results[W]>

  begin(options?: BeginOptions): Promise<TransactionRunner> {
    return this.inner.begin(options)
  }

  changeSchema<T>(work: (runner: Runner) => Promise<T>, options?: SchemaChangeOptions): Promise<T> {
    return this.inner.changeSchema(work, options)
  }

  catalogue(runner: Runner, names?: readonly string[]): Promise<Catalogue> {
    return this.inner.catalogue(runner, names)
  }

  tableSizes(tables: readonly string[]): MaybePromise<ReadonlyMap<string, TableSize>> {
    return this.inner.tableSizes(tables)
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}

/** The state of an engine without a connection pool. */
export const noPool: PoolState = Object.freeze({ maxConnections: 0, open: 0, idle: 0, waiting: 0 })
