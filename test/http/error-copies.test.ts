/** Copies of errors: with another path, message or status. Source: public API, Errors. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  BeforeWrite,
  bootstrap,
  Database,
  DeclarationError,
  Field,
  HttpError,
  Module,
  Record,
} from '../../src/index.js'

class SoldOut extends HttpError {
  constructor(readonly article: string) {
    super(409, 'Sold out.', { code: 'SOLD_OUT', headers: { 'retry-after': '60' }, reason: 'stock' })
  }
}

const invalid = () =>
  new HttpError(400, 'size is too large; name is required', {
    code: 'VALIDATION',
    errors: [
      { path: 'size', code: 'max', message: 'size is too large' },
      { path: 'name', code: 'required', message: 'name is required' },
    ],
  })

describe('HttpError.with', () => {
  it('copies every property, and changes the named ones', () => {
    const error = new HttpError(409, 'Taken.', {
      code: 'TAKEN',
      errors: [],
      headers: { 'retry-after': '1' },
      reason: 'the index',
    })
    const copy = error.with({ status: 412, message: 'Too late.' })
    const { status, message, code, errors, headers, reason, cause } = copy
    expect({ status, message, code, errors, headers, reason }).toEqual({
      status: 412,
      message: 'Too late.',
      code: 'TAKEN',
      errors: [],
      headers: { 'retry-after': '1' },
      reason: 'the index',
    })
    expect(cause).toBe(error)
    expect(error.status).toBe(409)
  })

  it('keeps the class and its own properties', () => {
    const copy = new SoldOut('lamp').with({ message: 'Lamp: sold out.' })
    expect(copy).toBeInstanceOf(SoldOut)
    expect(copy).toMatchObject({ article: 'lamp', message: 'Lamp: sold out.', reason: 'stock' })
  })

  it('refuses an unknown name', () => {
    expect(() => invalid().with({ mesage: 'x' } as object)).toThrow('unknown option "mesage"')
  })
})

describe('HttpError.mapFields', () => {
  it('changes each validation error, and the message that lists them', () => {
    const copy = invalid().mapFields(({ path, code, message }) => ({
      path: `3.${path}`,
      code,
      message: `3.${message}`,
    }))
    expect(copy.errors?.map(({ path }) => path)).toEqual(['3.size', '3.name'])
    expect(copy.message).toBe('3.size is too large; 3.name is required')
  })

  it('leaves a message that says something else', () => {
    const error = invalid().with({ message: 'The lamp is invalid.' })
    expect(error.mapFields((one) => ({ ...one, path: 'a' })).message).toBe('The lamp is invalid.')
  })

  it('mentions a validation error that is left out nowhere', () => {
    const leaveOut = (error: HttpError, left: string) =>
      error.mapFields((one) => (one.path === left ? undefined : one))
    expect(leaveOut(invalid(), 'size').message).toBe('name is required')
    const named = invalid().with({ message: 'The size of the lamp.' })
    expect(leaveOut(named, 'size').message).toBe('name is required')
    const nothing = leaveOut(leaveOut(named, 'size'), 'name')
    expect([nothing.message, nothing.errors]).toEqual([
      'A value does not fit the record.',
      undefined,
    ])
  })
})

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true, maxLength: 4, optional: true, nullable: true }) pin?:
    string | null

  @BeforeWrite()
  prepare() {
    this.pin = 'too long'
  }
}

@Module({ records: [Lamp] })
class Lamps {}

describe('an error of a hidden field', () => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(Lamps, { listen: false, logger: false, database: 'sqlite::memory:' })
  })
  afterAll(() => app.close())

  const copies: globalThis.Record<string, (error: HttpError) => HttpError> = {
    itself: (error) => error,
    'with another message': (error) => error.with({ message: `Lamp: ${error.message}` }),
    'with a path': (error) => error.mapFields((one) => ({ ...one, path: `1.${one.path}` })),
    'made of its parts': (error) =>
      error.mapFields(({ path, code, message }) => ({ path, code, message: `1: ${message}` })),
    'with its validation errors in another error': ({ errors, message }) =>
      new HttpError(422, message, { errors }),
    'with spread validation errors in another error': ({ errors = [], message }) =>
      new HttpError(422, message, { errors: errors.map((one) => ({ ...one, path: 'lamp' })) }),
  }

  it.each(Object.keys(copies))('stays hidden in a copy: %s', async (name) => {
    const failed: unknown = await app
      .get(Database)
      .records(Lamp)
      .create({ name: 'a' })
      .catch((error: unknown) => error)
    const copy = copies[name]?.(failed as HttpError) as HttpError
    expect(copy.message).toContain('pin')
    const { message, errors, status } = copy.forClient()
    expect([message, errors]).toEqual(['A value does not fit the record.', undefined])
    expect(status).toBe(copy.status)
  })
})

describe('DeclarationError', () => {
  it('changes nothing in the process when it is made', () => {
    const count = () => process.listenerCount('uncaughtExceptionMonitor')
    const before = count()
    const { stack } = new DeclarationError([{ code: 'MINE', message: 'a.', remedy: 'b.' }])
    expect(count()).toBe(before)
    expect(stack).toBe('DeclarationError: Filigree cannot start: 1 problem\n 1 a.  b.')
  })
})
