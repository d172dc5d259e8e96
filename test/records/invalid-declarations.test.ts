/** Wrong declarations of records, fields and repositories, and wrong options of `connect`, stop the start. */
import { describe, expect, it } from '@jest/globals'
import { connect, Field, Record } from '../../src/index.js'
import { thing, type Fields } from './thing.js'
import { startBothEngines } from './both-engines.js'

const engines = await startBothEngines()

const refusal = async (options: object, fields: Fields = {}): Promise<string> => {
  const type = thing({ name: ['string'], ...fields })
  Record({ table: 'thing', ...options })(type)
  const opened = connect('sqlite::memory:', { records: [type] })
  return opened.then(
    async (database) => {
      await database.close()
      return 'started'
    },
    (error: unknown) => String(error),
  )
}

describe('@Record', () => {
  it.each([
    [{ version: 'yes' }, 'version cannot be used.  Write true or false.'],
    [{ timestamps: 'x' }, 'timestamps cannot be used.  Write true or false.'],
    [{ softDelete: 1 }, 'softDelete cannot be 1.  Write true or false.'],
    [{ rows: { owner: '7' } }, 'rows cannot be used.  Write a function: (user) => …'],
    [{ writes: true }, 'writes cannot be true.  Write false, a role, a list of roles, or rules'],
    [{ writes: 5 }, 'writes cannot be 5.  Write false, a role, a list of roles, or rules'],
    [{ was: 5 }, 'was is 5.  Write a name.'],
    [{ plural: '' }, 'plural is "".  Write a name.'],
    [{ indexes: {} }, "indexes cannot be used.  Write a list: [{ fields: ['name'] }]."],
    [{ indexes: [{}] }, 'an index has no list of fields'],
    [{ indexes: [{ fields: 'name' }] }, 'an index has no list of fields'],
    [{ indexes: [{ field: ['name'] }] }, 'unknown option "field".  Did you mean "fields"?'],
    [{ indexes: [null] }, 'an index has no list of fields'],
  ])('refuses %j', async (options, text) => {
    expect(await refusal(options)).toContain(text)
  })

  it('accepts the options shown in its documentation', async () => {
    const options = { writes: ['admin', 'editor'], version: true, rows: () => true }
    expect(await refusal(options)).toBe('started')
    expect(await refusal({ writes: false, indexes: [{ fields: ['-name'] }] })).toBe('started')
  })

  it.each([[[]], [''], [['']], [true as never]])(
    'names the place of writes: %j',
    async (writes) => {
      const remedy = 'Name at least one role'
      const text = async (options: object, fields?: Fields) =>
        (await refusal(options, fields)).replaceAll(/\s+/g, ' ')
      for (const operation of ['create', 'update', 'delete'])
        expect(await text({ writes: { [operation]: writes } })).toContain(
          `@Record of Thing, writes: ${operation} cannot be`,
        )
      expect(await text({}, { status: ['string', { writes }] })).toContain(
        `Thing.status: writes is not false, a role or a list of roles. ${remedy}`,
      )
      expect(await text({ writes })).toContain('@Record of Thing: writes cannot be')
    },
  )

  it.each<[string, Fields, string]>([
    [
      'a read-only',
      { status: ['string', { readOnly: true, default: 'x', writes: 'admin' }] },
      'status',
    ],
    [
      'a hidden',
      { status: ['string', { hidden: true, default: 'x', writes: ['a', 'b'] }] },
      'status',
    ],
    ['a primary key', { key: ['id', { writes: 'admin' }] }, 'key'],
  ])(
    'refuses roles that may write %s field, because no client writes it',
    async (_, fields, name) => {
      const text = await refusal({}, fields)
      expect(text).toContain(`Thing.${name}: writes never applies, because no client writes`)
      expect(text).toMatch(/Remove writes(?:, or (?:readOnly|hidden))?\./)
    },
  )

  it('accepts writes: false on a field that no client writes', async () => {
    const fields: Fields = { status: ['string', { hidden: true, default: 'x', writes: false }] }
    expect(await refusal({}, fields)).toBe('started')
  })

  it('reports all problems together', async () => {
    const text = await refusal({ version: 'yes', rows: 5 }, { kind: ['enum', { oneOf: [] }] })
    expect(text).toContain('3 problems')
  })
})

describe('rules that no value can satisfy', () => {
  it.each<[Fields[string], string]>([
    [['integer', { min: 5, max: 1 }], 'rule "min" is above rule "max"'],
    [['decimal', { min: '10', max: '9.50' }], 'rule "min" is above rule "max"'],
    [['date', { min: '2026-02-01', max: '2026-01-01' }], 'rule "min" is above rule "max"'],
    [['string', { minLength: 5, maxLength: 1 }], 'rule "minLength" is above rule "maxLength"'],
    [['string', { lowercase: true, uppercase: true }], 'contradict each other'],
    [['enum', { oneOf: ['a'], default: 'b' }], 'default "b" must be one of a'],
    [
      ['string', { oneOf: ['a'], list: true, default: ['a', 'b'] }],
      'default ["a","b"] has "1", which must',
    ],
    [['enum', { oneOf: [1, 2] }], 'rule "oneOf" needs a list of values'],
    [['integer', { oneOf: ['1', '2'] }], 'rule "oneOf" needs a list of values of kind "integer"'],
    [['integer', { oneOf: [1, 1.5] }], '1.5 must be an integer'],
    [['numeric', { oneOf: ['1'] }], '"1" must be a number'],
    [['boolean', { oneOf: ['true'] }], '"true" must be true or false'],
    [['string', { oneOf: [1] }], '1 must be a string'],
    [['string', { oneOf: ['a', 'abc'], maxLength: 2 }], '"abc" must have at most 2 characters'],
    [['decimal', { oneOf: ['1.505'] }], '"1.505" must be a decimal'],
    [['date', { oneOf: ['2026-02-30'] }], '"2026-02-30" must be a date'],
    [['integer', { oneOf: [1, 9], max: 5 }], '9 must be at most 5'],
    [['integer', { list: true, oneOf: ['1'] }], '"1" must be an integer'],
    [['integer', { min: 0.5 }], 'rule "min" needs'],
    [['numeric', { max: '5' }], 'rule "max" needs'],
    [['datetime', { min: 5 }], 'rule "min" needs'],
    [['bigint', { max: '1.5' }], 'rule "max" needs'],
    [['integer', { default: 0, min: 1 }], 'default 0 must be at least 1'],
    [['integer', { default: 9, max: 1 }], 'default 9 must be at most 1'],
    [['decimal', { default: '0.5', min: '1' }], 'default "0.5" must be at least 1'],
    [['datetime', { default: '2020-01-01', min: '2021-01-01' }], 'must be at least 2021-01-01'],
    [['string', { default: 'a', minLength: 2 }], 'default "a" must have at least 2 characters'],
    [['string', { default: 'a', pattern: /^b/ }], 'default "a" must match ^b'],
    [['string', { default: 'a', format: 'email' }], 'default "a" must be an email'],
    [['string', { default: ' a', trim: true }], 'default " a" is not in the form'],
    [['string', { default: 'A', lowercase: true }], 'default "A" is not in the form'],
    [['integer', { list: true, default: [1], minItems: 2 }], 'must have at least 2 items'],
    [['integer', { list: true, default: [1, 7], max: 5 }], 'has "1", which must be at most 5'],
    [['integer', { example: '1' }], 'example must be an integer'],
    [['integer', { example: 0, min: 1 }], 'example must be at least 1'],
    [['string', { example: null }], 'example must not be null'],
    [['integer', { list: true, example: 1 }], 'example must be a list'],
  ])('refuses %j', async (field, text) => {
    expect(await refusal({}, { field })).toContain(text)
  })

  it('accepts consistent rules', async () => {
    const fields: Fields = {
      a: ['integer', { min: 1, max: 1, default: 1 }],
      b: ['decimal', { min: '9.50', max: '10', oneOf: ['9.5', '10'], default: '9.50' }],
      c: ['enum', { oneOf: ['x', 'y'], default: 'x' }],
      d: ['string', { oneOf: ['x', 'y'], list: true, default: [] }],
      e: ['integer', { oneOf: [1, 2], list: true, minItems: 2, example: [1, 2] }],
      f: ['datetime', { default: 'now', min: '2020-01-01', example: '2026-11-20T10:00:00Z' }],
      g: ['string', { trim: true, default: 'a b', example: ' a ', nullable: true }],
      h: ['blob', { minLength: 1, example: 'aGk=' }],
      i: ['integer', { nullable: true, default: null, min: 1, example: null }],
      j: ['bigint', { min: '1', max: '9', default: '5', oneOf: ['5', '6'] }],
      k: ['decimal', { default: '9.5', hidden: true, example: '1.5' }],
      l: ['integer', { default: () => 0, min: 1 }],
    }
    expect(await refusal({}, fields)).toBe('started')
  })
})

describe('connect and repositories', () => {
  it('reject unknown options', async () => {
    const open = connect as (where: unknown, options?: unknown) => Promise<unknown>
    await expect(open('sqlite::memory:', { recordz: [] })).rejects.toThrow(
      'connect: unknown option "recordz".  Did you mean "records"?',
    )
    await expect(open({ engine: 5 })).rejects.toThrow('connect: engine cannot be 5.')
  })

  it('name the method that takes a list', async () => {
    const type = thing({ name: ['string'] })
    const database = await connect('sqlite::memory:', { records: [type] })
    await database.sync()
    const things = database.records(type)
    await expect(things.createMany({} as never)).rejects.toThrow(
      'createMany takes a list of records',
    )
    await expect(things.updateMany('x' as never)).rejects.toThrow(
      'updateMany takes a list of changes',
    )
    await expect(things.deleteMany('1' as never)).rejects.toThrow('deleteMany takes a list of keys')
    await expect(async () => things.list({ wher: {} } as never)).rejects.toThrow(
      /Options: where, .*withDeleted, with\.$/,
    )
    await database.close()
  })
})

describe.each(engines)('a record on a view: %s', (_name, address) => {
  @Record({ table: 'cheap', writes: false })
  class Cheap {
    @Field('id') id!: number
    @Field('string', { maxLength: 20 }) name!: string
  }
  @Record({ table: 'cheap', writes: false })
  class Missing extends Cheap {
    @Field('string') colour!: string
  }

  it('reads the view, and reports a missing column', async () => {
    const url = await address()
    const type = thing({ name: ['string'] })
    const database = await connect(url, { records: [type] })
    await database.sync()
    await database.records(type).createMany([{ name: 'b' }, { name: 'a' }])
    const { sql } = await import('kysely')
    await sql.raw('create view cheap as select id, name from thing').execute(database.kysely)
    const cheap = database.records(Cheap)
    await database.verify()
    await database.sync()
    expect(await cheap.list({ orderBy: { name: 'asc' } })).toMatchObject([
      { name: 'a' },
      { name: 'b' },
    ])
    expect(await cheap.count({ name: { startsWith: 'a' } })).toBe(1)
    database.records(Missing)
    await expect(database.verify()).rejects.toThrow('cheap.colour is missing (Missing.colour)')
    await database.close()
  })
})
