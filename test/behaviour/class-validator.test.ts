/** Source: public API, 1: classes described by class-validator. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  ArrayMaxSize,
  IsDate,
  IsEmail,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  MinDate,
  registerDecorator,
  ValidateNested,
} from 'class-validator'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  type Application,
  type InjectResponse,
} from '../../src/index.js'
import { fieldErrorsOf } from './error-responses.js'

/** A custom asynchronous rule. */
function IsFree() {
  return (target: object, propertyName: string): void => {
    registerDecorator({
      name: 'isFree',
      target: target.constructor,
      propertyName,
      options: { message: '$property is taken' },
      async: true,
      validator: { validate: (value) => Promise.resolve(value !== 'taken') },
    })
  }
}

class Address {
  @IsString() @Length(2, 20) city!: string
}

/** Described by class-validator alone. */
class Signup {
  @IsEmail() mail!: string
  @IsInt() @Min(18) @Max(150) age!: number
  @IsOptional() @IsIn(['a', 'b']) plan?: string
  @IsFree() @IsString() name!: string
  @ValidateNested() address!: Address
  @IsOptional() @IsString({ each: true }) @ArrayMaxSize(2) roles?: string[]
}

/** Described by both `@Field` and class-validator. */
class Combined {
  @Field('string') @IsEmail() mail!: string
  @Field('integer', { min: 1 }) @Max(5) stars!: number
}

let received: unknown

@Controller
class SignupController {
  @Post('/signup')
  @NoAuth
  signup(body: Signup) {
    received = body
    return { isSignup: body instanceof Signup, isAddress: body.address instanceof Address }
  }

  @Post('/both')
  @NoAuth
  combined(body: Combined) {
    return body
  }
}

@Module({ controllers: [SignupController] })
class SignupModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(SignupModule, { listen: false, logger: false, env: {} })
})
afterAll(() => app.close())

const post = (url: string, json: unknown): Promise<InjectResponse> => app.inject({ url, json })

describe('class-validator', () => {
  const signup = { mail: 'a@b.example', age: 30, name: 'Ada', address: { city: 'Rome' } }

  it('a class without @Field is validated and instantiated', async () => {
    const answer = await post('/signup', { ...signup, plan: null, roles: ['x'] })
    expect([answer.status, answer.json()]).toEqual([200, { isSignup: true, isAddress: true }])
    expect(received).toEqual({ ...signup, plan: null, roles: ['x'] })
  })

  it('field errors have its messages and the constraint name as code', async () => {
    const answer = await post('/signup', {
      mail: 'x',
      age: 17.5,
      name: 'taken',
      address: { city: 'R' },
      plan: 'c',
      roles: ['a', 'b', 3],
      admin: true,
    })
    const errors = fieldErrorsOf(answer)
    expect(new Set(errors.map(({ path, code }) => `${path} ${code}`))).toEqual(
      new Set([
        'mail isEmail',
        'age min',
        'age isInt',
        'name isFree',
        'address.city isLength',
        'plan isIn',
        'roles isString',
        'roles arrayMaxSize',
        'admin unknown',
      ]),
    )
    expect(errors).toContainEqual({
      path: 'mail',
      code: 'isEmail',
      message: 'mail must be an email',
    })
    expect(errors).toContainEqual({ path: 'name', code: 'isFree', message: 'name is taken' })
  })

  it.each([null, [], 'text', [signup]])(
    '%j is refused, because it is not an object',
    async (body) => {
      expect(fieldErrorsOf(await post('/signup', body))).toMatchObject([{ path: '', code: 'type' }])
    },
  )

  it('its rules and the rules of @Field apply together', async () => {
    expect((await post('/both', { mail: 'a@b.example', stars: 5 })).status).toBe(200)
    expect(fieldErrorsOf(await post('/both', { mail: 'x', stars: 6 }))).toMatchObject([
      { path: 'mail', code: 'isEmail' },
      { path: 'stars', code: 'max' },
    ])
    expect(fieldErrorsOf(await post('/both', { mail: 5, stars: 0 }))).toMatchObject([
      { path: 'mail', code: 'type' },
      { path: 'stars', code: 'min' },
    ])
  })
})

describe('Rules about a Date', () => {
  class Visit {
    @IsDate() at!: Date
    @IsOptional() @IsDate({ each: true }) reminders?: Date[]
    @IsOptional() @MinDate(new Date('2026-01-01')) since?: Date
  }
  const received: unknown[] = []
  @Controller('/visits')
  class Visits {
    @Post('/', { body: Visit }) @NoAuth create(body: Visit): object {
      received.push(body)
      return {}
    }
  }
  @Module({ controllers: [Visits] })
  class VisitModule {}

  it('get a Date made from ISO 8601 text, in JSON and in forms', async () => {
    const app = await bootstrap(VisitModule, { listen: false, logger: false, env: {} })
    try {
      const at = '2026-11-20T12:00:00+02:00'
      const json = { at, reminders: ['2026-11-20'], since: '2026-02-01' }
      const send = (options: object) => app.inject({ method: 'POST', url: '/visits', ...options })
      expect((await send({ json })).status).toBe(200)
      expect((await send({ form: { at } })).status).toBe(200)
      expect(received).toEqual([
        {
          at: new Date(at),
          reminders: [new Date('2026-11-20')],
          since: new Date('2026-02-01'),
        },
        { at: new Date(at) },
      ])
      const wrong = { at: '2026-02-30', reminders: [5, 'x'], since: '2025-12-31' }
      const answer = await send({ json: wrong })
      expect(fieldErrorsOf(answer).map(({ path, code }) => [path, code])).toEqual([
        ['at', 'isDate'],
        ['reminders', 'isDate'],
        ['since', 'minDate'],
      ])
      expect((await send({ json: {} })).status).toBe(400)
    } finally {
      await app.close()
    }
  })
})
