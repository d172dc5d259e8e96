/** The table of the suites of batched updates. */
import { sql } from 'kysely'
import { BelongsTo, connect, type Database, Field, Record, type Rel } from '../../src/index.js'
import type { Engine } from '../../src/engines/contract/engine.js'
import { StatementRecorder } from '../contracts/statement-recorder.js'

@Record({ table: 'joined_shelf', plural: 'shelves' })
export class Shelf {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ table: 'joined_box', plural: 'boxes', version: true, timestamps: true })
export class Box {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('decimal', { precision: 12, scale: 2 }) worth!: string
  @Field('string', { list: true }) marks!: string[]
  @Field('string', { unique: true }) code!: string
  @Field('integer', { nullable: true, optional: true }) shelfId?: number | null
  @BelongsTo(() => Shelf) shelf!: Rel<Shelf>
  version!: number
}

/** The number of boxes at first. */
export const count = 200

/** Whether the SQL is one statement for several calls. */
export const isBatched = (sql: string): boolean => sql.includes('filigree_call')
export const isUpdate = (sql: string): boolean => sql.startsWith('update')

/** A table of boxes in a database whose statements can be held and counted. */
export class TestTable {
  readonly watch = new StatementRecorder()
  database!: Database

  async open(openOne: () => Promise<Engine>): Promise<void> {
    const engine = this.watch.around(await openOne())
    this.database = await connect({
      engine: { open: () => Promise.resolve(engine) },
      records: [Shelf, Box],
    })
    await this.database.sync()
    await this.database.records(Shelf).insertMany([{ name: 'top' }, { name: 'bottom' }])
    const rows = Array.from({ length: count }, (_, n) => ({
      name: `Box ${n + 1}`,
      worth: '1.00',
      marks: [],
      code: `c${n + 1}`,
    }))
    await this.boxes.insertMany(rows)
    await this.database.kysely.schema
      .alterTable('joined_box')
      .addCheckConstraint('not_cursed', sql`name <> 'cursed'`)
      .execute()
  }

  get boxes() {
    return this.database.records(Box)
  }

  /** Starts the calls while the first statement is still running, so that the later calls are batched. */
  async concurrently<T>(call: () => readonly Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
    const release = this.watch.hold(isUpdate, 1, true)
    const calls = Promise.allSettled(call())
    release()
    return calls
  }

  /** Runs calls until the engine has learned the statement's parameter types. Only then it batches the statement. */
  async warmUp(call: (id: number) => Promise<unknown>): Promise<void> {
    await this.concurrently(() => [1, 2, 3].map((id) => call(id)))
    await this.watch.settled()
  }
}
