import { Exclude, Expose, Transform, Type } from 'class-transformer'
import {
  IsArray,
  IsDate,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Min,
  ValidateNested,
} from 'class-validator'
import { beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  partial,
  pick,
  Post,
  type Application,
  type DeclarationError,
} from 'filigree'

class Line {
  @IsInt() @Min(1) qty!: number
}

class Order {
  @IsArray() @ValidateNested({ each: true }) @Type(() => Line) lines!: Line[]
}

class Person {
  @IsInt({ groups: ['update'] }) id!: number
  @IsNotEmpty({ groups: ['create', 'update'] }) name!: string
  @IsOptional({ groups: ['update'] }) @IsInt({ always: true }) age!: number
}

@Controller('/')
@NoAuth
class OrderController {
  @Post('/orders', { body: Order })
  order(body: Order) {
    return { made: body.lines.map((line) => line instanceof Line) }
  }

  @Post('/people', { body: Person, groups: ['create'] })
  create(body: Person) {
    return Object.entries(body)
  }

  @Post('/people/changed', { body: Person, groups: ['update'] })
  change(body: Person) {
    return Object.entries(body)
  }
}

@Module({ controllers: [OrderController] })
class OrderModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(OrderModule, { listen: false, logger: false })
})
afterAll(() => app.close())

async function post(url: string, json: object): Promise<[status: number, body: unknown]> {
  const response = await app.inject({ method: 'POST', url, json })
  return [response.status, response.json()]
}

describe('@Type of class-transformer', () => {
  it('sets the class of a nested list, which is checked and instantiated', async () => {
    expect(await post('/orders', { lines: [{ qty: 1 }, { qty: 2 }] })).toEqual([
      200,
      { made: [true, true] },
    ])
    const [status, body] = await post('/orders', { lines: [{ qty: 1 }, { qty: 0 }] })
    expect(status).toBe(400)
    expect(body).toMatchObject({ errors: [{ path: 'lines.1.qty', code: 'min' }] })
    expect(app.openapi.components?.schemas?.Order).toMatchObject({
      properties: { lines: { type: 'array', items: { $ref: '#/components/schemas/Line' } } },
    })
  })
})

describe('groups of a route', () => {
  it('apply only their rules', async () => {
    expect((await post('/people', { name: 'Ada', age: 36 }))[0]).toBe(200)
    expect((await post('/people', { name: 'Ada' }))[0]).toBe(400)
    expect((await post('/people', { name: '', age: 36 }))[0]).toBe(400)
    expect((await post('/people/changed', { id: 1, name: 'Ada' }))[0]).toBe(200)
    const [, body] = await post('/people/changed', { id: 'x', name: 'Ada', age: 'old' })
    expect((body as { errors: { path: string }[] }).errors.map(({ path }) => path)).toEqual([
      'id',
      'age',
    ])
  })

  it('appear in the document', () => {
    const { schemas } = app.openapi.components ?? {}
    expect(schemas?.Person_create).toMatchObject({ required: ['name', 'age'] })
    expect(schemas?.Person_update).toMatchObject({ required: ['id', 'name'] })
  })
})

describe('decorators of class-transformer that are not applied', () => {
  class Excluding {
    @IsInt() id!: number
    @Field('string') @Exclude() hash!: string
    @Field('string') @Exclude({ toClassOnly: true }) made!: string
    @Field('string') @Exclude({ toPlainOnly: true }) password!: string
    @Exclude() internal!: string
  }
  @Exclude()
  class Closed {
    @Field('string') @Expose() name!: string
  }
  class Exposing {
    @Field('string') @Expose() plain!: string
    @Field('string') @Expose({ name: 'full_name' }) fullName!: string
    @Field('string') @Expose({ groups: ['admin'] }) note!: string
    @Expose() get initials(): string {
      return this.plain.charAt(0)
    }
  }
  class Transforming {
    @IsString() @Transform(({ value }) => String(value).trim()) name!: string
  }
  class Base {
    @Type(() => Date) @IsDate() at!: Date
  }
  class Typing extends Base {
    @Type(() => Number) @IsInt() count!: number
    @Type(() => Number) @IsString() text!: string
    @IsObject() @Type(() => Line) line!: Line
    @ValidateNested({ each: true })
    @Type(() => Line, {
      discriminator: { property: 'kind', subTypes: [{ name: 'line', value: Line }] },
    })
    lines!: Line[]
  }

  it.each([
    [
      Excluding,
      [
        ['Excluding.hash: @Exclude()', 'hidden: true'],
        ['Excluding.made: @Exclude()', 'readOnly: true'],
        ['Excluding.password: @Exclude()', 'omit('],
        ['Excluding.internal: @Exclude()', 'hidden: true'],
      ],
    ],
    [Closed, [['Closed: @Exclude() of class-transformer at the class', 'hidden: true']]],
    [
      Exposing,
      [
        ['Exposing.fullName: @Expose()', 'the name that clients use'],
        ['Exposing.note: @Expose()', 'pick or omit'],
        ['Exposing.initials: @Expose()', 'by @Field'],
      ],
    ],
    [Transforming, [['Transforming.name: @Transform()', 'trim']]],
    [
      Typing,
      [
        ['Typing.at: @Type()', "@Field('datetime')"],
        ['Typing.text: @Type()', 'the kind of the value'],
        ['Typing.line: @Type()', '@ValidateNested()'],
        ['Typing.lines: @Type()', 'checkOf(Class)'],
      ],
    ],
    [
      class Changes extends partial(pick(Excluding, 'id', 'hash')) {},
      [['Changes.hash: @Exclude()', 'hidden: true']],
    ],
  ] as const)('stop the start with a fix: %p', async (type, expected) => {
    for (const use of [{ body: type }, { returns: type }]) {
      @Controller('/')
      class Faulty {
        @Post('/', use) @NoAuth make(): object {
          return {}
        }
      }
      @Module({ controllers: [Faulty] })
      class FaultyModule {}
      const starting = bootstrap(FaultyModule, { listen: false, logger: false })
      const { problems } = await starting.then(
        () => ({ problems: [] }),
        (error: unknown) => error as DeclarationError,
      )
      expect(problems.map(({ code }) => code)).toEqual(expected.map(() => 'TRANSFORMER_DECORATOR'))
      for (const [index, [message, remedy]] of expected.entries()) {
        expect(problems[index]?.message).toContain(message)
        expect(problems[index]?.remedy).toContain(remedy)
      }
    }
  })

  it('keep @Type in derived classes', async () => {
    class Changes extends partial(Order) {}
    class Lines extends pick(Order, 'lines') {}
    @Controller('/')
    @NoAuth
    class Made {
      @Post('/changes', { body: Changes }) change(body: Changes): boolean | undefined {
        return body.lines?.every((line) => line instanceof Line)
      }
      @Post('/lines', { body: Lines }) lines(body: Lines): boolean {
        return body.lines.every((line) => line instanceof Line)
      }
    }
    @Module({ controllers: [Made] })
    class MadeModule {}
    const derived = await bootstrap(MadeModule, { listen: false, logger: false })
    for (const url of ['/changes', '/lines']) {
      const good = await derived.inject({ method: 'POST', url, json: { lines: [{ qty: 1 }] } })
      const bad = await derived.inject({ method: 'POST', url, json: { lines: [{ qty: 0 }] } })
      expect([good.status, good.json(), bad.status]).toEqual([200, true, 400])
    }
    await derived.close()
  })
})
