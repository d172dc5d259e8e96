/** The access of computed fields: the rules of the fields that they need. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  type Database,
  Field,
  GraphQL,
  HasMany,
  Record,
  type Rel,
  Resolve,
  Secured,
} from '../../../src/index.js'

@Record
class Team {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Clerk) clerks!: Rel<Clerk[]>
}

@Record
class Clerk {
  @Field('id') id!: number
  @Field('string') name!: string
  @Secured('boss') @Field('integer') salary!: number
  @Secured({ roles: ['nurse'], amr: 'mfa' }) @Field('integer') sickDays!: number
  @Field('string', { hidden: true }) code!: string
  @Field('integer') teamId!: number
  @BelongsTo(() => Team) team!: Rel<Team>

  @Resolve('String', { needs: ['name', 'salary'] })
  pay(): string {
    return `${this.name} ${this.salary}`
  }
  @Resolve('String', { needs: ['salary'], open: true })
  band(): string {
    return this.salary > 6000 ? 'high' : 'low'
  }
  @Resolve('String', { needs: ['name', 'code'] })
  badge(): string {
    return `${this.name} ${this.code.length}`
  }
  @Resolve('Int', { needs: ['sickDays'] })
  absence(): number {
    return this.sickDays
  }
  @Resolve('String')
  summary(): string {
    return `${this.name} ${this.salary} ${this.sickDays}`
  }
  @Secured('auditor')
  @Resolve('Int', { needs: ['salary'] })
  audited(): number {
    return this.salary
  }
}

const visitor = { user: null }
const boss = { user: { sub: 'ann', roles: ['boss'] } }
const nurse = { user: { sub: 'eve', roles: ['nurse'], amr: ['mfa'] } }
const auditor = { user: { sub: 'bob', roles: ['auditor'] } }
const auditingBoss = { user: { sub: 'bob', roles: ['auditor', 'boss'] } }

describe('computed fields', () => {
  let database: Database
  let graphql: GraphQL
  beforeAll(async () => {
    database = await connect('sqlite::memory:', { records: [Team, Clerk] })
    await database.sync()
    await database.records(Team).create({ id: 1, name: 'T' })
    await database
      .records(Clerk)
      .create({ name: 'Ada', salary: 7000, sickDays: 3, code: 'abc', teamId: 1 })
    graphql = new GraphQL({ database, maskErrors: false })
    graphql.schema.fromOrm(Team)
    graphql.schema
      .addField('Clerk', 'tax', {
        type: 'Int',
        needs: ['salary'],
        resolve: (clerk) => (clerk as Clerk).salary / 2,
      })
      .addField('Clerk', 'openTax', {
        type: 'Int',
        needs: ['salary'],
        open: true,
        resolve: (clerk) => (clerk as Clerk).salary / 2,
      })
      .addField('Clerk', 'anything', { type: 'Int', resolve: (clerk) => (clerk as Clerk).salary })
      .addField('Clerk', 'nothing', { type: 'Int', needs: [], resolve: () => 1 })
      .addField('Clerk', 'code', { type: 'String' })
  })
  afterAll(() => database.close())

  /** The value of a field, or the code of its error. */
  const read = async (text: string, context: object, path: readonly (string | number)[]) => {
    const result = await graphql.execute(text, {}, context)
    const [error] = result.errors ?? []
    if (error !== undefined) return error.extensions.code
    return path.reduce<unknown>((value, name) => (value as never)[name], result.data)
  }
  const field = (name: string, context: object) =>
    read(`{ clerks { ${name} } }`, context, ['clerks', 0, name])

  it.each<[string, object, unknown]>([
    ['pay', visitor, 'UNAUTHENTICATED'],
    ['pay', nurse, 'FORBIDDEN'],
    ['pay', boss, 'Ada 7000'],
    ['band', visitor, 'high'],
    ['badge', visitor, 'Ada 3'],
    ['absence', boss, 'FORBIDDEN'],
    ['absence', nurse, 3],
    ['summary', boss, 'FORBIDDEN'],
    ['summary', nurse, 'FORBIDDEN'],
    ['summary', {}, 'Ada 7000 3'],
    ['audited', boss, 'FORBIDDEN'],
    ['audited', auditor, 'FORBIDDEN'],
    ['audited', auditingBoss, 7000],
    ['tax', nurse, 'FORBIDDEN'],
    ['tax', boss, 3500],
    ['openTax', visitor, 3500],
    ['anything', boss, 'FORBIDDEN'],
    ['nothing', visitor, 1],
    ['code', visitor, 'abc'],
  ])(
    '%s follows the rules of the fields that it needs: %j gets %j',
    async (name, context, value) => {
      expect(await field(name, context)).toBe(value)
    },
  )

  it('follow them behind relations, in pages, and in the result of a mutation', async () => {
    const relation = '{ teams { clerks { pay } } }'
    const page = '{ clerksPage { edges { node { pay } } } }'
    const mutation = 'mutation { updateClerk(id: 1, input: { name: "Ada" }) { pay } }'
    expect(await read(relation, nurse, [])).toBe('FORBIDDEN')
    expect(await read(page, nurse, [])).toBe('FORBIDDEN')
    expect(await read(mutation, nurse, [])).toBe('FORBIDDEN')
    expect(await read(relation, boss, ['teams', 0, 'clerks', 0, 'pay'])).toBe('Ada 7000')
    const node = ['clerksPage', 'edges', 0, 'node', 'pay']
    expect(await read(page, boss, node)).toBe('Ada 7000')
    expect(await read(mutation, boss, ['updateClerk', 'pay'])).toBe('Ada 7000')
  })

  it('name the rights in their descriptions, as the fields do', () => {
    expect(graphql.sdl).toMatch(/"[^"]*sign-in[^"]*"+\s*sickDays: Int/)
    expect(graphql.sdl).toMatch(/"[^"]*sign-in[^"]*"+\s*absence: Int/)
  })

  it('are refused if open has no effect, or needs names no field', () => {
    const build = (options: object) => {
      const other = new GraphQL({ database })
      other.schema.fromOrm(Team)
      other.schema.addField('Clerk', 'extra', { type: 'Int', resolve: () => 1, ...options })
      return () => other.sdl
    }
    expect(build({ needs: ['salry'] })).toThrow(
      /Clerk\.extra: "salry" in needs is not a field of Clerk\. +Did you mean "salary"\?/,
    )
    expect(build({ needs: ['name'], open: true })).toThrow('Clerk.extra: open has no effect')
    expect(build({ needs: ['salary'], open: true })).not.toThrow()
  })
})
