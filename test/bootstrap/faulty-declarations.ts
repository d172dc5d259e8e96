/** Applications with one problem in their declarations, one for each code of the start, and the same applications with the fix. */
import { Exclude } from 'class-transformer'
import { IsString } from 'class-validator'
import {
  BelongsTo,
  Controller,
  createDecorator,
  createModule,
  Doc,
  Field,
  Get,
  GraphQL,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Post,
  Record as Table,
  Resolve,
  Secured,
  Use,
  type AnyDecorator,
  type BootstrapOptions,
  oneTime,
} from '../../src/index.js'
import { Job, jobs } from '../../src/modules/jobs/jobs.js'
import { mcp, Tool, type ToolOptions } from '../../src/modules/mcp/mcp.js'
import { mail } from '../../src/modules/mail/mail.js'
import type { Class } from '../public-types.js'

export interface Attempt {
  readonly module: Class
  readonly options?: BootstrapOptions
}

export function moduleOf(...controllers: Class[]): Class {
  class TestModule {}
  Module({ controllers })(TestModule)
  return TestModule
}

/** A controller with one route. */
export function routed(path: string, verb = Get): Class {
  class ItemController {
    item(): string {
      return ''
    }
  }
  const { prototype } = ItemController
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'item')!
  NoAuth(prototype, 'item', descriptor)
  verb(path)(prototype, 'item', descriptor)
  Controller(ItemController)
  return ItemController
}

export function graphql(declare: (schema: GraphQL['schema']) => unknown): Attempt {
  const instance = new GraphQL()
  declare(instance.schema)
  instance.registerRoute()
  class GraphqlModule {}
  Module({ graphql: [instance] })(GraphqlModule)
  return { module: GraphqlModule }
}

export const resolve = (): null => null
const roles = ['admin']

/** A route with a number in its path, for which the compiler has emitted this type. */
function numbered(type: unknown): Attempt {
  class ItemController {
    show(id: unknown): unknown {
      return id
    }
  }
  const { prototype } = ItemController
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'show')
  Reflect.defineMetadata('design:paramtypes', [type], prototype, 'show')
  Get('/<id:int>')(prototype, 'show', descriptor as PropertyDescriptor)
  Controller('/items')(ItemController)
  return { module: moduleOf(ItemController) }
}

/** A module with these options for `@Module`, and options for `bootstrap`. */
function app(metadata: object, options: BootstrapOptions = {}): Attempt {
  class TestModule {}
  Module(metadata)(TestModule)
  return { module: TestModule, options: { database: 'sqlite::memory:', ...options } }
}

/** A controller with this name, whose one method has these decorators. */
function method(decorators: readonly AnyDecorator[], body = (): unknown => '', name = 'Items') {
  const Items = { [name]: class {} }[name] as Class
  Object.defineProperty(Items.prototype, 'run', { value: body, configurable: true, writable: true })
  const descriptor = Object.getOwnPropertyDescriptor(Items.prototype, 'run')!
  for (const decorate of decorators) decorate(Items.prototype, 'run', descriptor)
  Controller(`/${name.toLowerCase()}`)(Items)
  return Items
}
const path = (text: string, body?: () => unknown): Attempt =>
  app({ controllers: [method([Get(text)], body)] })
const route = (...decorators: AnyDecorator[]): Attempt => app({ controllers: [method(decorators)] })
const tool = (options: ToolOptions): Attempt =>
  app({ imports: [mcp()], controllers: [method([Get('/'), Tool(options)])] })

type Fields = Readonly<globalThis.Record<string, AnyDecorator | readonly AnyDecorator[]>>
const id = Field('id')

/** A class with these fields. */
function fields(of: Fields, name = 'Thing'): Class {
  const Thing = { [name]: class {} }[name] as Class
  for (const [property, decorators] of Object.entries(of))
    for (const decorate of [decorators].flat<(AnyDecorator | readonly AnyDecorator[])[]>())
      decorate(Thing.prototype, property)
  return Thing
}
function recordOf(of: Fields, options: object = {}, name = 'Thing'): Class {
  const type = fields(of, name)
  Table(options)(type)
  return type
}
const record = (of: Fields, options?: object): Attempt => app({ records: [recordOf(of, options)] })
const body = (of: Fields): Attempt =>
  app({ controllers: [method([Post('/', { body: fields(of) }), NoAuth])] })
const field = (kind: string, rules?: object): Attempt =>
  body({ name: Field(kind as 'string', rules as never) })
const crud = (options: object, of: object = {}): Attempt => {
  class Things {}
  const type = recordOf({ id }, of)
  Controller('/things', { crud: type, ...options })(Things)
  return app({ records: [type], controllers: [Things] })
}
const oneQuery = (schema: GraphQL['schema']): GraphQL['schema'] =>
  schema.addQuery('one', { type: 'Int', resolve })

class Store {}
class Needs {
  static readonly inject = [Store]
}
class Silent {
  constructor(readonly store: unknown) {
    Object(store)
  }
}
class Injected {
  static readonly inject = [Store]
  constructor(readonly store: unknown) {
    Object(store)
  }
}
class First {
  static inject: Class[] = []
}
class Second {
  static readonly inject = [First]
}
First.inject = [Second]
class Bare {}
const modular = (): Class => moduleOf()
class Passing {
  intercept(_request: unknown, next: () => unknown): unknown {
    return next()
  }
}
const owner = (of: Fields, options?: object): Attempt => {
  const Owner = recordOf({ id, ...of }, options, 'Owner')
  return app({ records: [Owner, Target] })
}
@Table()
class Target {
  @Field('id') id!: number
  @Field('integer', { optional: true, nullable: true }) ownerId?: number | null
}
@Table()
class Letters {
  @Field('id', { key: 'uuid' }) id!: string
}
class Delivery {
  @Field('string', { writes: 'admin' }) status!: string
}
const integer = Field('integer')
const text = Field('string')

/** For each code: an application with the problem, and the same application with its fix. */
export const faultyDeclarations: readonly (readonly [
  code: string,
  remedy: RegExp,
  faulty: () => Attempt,
  fixed: () => Attempt,
])[] = [
  ['NOT_A_MODULE', /@Module/, () => ({ module: Bare }), () => ({ module: modular() })],
  ['NOT_A_CONTROLLER', /@Controller/, () => app({ controllers: [Bare] }), () => route(Get('/'))],
  [
    'NOT_A_CLASS',
    /\(\) =>/,
    () => app({ imports: [undefined] }),
    () => app({ imports: [() => modular()] }),
  ],
  [
    'NOT_A_PROVIDER',
    /provide/,
    () => app({ providers: [{ use: 1 }] }),
    () => app({ providers: [{ provide: 'a', use: 1 }] }),
  ],
  [
    'MISSING_PROVIDER',
    /Add Store to/,
    () => app({ providers: [Needs] }),
    () => app({ providers: [Needs, Store] }),
  ],
  [
    'DUPLICATE_PROVIDER',
    /one/,
    () =>
      app({
        providers: [
          { provide: 'a', use: 1 },
          { provide: 'a', use: 2 },
        ],
      }),
    () => app({ providers: [{ provide: 'a', use: 1 }] }),
  ],
  [
    'CIRCULAR_PROVIDERS',
    /provider of its own/,
    () => app({ providers: [First, Second] }),
    () => app({ providers: [Store, Needs] }),
  ],
  [
    'UNREADABLE_DEPENDENCIES',
    /static inject/,
    () => app({ providers: [Silent, Store] }),
    () => app({ providers: [Injected, Store] }),
  ],
  [
    'UNKNOWN_OPTION',
    /"controllers"/,
    () => app({ controlers: [] }),
    () => app({ controllers: [] }),
  ],
  [
    'INVALID_OPTION',
    /./,
    () => app({}, { limits: { body: 'much' } }),
    () => app({}, { limits: { body: '1mb' } }),
  ],
  [
    'INVALID_ENVIRONMENT',
    /0 to 65535/,
    () => app({}, { env: { PORT: 'x' } }),
    () => app({}, { env: { PORT: '0' } }),
  ],
  [
    'INVALID_CORS',
    /https:/,
    () => app({}, { cors: { origins: ['shop.example'] } }),
    () => app({}, { cors: { origins: ['https://shop.example'] } }),
  ],
  [
    'STATIC_FOLDER',
    /./,
    () => app({}, { static: { '/a': './no-such' } }),
    () => app({}, { static: { '/a': './docs' } }),
  ],
  ['RELATIVE_PATH', /slash|"\//, () => path('a'), () => path('/a')],
  ['MALFORMED_PATTERN', /./, () => path('/a//b'), () => path('/a/b')],
  ['EMPTY_PARAMETER_NAME', /<id>/, () => path('/<>'), () => path('/<id>')],
  ['MALFORMED_PARAMETER_NAME', /letters/i, () => path('/<a-b>'), () => path('/<a_b>')],
  ['DUPLICATE_PARAMETER_NAME', /Rename/, () => path('/<a>/<a>'), () => path('/<a>/<b>')],
  ['UNKNOWN_PATH_TYPE', /"int"/, () => path('/<a:integer>'), () => path('/<a:int>')],
  ['PATH_NOT_LAST', /last|end/i, () => path('/<a:path>/b'), () => path('/b/<a:path>')],
  [
    'DUPLICATE_ROUTE',
    /./,
    () => app({ controllers: [method([Get('/')]), method([Get('/')])] }),
    () => path('/'),
  ],
  [
    'UNKNOWN_ARGUMENT',
    /"id"/,
    () => path('/<id>', ((idd: string) => idd) as never),
    () => path('/<id>', ((id: string) => id) as never),
  ],
  ['ARGUMENT_TYPE', /id: number/, () => numbered(String), () => numbered(Number)],
  [
    'UNREADABLE_ARGUMENTS',
    /args: \[/,
    () => path('/<id>', Math.max.bind(null)),
    () =>
      app({
        controllers: [method([Get('/<id>', { args: ['id'] })], Math.max.bind(null))],
      }),
  ],
  [
    'ACCESS_CONTRADICTION',
    /one/,
    () => route(Get('/'), NoAuth, Secured as never),
    () => route(Get('/'), NoAuth),
  ],
  [
    'ACCESS_DECLARATION',
    /role/,
    () => route(Get('/'), Secured(5 as never)),
    () => route(Get('/'), Secured('admin')),
  ],
  [
    'ROLE_UNKNOWN',
    /"admin"/,
    () => app({ controllers: [method([Get('/'), Secured('amdin')])] }, { auth: { roles } }),
    () => app({ controllers: [method([Get('/'), Secured('admin')])] }, { auth: { roles } }),
  ],
  ['NO_FIELDS', /@Field/, () => body({}), () => body({ name: text })],
  ['FIELD_KIND_UNKNOWN', /"string"/, () => field('strin'), () => field('string')],
  [
    'FIELD_TYPE_MISSING',
    /Field\('/,
    () => body({ name: (Field as () => AnyDecorator)() }),
    () => body({ name: text }),
  ],
  [
    'FIELD_RULE_UNKNOWN',
    /"maxLength"/,
    () => field('string', { maxLenght: 1 }),
    () => field('string', { maxLength: 1 }),
  ],
  [
    'FIELD_RULE_VALUE',
    /^/,
    () => field('string', { maxLength: 'a' }),
    () => field('string', { maxLength: 1 }),
  ],
  ['FIELD_RULE_MISSING', /oneOf/, () => field('enum'), () => field('enum', { oneOf: ['a'] })],
  ['FIELD_RULE_UNFIT', /./, () => field('boolean', { min: 1 }), () => field('integer', { min: 1 })],
  [
    'FIELD_DEFAULT',
    /./,
    () => field('integer', { default: 'a' }),
    () => field('integer', { default: 1 }),
  ],
  [
    'FIELD_NAME',
    /Rename/,
    () => body({ ['__proto__x'.slice(0, 9)]: text }),
    () => body({ name: text }),
  ],
  [
    'FIELD_THUNK',
    /\(\) =>/,
    () => body({ name: Field((() => 5) as never) }),
    () => body({ name: Field(() => fields({ a: text }, 'Line')) }),
  ],
  [
    'TRANSFORMER_DECORATOR',
    /hidden: true/,
    () => body({ name: [text, Exclude() as AnyDecorator] }),
    () => body({ name: Field('string', { hidden: true }), note: text }),
  ],
  [
    'DOC_DECLARATION',
    /./,
    () => route(Get('/'), Doc({ responses: { 42: 'a' } })),
    () => route(Get('/'), Doc({ responses: { 409: 'a' } })),
  ],
  [
    'SCHEMA_NAME',
    /Rename/,
    () =>
      app({
        controllers: [
          method([Post('/a', { body: fields({ a: text }) }), NoAuth], undefined, 'A'),
          method([Post('/b', { body: fields({ b: text }) }), NoAuth], undefined, 'B'),
        ],
      }),
    () =>
      app({
        controllers: [
          method([Post('/a', { body: fields({ a: text }) }), NoAuth], undefined, 'A'),
          method([Post('/b', { body: fields({ b: text }, 'Other') }), NoAuth], undefined, 'B'),
        ],
      }),
  ],
  ['NOT_A_RECORD', /@Record/, () => app({ records: [fields({ id })] }), () => record({ id })],
  [
    'RECORD_NAME',
    /letters/,
    () => record({ id }, { table: 'a-b' }),
    () => record({ id }, { table: 'a_b' }),
  ],
  [
    'RECORD_KEY_MISSING',
    /@Field\('id'\)/,
    () => record({ a: text }),
    () => record({ id, a: text }),
  ],
  ['RECORD_KEY_TWICE', /one/, () => record({ id, other: id }), () => record({ id })],
  [
    'RECORD_KEY_LIST',
    /"list"/,
    () => record({ id: Field('id', { list: true } as never) }),
    () => record({ id }),
  ],
  [
    'RECORD_KEY_PARTS',
    /mean "line"/,
    () => record({ line: text, order: text }, { key: ['order', 'lin'] }),
    () => record({ line: text, order: text }, { key: ['order', 'line'] }),
  ],
  [
    'RECORD_FIELD_UNDECLARED',
    /@Field\('string'\)/,
    () => record({ id, a: IsString() as never }),
    () => record({ id, a: [text, IsString() as never] }),
  ],
  [
    'RECORD_NESTED_ACCESS',
    /set the rule on \w+\.delivery/,
    () => record({ id, delivery: Field(() => Delivery) }),
    () =>
      record({ id, delivery: Field(() => Letters), status: Field('string', { writes: 'admin' }) }),
  ],
  [
    'RECORD_FIELD_NAME',
    /column: 'and'/,
    () => record({ id, and: text }),
    () => record({ id, more: Field('string', { column: 'and' }) }),
  ],
  [
    'RECORD_VERSION',
    /readOnly: true, default: 1/,
    () => record({ id, version: text }, { version: true }),
    () =>
      record({ id, version: Field('integer', { readOnly: true, default: 1 }) }, { version: true }),
  ],
  [
    'RECORD_SHARD',
    /tenantId/,
    () => record({ id: Field('id', { key: 'uuid' }), tenantId: integer }, { shardBy: 'tenant' }),
    () => record({ id: Field('id', { key: 'uuid' }), tenantId: integer }, { shardBy: 'tenantId' }),
  ],
  [
    'RECORD_SHARD',
    /Line\.tenantId @Field\('uuid'\)/,
    () => sharded(text),
    () => sharded(Field('uuid')),
  ],
  [
    'RECORD_PARTITION',
    /key: 'uuid'/,
    () => record({ id, at: Field('datetime') }, { partitionBy: { field: 'at', every: 'month' } }),
    () =>
      record(
        { id: Field('id', { key: 'uuid' }), at: Field('datetime') },
        { partitionBy: { field: 'at', every: 'month' } },
      ),
  ],
  [
    'RECORD_COLUMN_TWICE',
    /column: '/,
    () => record({ id, one: text, two: Field('string', { column: 'one' }) }),
    () => record({ id, one: text, two: Field('string', { column: 'other' }) }),
  ],
  [
    'RECORD_TABLE_TWICE',
    /table/,
    () =>
      app({
        records: [recordOf({ id }, { table: 'a' }, 'A'), recordOf({ id }, { table: 'a' }, 'B')],
      }),
    () =>
      app({
        records: [recordOf({ id }, { table: 'a' }, 'A'), recordOf({ id }, { table: 'b' }, 'B')],
      }),
  ],
  [
    'ROUTE_TRANSACTION',
    /serializable/,
    () => route(Get('/', { transaction: 'yes' } as never)),
    () => route(Get('/', { transaction: 'serializable' })),
  ],
  [
    'RECORD_SEARCH',
    /name/,
    () => record({ id, name: text }, { search: ['nam'] }),
    () => record({ id, name: text }, { search: ['name'] }),
  ],
  [
    'RECORD_INDEX',
    /./,
    () => record({ id, name: text }, { indexes: [{ fields: ['nam'] }] }),
    () => record({ id, name: text }, { indexes: [{ fields: ['name'] }] }),
  ],
  [
    'RELATION_TARGET',
    /@Record|\(\) =>/,
    () => owner({ bareId: integer, bare: BelongsTo(() => Bare) }),
    () => owner({ targetId: integer, target: BelongsTo(() => Target) }),
  ],
  [
    'RELATION_FIELD',
    /@Field\('integer'\) targetId/,
    () => owner({ target: BelongsTo(() => Target) }),
    () => owner({ targetId: integer, target: BelongsTo(() => Target) }),
  ],
  [
    'RELATION_KIND',
    /@Field\('integer'\)/,
    () => owner({ targetId: text, target: BelongsTo(() => Target) }),
    () => owner({ targetId: integer, target: BelongsTo(() => Target) }),
  ],
  [
    'RELATION_KIND',
    /@Field\('string'\)/,
    () =>
      app({
        records: [
          Letters,
          recordOf({ id, lettersId: integer, letters: BelongsTo(() => Letters) }, {}, 'Owner'),
        ],
      }),
    () =>
      app({
        records: [
          Letters,
          recordOf({ id, lettersId: text, letters: BelongsTo(() => Letters) }, {}, 'Owner'),
        ],
      }),
  ],
  [
    'RELATION_JOIN',
    /through/,
    () => owner({ targets: ManyToMany(() => Target, { from: 'a', to: 'a' }) }),
    () =>
      owner({ targets: ManyToMany(() => Target, { through: 'owner_target', from: 'a', to: 'b' }) }),
  ],
  [
    'RELATION_ON_DELETE',
    /./,
    () => owner({ targetId: integer, target: BelongsTo(() => Target, { onDelete: 'setNull' }) }),
    () =>
      owner({
        targetId: Field('integer', { nullable: true }),
        target: BelongsTo(() => Target, { onDelete: 'setNull' }),
      }),
  ],
  [
    'RELATION_FIELD',
    /ownerId|by/,
    () => owner({ targets: HasMany(() => Target, { by: 'ownrId' }) }),
    () => owner({ targets: HasMany(() => Target, { by: 'ownerId' }) }),
  ],
  [
    'CRUD_RECORD',
    /Add Target to/,
    () => app({ controllers: [crudOf(Target)] }),
    () => app({ records: [Target], controllers: [crudOf(Target)] }),
  ],
  ['TOOL_DECLARATION', /Remove writes/, () => tool({ writes: true }), () => tool({})],
  ['CRUD_OPERATION', /list/, () => crud({ only: ['lst'] }), () => crud({ only: ['list'] })],
  [
    'CRUD_WRITES',
    /./,
    () => crud({ only: ['create'] }, { writes: false }),
    () => crud({ only: ['list'] }, { writes: false }),
  ],
  [
    'DATABASE_URL',
    /sqlite:/,
    () => app({ records: [Target] }, { database: 'nosql://a' }),
    () => app({ records: [Target] }, { database: 'sqlite::memory:' }),
  ],
  ['NOT_A_GRAPHQL', /new GraphQL/, () => app({ graphql: [{}] }), () => graphql(oneQuery)],
  [
    'GRAPHQL_ROUTE_MISSING',
    /registerRoute/,
    () => app({ graphql: [routeless()] }),
    () => graphql(oneQuery),
  ],
  ['GRAPHQL_NEEDS', /./, () => resolved({ needs: ['nam'] }), () => resolved({ needs: ['name'] })],
  [
    'DUPLICATE_NAME',
    /./,
    () => graphql((schema) => oneQuery(oneQuery(schema))),
    () => graphql(oneQuery),
  ],
  [
    'INVALID_NAME',
    /./,
    () => graphql((schema) => oneQuery(schema).addQuery('a-b', { type: 'Int', resolve })),
    () => graphql((schema) => oneQuery(schema).addQuery('a_b', { type: 'Int', resolve })),
  ],
  [
    'RESERVED_NAME',
    /./,
    () => graphql((schema) => oneQuery(schema).addType('Query', { a: 'Int' })),
    () => graphql((schema) => oneQuery(schema).addType('Queries', { a: 'Int' })),
  ],
  [
    'WRONG_TYPE',
    /./,
    () =>
      graphql((schema) =>
        schema.addInput('In', { a: 'Int' }).addQuery('a', { type: 'In', resolve }),
      ),
    () =>
      graphql((schema) =>
        schema.addType('Out', { a: 'Int' }).addQuery('a', { type: 'Out', resolve }),
      ),
  ],
  [
    'EMPTY_TYPE',
    /./,
    () => graphql((schema) => oneQuery(schema).addType('T', {})),
    () => graphql((schema) => oneQuery(schema).addType('T', { a: 'Int' })),
  ],
  [
    'INVALID_TYPE_NOTATION',
    /\[/,
    () => graphql((schema) => schema.addQuery('a', { type: '[Int', resolve })),
    () => graphql((schema) => schema.addQuery('a', { type: '[Int]', resolve })),
  ],
  [
    'NO_QUERIES',
    /addQuery/,
    () => graphql((schema) => schema.addMutation('a', { type: 'Int', resolve })),
    () => graphql((schema) => oneQuery(schema).addMutation('a', { type: 'Int', resolve })),
  ],
  [
    'NO_RESOLVER',
    /resolve/,
    () => graphql((schema) => schema.addQuery('a', { type: 'Int' })),
    () => graphql(oneQuery),
  ],
  [
    'NO_SUBSCRIBE',
    /subscribe/,
    () => graphql((schema) => oneQuery(schema).addSubscription('a', { type: 'Int' })),
    () =>
      graphql((schema) =>
        oneQuery(schema).addSubscription('a', {
          type: 'Int',
          subscribe: async function* () {},
        }),
      ),
  ],
  [
    'CONTRADICTING_ACCESS',
    /./,
    () =>
      graphql((schema) =>
        schema.addQuery('a', { type: 'Int', resolve, noAuth: true, secured: true }),
      ),
    () => graphql((schema) => schema.addQuery('a', { type: 'Int', resolve, noAuth: true })),
  ],
  ['GRAPHQL_NAME', /letters/, () => record({ id, __a: text }), () => record({ id, a: text })],
  [
    'GRAPHQL_NAME_TAKEN',
    /name: '…', plural: '…'/,
    () => record({ id }, { plural: 'thing' }),
    () => record({ id }, { plural: 'manyThings' }),
  ],
  ['GRAPHQL_ENUM', /letters/, () => enumerated(['a-b', ['a']]), () => enumerated(['ab', ['a']])],
  [
    'GRAPHQL_ENUM',
    /another name/,
    () => enumerated(['One', ['a']], ['One', ['b']]),
    () => enumerated(['One', ['a']], ['Two', ['b']]),
  ],
  [
    'GRAPHQL_ENUM',
    /Remove enum/,
    () => enumerated(['One', ['a b', 'a-b']]),
    () => record({ id, a: Field('string', { oneOf: ['a b', 'a-b'] }) }),
  ],
  ['DUPLICATE_ONE_TIME', /another name/, () => tokensNamed('a', 'a'), () => tokensNamed('a', 'b')],
  ['DUPLICATE_JOB', /name: 'other'/, () => jobsNamed('a', 'a'), () => jobsNamed('a', 'other')],
  [
    'NOT_AN_INTERCEPTOR',
    /intercept/,
    () => route(Get('/'), Use(Bare as never)),
    () => route(Get('/'), Use(Passing)),
  ],
  [
    'INTERCEPTOR_PLACE',
    /'gate'/,
    () => route(Get('/'), Use(placed('door') as never)),
    () => route(Get('/'), Use(placed('gate') as never)),
  ],
  [
    'INTERCEPTOR_APPLIES',
    /applies\(route: RouteInfo\)/,
    () => route(Get('/'), Use(applying(5) as never)),
    () => route(Get('/'), Use(applying(true) as never)),
  ],
  [
    'DECORATOR_SPECIFICATION',
    /./,
    () => route(Get('/'), createDecorator('Mine', () => ({ intercept: 5 }) as never)()),
    () => route(Get('/'), createDecorator('Mine', () => ({}))()),
  ],
  [
    'ARGUMENT_DECLARATION',
    /\(request\) =>/,
    () => app({ imports: [argument({ tenant: 5 })] }),
    () => app({ imports: [argument({ tenant: (request: unknown) => request })] }),
  ],
  [
    'MAIL_WITHOUT_JOBS',
    /jobs\(/,
    () => app({ imports: [mail({ from: 'desk@example.com' })] }),
    () => app({ imports: [mail({ from: 'desk@example.com' }), jobs()] }),
  ],
]

function crudOf(type: Class): Class {
  class Things {}
  Controller('/things', { crud: type })(Things)
  return Things
}
function routeless(): GraphQL {
  const instance = new GraphQL()
  oneQuery(instance.schema)
  return instance
}
function resolved(options: object): Attempt {
  const type = fields({ id, name: text })
  Object.defineProperty(type.prototype, 'more', { value: resolve })
  Resolve('Int', options)(type.prototype, 'more', { value: resolve } as never)
  Table(type)
  return app({ records: [type] })
}
function placed(before: string): Class {
  return class Placed extends Passing {
    static readonly before = before
  }
}
function applying(response: unknown): Class {
  return class Applying extends Passing {
    applies(): unknown {
      return response
    }
  }
}
function argument(args: object): unknown {
  return createModule(() => ({ arguments: args }) as never)()
}

const sharded = (tenantId: AnyDecorator): Attempt => {
  const key = Field('id', { key: 'uuid' })
  const options = { shardBy: 'tenantId' }
  const letters = BelongsTo(() => Letters, { by: 'tenantId' })
  const Order = recordOf({ id: key, tenantId: text, letters }, options, 'Order')
  const order = BelongsTo(() => Order)
  const Line = recordOf({ id: key, tenantId, orderId: text, order }, options, 'Line')
  return app({ records: [Letters, Order, Line] })
}
const enumerated = (...of: [name: string, oneOf: string[]][]): Attempt =>
  record({
    id,
    ...Object.fromEntries(
      of.map(([name, oneOf], place) => [`f${place}`, Field('string', { enum: name, oneOf })]),
    ),
  })
const tokensNamed = (...names: string[]): Attempt =>
  app({ providers: names.map((name) => oneTime(name, { for: '1h' })) })
const jobsNamed = (...names: string[]): Attempt =>
  app({
    imports: [jobs()],
    providers: names.map((name) => {
      const Work = class {}
      Object.defineProperty(Work.prototype, 'run', { value: resolve, configurable: true })
      const descriptor = Object.getOwnPropertyDescriptor(Work.prototype, 'run')!
      Job({ name })(Work.prototype, 'run', descriptor as never)
      return Work
    }),
  })
