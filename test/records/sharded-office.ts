/** Sharded records, two tenants whose rows have equal ids, and a check that every statement names its shard. */
import { expect } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  BeforeWrite,
  BelongsTo,
  Controller,
  Database,
  Field,
  type Generated,
  HasMany,
  Module,
  Record,
  type Rel,
  Resolve,
} from 'filigree'

@Record
export class Region {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ shardBy: 'tenantId', rows: (user) => (user === null ? true : { tenantId: user.tenant }) })
export class Project {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string', { unique: true }) name!: string
  @Field('integer', { default: 0 }) hours!: Generated<number>
  @Field('integer', { optional: true, nullable: true }) regionId?: number | null
  @BelongsTo(() => Region) region!: Rel<Region>
  @HasMany(() => Task) tasks!: Rel<Task[]>
  /** Resolvers run every operation that selects this field. */
  @Resolve('String', { needs: ['name'] })
  label(): string {
    return `* ${this.name}`
  }
}

@Record({
  shardBy: 'tenantId',
  search: ['title'],
  rows: (user) =>
    user === null ? true : { and: [{ title: { ne: '' } }, { tenantId: { eq: user.tenant } }] },
})
export class Task {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string') tenantId!: string
  @Field('string') title!: string
  @Field('string', { optional: true, nullable: true }) projectId?: string | null
  @BelongsTo(() => Project, { onDelete: 'cascade' }) project!: Rel<Project>
}

@Record({ shardBy: 'tenantId', version: true, softDelete: true })
export class Bill {
  static onWrite: () => Promise<unknown> = () => Promise.resolve()
  @Field('id') id!: number
  @Field('integer') tenantId!: number
  @Field('string') text!: string
  version!: number
  @BeforeWrite()
  async runHook(): Promise<void> {
    await Bill.onWrite()
  }
}

/** A tenant record, which is stored on every machine. Its machines and parts are sharded by firm. */
@Record
export class Firm {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Machine) machines!: Rel<Machine[]>
}

@Record({ shardBy: 'firmId' })
export class Machine {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') firmId!: number
  @Field('string') name!: string
  @BelongsTo(() => Firm, { onDelete: 'cascade' }) firm!: Rel<Firm>
  @HasMany(() => Part) parts!: Rel<Part[]>
}

@Record({ shardBy: 'firmId' })
export class Part {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') firmId!: number
  @Field('string') machineId!: string
  @BelongsTo(() => Machine, { onDelete: 'cascade' }) machine!: Rel<Machine>
}

@Controller('/projects', { crud: Project })
class Projects {}

@Controller('/tasks', { crud: Task })
class Tasks {}

@Controller('/bills', { crud: Bill })
class Bills {}

@Controller('/firms', { crud: Firm })
class Firms {}

@Module({
  controllers: [Projects, Tasks, Bills, Firms],
  records: [Region, Project, Task, Bill, Firm, Machine, Part],
})
export class Office {}

/** The id of one project and one task of each tenant. */
export const shared = '0f0e0d0c-0b0a-4908-8706-050403020100'

export class Watch {
  readonly #database: Database
  readonly #statements: string[] = []
  readonly #onStatement = (message: unknown): void => {
    const { sql, database } = message as { sql: string; database: unknown }
    if (database === this.#database) this.#statements.push(sql)
  }

  constructor(database: Database) {
    this.#database = database
  }

  /** Creates two tenants whose rows have equal ids, and starts recording statements. */
  async begin(): Promise<void> {
    const { kysely } = this.#database
    for (const name of ['task', 'project', 'bill', 'region', 'part', 'machine', 'firm'])
      await kysely.deleteFrom(name).execute()
    for (const tenantId of ['a', 'b']) {
      await this.#database.records(Project).create({ id: shared, tenantId, name: 'Roof', hours: 1 })
      await this.#database
        .records(Task)
        .create({ id: shared, tenantId, title: `of ${tenantId}`, projectId: shared })
    }
    subscribe('filigree:statement', this.#onStatement)
  }

  /** Checks that every statement named its shard, and that the rows of tenant b are unchanged. */
  async end(): Promise<void> {
    unsubscribe('filigree:statement', this.#onStatement)
    const statements = this.#statements.splice(0)
    expect(statements.filter((sql) => !namesShards(sql))).toStrictEqual([])
    const where = { tenantId: 'b' }
    expect(await this.#database.records(Project).list({ where, with: ['tasks'] })).toMatchObject([
      { id: shared, ...where, name: 'Roof', hours: 1, tasks: [{ title: 'of b' }] },
    ])
    expect(await this.#database.records(Task).count(where)).toBe(1)
  }

  /** The statements since `begin`. */
  get statements(): readonly string[] {
    return this.#statements
  }
}

const columns: Readonly<globalThis.Record<string, string>> = {
  project: 'tenant_id',
  task: 'tenant_id',
  bill: 'tenant_id',
  machine: 'firm_id',
  part: 'firm_id',
}

const tableReferences =
  /\b(from|join|update|into|copy) "(project|task|bill|machine|part)"(?: as ("?)(\w+)\3(?! *\())?/g

/**
 * Whether a statement restricts each sharded table to one shard. An insert must name the shard column. Other statements must
 * compare it with a value, or with the shard column of another restricted table.
 */
export function namesShards(sql: string): boolean {
  for (const [, word = '', table = '', , alias] of sql.matchAll(tableReferences)) {
    const column = `"${columns[table] ?? ''}"`
    const isNamed = alias !== undefined && !['where', 'set', 'inner', 'on'].includes(alias)
    const comparedColumn = isNamed ? `"?${alias}"?\\.${column}` : `(?:"${table}"\\.)?${column}`
    const compared = `${comparedColumn} (?:=|in) |= ${comparedColumn}|${comparedColumn}\\) in \\(|\\) in \\(select [^()]*, ${comparedColumn} from`
    if (
      word === 'into' || word === 'copy'
        ? !sql.includes(column)
        : !new RegExp(compared).test(conditionsOf(sql))
    )
      return false
  }
  return true
}

/** @returns the statement without the assignments of an update */
function conditionsOf(sql: string): string {
  return sql.replace(/^update .*? where /s, 'where ')
}
