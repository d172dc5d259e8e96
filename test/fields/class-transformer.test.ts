import { Type } from 'class-transformer'
import { IsArray, IsInt, IsNotEmpty, IsOptional, Min, ValidateNested } from 'class-validator'
import { beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Controller, Module, NoAuth, Post, type Application } from 'filigree'

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
  it('tells the class of a nested list, which is checked and made', async () => {
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
  it('ask for their rules alone', async () => {
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

  it('are followed by the document', () => {
    const { schemas } = app.openapi.components ?? {}
    expect(schemas?.Person_create).toMatchObject({ required: ['name', 'age'] })
    expect(schemas?.Person_update).toMatchObject({ required: ['id', 'name'] })
  })
})
