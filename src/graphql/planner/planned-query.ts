/** The plan of a query's root field: reads a run's questions, finds or writes their statement, and runs it. */
import type { Query } from '../../sql/tree.js'
import { arrangeValues, writeStatement, type Plan } from '../../sql/write-statement.js'
import { settle, type MaybePromise } from '../../core/maybe-promise.js'
import type { Row } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { toReadError } from '../../records/statements/client-errors.js'
import { BoundedCache } from '../../core/bounded-cache.js'
import type { Database } from '../../records/database.js'
import type { RecordsContext } from '../../records/statements/source.js'
import { admitsImmediately, type Caller } from '../../records/rights/caller.js'
import { callerOf } from '../caller.js'
import type { Arguments } from '../declarations.js'
import type { RootPlan } from '../planner-contract.js'
import { QueryReader } from '../records/query-reader.js'
import type { RecordServices } from '../records/resolve-records.js'
import type { Variables } from '../outcome.js'
import type { ArgumentSource } from './compile-arguments.js'
import type { SelectionCompiler } from './selection.js'
import type { RelationQueries } from './query-tree.js'
import { textOfRow } from '../../engines/contract/json-sql.js'

/** What one root field asks, with what is asked of the relations behind it; called once for each form of question. */
export type RootQuery = (relationQueries: RelationQueries) => Query

/** Reads the root field's own arguments; `undefined` where no row can be meant. */
export type ReadRoot = (
  args: Arguments,
  reader: QueryReader,
  context: RecordsContext,
) => RootQuery | undefined

/** A statement and a run's values for it. */
interface Prepared {
  readonly plan: Plan
  readonly values: readonly unknown[]
}

/** Statements kept for one root field of a document: one for each form of its variables' filters and orders. */
const maxStatements = 20

/** What is read before a statement runs: shared by queries and the answers of mutations. */
export class Preparation {
  readonly #compiler: SelectionCompiler
  readonly #services: RecordServices
  readonly #plans = new WeakMap<RecordsContext, BoundedCache<Plan>>()

  constructor(compiler: SelectionCompiler, services: RecordServices) {
    this.#compiler = compiler
    this.#services = services
  }

  /** No question waits for variables. */
  get isConstant(): boolean {
    return this.#compiler.relations.every(
      (entry) => entry.kind !== 'list' || entry.args.constant !== undefined,
    )
  }

  /** True where everything selected may be shown, and that can be said at once. */
  admits(caller: Caller): boolean {
    for (const rule of this.#compiler.rules) if (!admitsImmediately(rule, caller)) return false
    return true
  }

  /** The answer of a statement; `undefined` where it holds a number that JSON has no word for. */
  textOf(row: Row | undefined): string | undefined {
    const text = textOfRow(row)
    if (!this.#compiler.hasFloats) return text
    const { infinity } = this.#services.database().context.dialect
    return infinity !== undefined && mayContain(text, infinity) ? undefined : text
  }

  reader(database: Database, caller: Caller): QueryReader {
    return new QueryReader({ database, caller, listMax: this.#services.listMax })
  }

  /** Reads the questions of all relations. */
  relationQueries(variables: Variables, reader: QueryReader): RelationQueries {
    const { relations } = this.#compiler
    const lists: RelationQueries['lists'][number][] = []
    const rows: RelationQueries['rows'][number][] = []
    for (const entry of relations) {
      const { target } = entry.relation
      lists.push(
        entry.kind === 'list'
          ? reader.list(target, entry.args.read(variables), entry.args.constant !== undefined)
          : undefined,
      )
      rows.push(entry.kind === 'list' ? undefined : reader.rows(target.table))
    }
    return { lists, rows }
  }

  statement(context: RecordsContext, key: string, make: () => Query): Plan {
    let plans = this.#plans.get(context)
    if (plans === undefined)
      this.#plans.set(context, (plans = new BoundedCache<Plan>(maxStatements)))
    return plans.get(key, () => writeStatement(make(), context.dialect))
  }
}

export class PlannedQuery implements RootPlan {
  readonly #args: ArgumentSource
  readonly #read: ReadRoot
  readonly #preparation: Preparation
  readonly #services: RecordServices
  readonly #isConstant: boolean
  readonly #ready = new WeakMap<RecordsContext, Prepared>()
  readonly #toText = (row: Row | undefined): string | undefined => this.#preparation.textOf(row)

  constructor(parts: {
    readonly args: ArgumentSource
    readonly read: ReadRoot
    readonly preparation: Preparation
    readonly services: RecordServices
  }) {
    this.#args = parts.args
    this.#read = parts.read
    this.#preparation = parts.preparation
    this.#services = parts.services
    this.#isConstant = parts.args.constant !== undefined && parts.preparation.isConstant
  }

  run(context: unknown, variables: Variables): MaybePromise<string | undefined> {
    const caller = callerOf(context)
    if (!this.#preparation.admits(caller)) return undefined
    const database = this.#services.database()
    const source = database.forClient(caller.request)
    let prepared: Prepared | undefined
    try {
      prepared = this.#prepare(database, caller, variables)
    } catch {
      return runByResolvers()
    }
    if (prepared === undefined) return 'null'
    const { plan, values } = prepared
    return settle(
      () => source.runner().run(plan.statement, values, 'first'),
      this.#toText,
      rethrowUnlessInexpressible,
    )
  }

  #prepare(database: Database, caller: Caller, variables: Variables): Prepared | undefined {
    const { context } = database
    const ready = this.#ready.get(context)
    if (ready !== undefined) return ready
    const reader = this.#preparation.reader(database, caller)
    const root = this.#read(this.#args.read(variables), reader, context)
    if (root === undefined) return undefined
    const relationQueries = this.#preparation.relationQueries(variables, reader)
    const plan = this.#preparation.statement(context, reader.key, () => root(relationQueries))
    const prepared = { plan, values: arrangeValues(plan, reader.values) }
    // Never keeps what depends on the caller: the next caller would get these rows.
    if (this.#isConstant && !reader.isPersonal) this.#ready.set(context, prepared)
    return prepared
  }
}

/** Nothing has run yet: whatever is wrong with the question, graphql-js finds it again and says where. */
function runByResolvers(): string | undefined {
  return undefined
}

/** Of what has run, only a value that GraphQL has no word for is asked again: graphql-js says where it stands. */
function rethrowUnlessInexpressible(error: unknown): undefined {
  if (error instanceof EngineError && error.kind === 'inexpressible') return undefined
  throw toReadError(error)
}

/** Few texts hold the sign, which is found many times faster than the letter before it. */
function mayContain(text: string, infinity: string): boolean {
  return text.includes(infinity.slice(1)) && text.includes(infinity)
}
