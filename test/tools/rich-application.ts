/** An application that uses most features of the OpenAPI document, and requests to it for prism. */
import { IsIn, IsInt, IsISO8601, IsOptional, Length, Max, Min } from 'class-validator'
import {
  Auth,
  BelongsTo,
  bootstrap,
  Controller,
  Delete,
  Doc,
  events,
  Field,
  Get,
  HasMany,
  html,
  Module,
  NoAuth,
  Post,
  Put,
  Record,
  redirect,
  reply,
  Secured,
  type Application,
  type Rel,
} from '../../src/index.js'
import type { PrismRequest } from './prism.js'

@Record({ version: true })
class Author {
  @Field('id') id!: number
  @Field('string', { minLength: 2, maxLength: 40, unique: true }) name!: string
  @HasMany(() => Book) books!: Rel<Book[]>
}

@Record({ timestamps: true })
class Book {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('string', { maxLength: 80 }) title!: string
  @Field('decimal', { min: '0.00', max: '999.00' }) price!: string
  @Field('date', { optional: true, nullable: true }) printedOn?: string | null
  @Field('time', { optional: true }) readAt?: string
  @Field('bigint', { optional: true }) serial?: string
  @Field('string', { oneOf: ['new', 'used'], default: 'new' }) state!: string
  @Field('string', { list: true, maxItems: 3, default: [] }) labels!: string[]
  @Field('json', { optional: true, nullable: true }) meta?: unknown
  @Field('integer') authorId!: number
  @BelongsTo(() => Author) author!: Rel<Author>
}

class Line {
  @Field('string', { format: 'email' }) to!: string
  @Field('integer', { min: 1 }) count!: number
}

class Order {
  @Field('string', { pattern: /^[a-z]{3}$/i }) code!: string
  @Field(() => Line, { list: true, minItems: 1 }) lines!: Line[]
  @Field('datetime', { optional: true }) at?: string
  @Field('blob', { optional: true, maxLength: 4 }) seal?: Buffer
}

class Survey {
  @IsInt() @Min(1) @Max(5) stars!: number
  @IsOptional() @IsISO8601() on?: string
  @IsIn(['a', 'b']) choice!: string
  @Length(2, 5) word!: string
}

class Find {
  @Field('string', { optional: true, maxLength: 5 }) q?: string
  @Field('boolean', { optional: true }) open?: boolean
  @Field('integer', { list: true, optional: true }) ids?: number[]
}

@Controller('/authors', { crud: Author })
@NoAuth
class AuthorController {}

@Controller('/books', { crud: Book })
@NoAuth
class BookController {}

@Controller
class MixedController {
  @Post('/orders', { body: Order, returns: { 201: Order } })
  @NoAuth
  order(body: Order) {
    return reply(body, 201)
  }

  @Post('/surveys', { body: Survey })
  @NoAuth
  survey(body: Survey) {
    return { stars: body.stars }
  }

  @Get('/find', { query: Find })
  find(query: Find) {
    return { found: query.q ?? null }
  }

  @Get('/old')
  @Doc({ responses: { 302: { description: 'Moved.', headers: { Location: 'Where it is.' } } } })
  old() {
    return redirect('/find')
  }

  @Get('/page')
  page() {
    return html('<p>page</p>')
  }

  @Get('/ticks')
  ticks() {
    return events(['one', 'two'])
  }

  @Delete('/things/<id:int>')
  @NoAuth
  remove(id: number) {
    return id === 1 ? undefined : { id }
  }

  @Put('/admin/<name:slug>')
  @Secured('admin')
  admin(name: string) {
    return { name }
  }

  @Get('/secret')
  @Secured
  secret() {
    return 'text'
  }
}

@Module({
  controllers: [AuthorController, BookController, MixedController],
  records: [Author, Book],
})
class RichModule {}

export async function startRich(): Promise<{ app: Application; requests: PrismRequest[] }> {
  const app = await bootstrap(RichModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    database: 'sqlite::memory:',
  })
  const auth = app.get(Auth)
  const admin = await auth.getToken({ sub: '1', roles: ['admin'] })
  const plain = await auth.getToken({ sub: '2' })
  const [{ id: author }] = [await create(app, '/authors', { name: 'Ada' })]
  const book = await create(app, '/books', { title: 'One', price: '9.50', authorId: author })
  return { app, requests: [...crud(String(book.id)), ...routes(admin, plain)] }
}

async function create(
  app: Application,
  url: string,
  json: object,
): Promise<{ id: number | string }> {
  const { status, body } = await app.inject({ method: 'POST', url, json })
  if (status !== 201) throw new Error(body)
  return JSON.parse(body) as { id: number | string }
}

function crud(book: string): PrismRequest[] {
  const good = { title: 'Two', price: '1', authorId: 1 }
  return [
    { path: '/authors', status: 200 },
    { path: '/authors?limit=1&orderBy=-name&with=books&count=none', status: 200 },
    { path: '/authors?limit=5000', status: 400, isBad: true },
    { path: '/authors/1', status: 200 },
    { path: '/authors/99', status: 404 },
    { method: 'POST', path: '/authors', json: { name: 'Grace' }, status: 201 },
    { method: 'POST', path: '/authors', json: { name: 'Ada' }, status: 409 },
    { method: 'POST', path: '/authors', json: { name: 'x' }, status: 400, isBad: true },
    { method: 'POST', path: '/authors', json: { name: 'Eve', id: 9 }, status: 400, isBad: true },
    { method: 'POST', path: '/authors', form: { name: 'Form' }, status: 201 },
    { method: 'PATCH', path: '/authors/1', json: { name: 'Ida' }, status: 200 },
    { method: 'PATCH', path: '/authors/1', json: { version: 3 }, status: 400, isBad: true },
    { method: 'PATCH', path: '/authors/1', json: {}, headers: { 'if-match': '"0"' }, status: 412 },
    { path: '/books?price.gte=5&author.name.like=I%25&orderBy=title', status: 200 },
    { path: '/books?with=author', status: 200 },
    { path: '/books/aggregate?groupBy=authorId&sum=price', status: 200 },
    { path: `/books/${book}`, status: 200 },
    { path: '/books/none', status: 404, isBad: true },
    { method: 'POST', path: '/books', json: good, status: 201 },
    { method: 'POST', path: '/books', json: { ...good, price: 1 }, status: 400, isBad: true },
    { method: 'POST', path: '/books', json: { ...good, state: 'old' }, status: 400, isBad: true },
    {
      method: 'POST',
      path: '/books',
      json: { ...good, labels: ['a', 'b', 'c', 'd'] },
      status: 400,
      isBad: true,
    },
    {
      method: 'POST',
      path: '/books',
      json: { ...good, printedOn: '2026-1-1' },
      status: 400,
      isBad: true,
    },
    {
      method: 'POST',
      path: '/books',
      json: {
        ...good,
        printedOn: null,
        readAt: '10:30:00',
        serial: '9007199254740993',
        meta: { a: [1] },
      },
      status: 201,
    },
    { method: 'PUT', path: `/books/${book}`, json: good, status: 200 },
    { method: 'DELETE', path: `/books/${book}`, status: 204 },
    { method: 'DELETE', path: `/books/${book}`, status: 404 },
  ]
}

function routes(admin: string, plain: string): PrismRequest[] {
  const lines = [{ to: 'a@b.co', count: 1 }]
  const survey = { stars: 3, choice: 'a', word: 'word' }
  return [
    { method: 'POST', path: '/orders', json: { code: 'AbC', lines }, status: 201 },
    {
      method: 'POST',
      path: '/orders',
      json: { code: 'AbC', lines, at: '2026-11-20', seal: 'AQID' },
      status: 201,
    },
    { method: 'POST', path: '/orders', json: { code: 'ab', lines }, status: 400, isBad: true },
    { method: 'POST', path: '/orders', json: { code: 'abc', lines: [] }, status: 400, isBad: true },
    {
      method: 'POST',
      path: '/orders',
      json: { code: 'abc', lines: [{ to: 'a', count: 0 }] },
      status: 400,
      isBad: true,
    },
    {
      method: 'POST',
      path: '/orders',
      json: { code: 'abc', lines, seal: 'AQIDBAUGBwgJ' },
      status: 400,
      isBad: true,
    },
    { method: 'POST', path: '/surveys', json: survey, status: 200 },
    { method: 'POST', path: '/surveys', json: { ...survey, on: '2026-11-20T10:00' }, status: 200 },
    { method: 'POST', path: '/surveys', json: { ...survey, stars: 6 }, status: 400, isBad: true },
    {
      method: 'POST',
      path: '/surveys',
      json: { ...survey, choice: 'c' },
      status: 400,
      isBad: true,
    },
    { method: 'POST', path: '/surveys', json: { ...survey, more: 1 }, status: 400, isBad: true },
    { path: '/find?q=abc&open=true&ids=1&ids=2', status: 200 },
    { path: '/find?q=abcdef', status: 400, isBad: true },
    { path: '/find?ids=x', status: 400, isBad: true },
    { path: '/page', status: 200 },
    { path: '/ticks', status: 200 },
    { method: 'DELETE', path: '/things/2', status: 200 },
    { method: 'PUT', path: '/admin/a-b', token: admin, status: 200 },
    { method: 'PUT', path: '/admin/a-b', token: plain, status: 403 },
    { method: 'PUT', path: '/admin/a-b', status: 401, isBad: true },
    { path: '/secret', token: plain, status: 200 },
    { path: '/secret', token: 'none', status: 401 },
    { method: 'POST', path: '/graphql', json: { query: '{ authorCount }' }, status: 200 },
    { method: 'POST', path: '/graphql', json: { query: 7 }, status: 400, isBad: true },
  ]
}
