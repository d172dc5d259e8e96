import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Field } from '../../../src/fields/field.js'
import { GraphQL } from '../../../src/graphql/graphql.js'
import { connect, type Database } from '../../../src/records/database.js'
import { Record } from '../../../src/records/record.js'
import { startBothEngines } from '../../records/both-engines.js'
import { logStatements } from './driver-log.js'

@Record({ timestamps: true, softDelete: true })
class Lamp {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('numeric', { min: 0 }) price!: number
  @Field('integer', { nullable: true, optional: true }) stock?: number | null
}

describe.each(await startBothEngines())('a mutation of one record on %s', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  beforeEach(async () => {
    await (database as Database | undefined)?.close()
    database = await connect(await open(), {
      records: [Lamp],
      now: () => Date.parse('2100-01-01'),
    })
    await database.sync()
    graphql = new GraphQL({ database })
    graphql.schema.fromOrm(Lamp)
    await database.records(Lamp).create({ name: 'Dawn', price: 1 })
    await database.records(Lamp).create({ name: 'Dusk', price: 2 })
  })
  afterAll(() => database.close())

  const run = async (text: string, variables?: object) =>
    JSON.parse(JSON.stringify(await graphql.execute(text, { ...variables }))) as {
      data: { [name: string]: unknown } | null
      errors?: { path: unknown[]; extensions: { [name: string]: unknown } }[]
    }

  const update =
    'mutation M($id: ID!, $input: LampInput!) { updateLamp(id: $id, input: $input) { id name price stock } }'

  it.each([
    [update, { id: '1', input: { price: 7.5, stock: null } }, 'update'],
    ['mutation { createLamp(input: { name: "Noon", price: 3 }) { id name } }', {}, 'insert'],
    ['mutation { deleteLamp(id: 1) }', {}, 'update'],
  ])('is one statement outside of a transaction: %s', async (text, variables, verb) => {
    const { result, sent } = await logStatements(() => run(text, variables))
    expect(result.errors).toBeUndefined()
    const verbs = sent.map(({ sql }) => sql.trimStart().split(' ')[0]?.toLowerCase())
    expect(verbs.filter((one) => one === 'begin')).toEqual([])
    expect(sent.filter(({ sql }) => sql.includes('"lamp"')).length).toBe(1)
    expect(verbs).toContain(verb)
  })

  it('answers the record as it is stored, and sets the moment of the change', async () => {
    const before = await database.records(Lamp).find(2)
    expect(await run(update, { id: '1', input: { price: 7.5, stock: null } })).toEqual({
      data: { updateLamp: { id: '1', name: 'Dawn', price: 7.5, stock: null } },
    })
    const [dawn, dusk] = await database.records(Lamp).list()
    expect(dawn).toMatchObject({ price: 7.5, updatedAt: '2100-01-01T00:00:00.000Z' })
    expect(dusk).toEqual(before)
  })

  it.each([
    ['a rule', { price: -1, stock: 4 }, 'VALIDATION', 'input.price'],
    ['a value that is taken', { name: 'Dusk', stock: 4 }, 'CONFLICT', 'input.name'],
  ])(
    'writes nothing where %s refuses it, and names the field',
    async (_what, input, code, path) => {
      const before = await database.records(Lamp).list()
      const { data, errors } = await run(update, { id: '1', input })
      expect(data).toEqual({ updateLamp: null })
      expect(errors).toMatchObject([
        { path: ['updateLamp'], extensions: { code, errors: [{ path }] } },
      ])
      expect(await database.records(Lamp).list()).toEqual(before)
    },
  )

  it.each(['9', '0', 'x', '1.5', ''])('finds no record of the id %j', async (id) => {
    const { data, errors } = await run(update, { id, input: { price: 1 } })
    expect(data).toEqual({ updateLamp: null })
    expect(errors).toMatchObject([{ path: ['updateLamp'], extensions: { code: 'NOT_FOUND' } }])
    expect(await run('mutation M($id: ID!) { deleteLamp(id: $id) }', { id })).toEqual({
      data: { deleteLamp: false },
    })
  })

  it('does not find what is deleted softly', async () => {
    expect(await run('mutation { deleteLamp(id: 1) }')).toEqual({ data: { deleteLamp: true } })
    const { errors } = await run(update, { id: '1', input: { price: 9 } })
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    const [dawn] = await database.records(Lamp).list({ withDeleted: true })
    expect(dawn?.price).toBe(1)
  })

  it('loses none of many that run at the same time', async () => {
    const inputs = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? { price: n } : { stock: n }))
    const answers = await Promise.all(inputs.map((input) => run(update, { id: '1', input })))
    expect(answers.filter(({ errors }) => errors !== undefined)).toEqual([])
    const dawn = await database.records(Lamp).find(1)
    expect(inputs).toContainEqual({ price: dawn?.price })
    expect(inputs).toContainEqual({ stock: dawn?.stock })
  })

  it('is part of the transaction that runs it', async () => {
    const failed = database.transaction(async () => {
      await run(update, { id: '1', input: { price: 9 } })
      await run('mutation { createLamp(input: { name: "Noon", price: 3 }) { id } }')
      await run('mutation { deleteLamp(id: 2) }')
      throw new Error('taken back')
    })
    await expect(failed).rejects.toThrow('taken back')
    expect(await database.records(Lamp).list()).toMatchObject([
      { name: 'Dawn', price: 1 },
      { name: 'Dusk', price: 2 },
    ])
  })
})
