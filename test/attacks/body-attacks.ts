/** Attacks by one anonymous request of up to 1 MiB that takes long to read. */
import { bootstrap, Controller, Field, Module, NoAuth, Post, type Application } from 'filigree'
import { throttle, Throttle } from 'filigree/throttle'
import type { Attack, AttackResult } from './attack.js'
import { createEchoGraphql, measureProcessorTime } from './measure.js'

class Line {
  @Field('string', { optional: true }) text?: string
}

class Links {
  @Field('string', { list: true, format: 'url' }) urls!: string[]
}

class Order {
  @Field('string') name!: string
  @Field(() => [Line], { optional: true }) lines?: Line[]
  @Field('json', { optional: true }) data?: unknown
}

@Controller('/orders')
@NoAuth
class OrderController {
  @Post('/', { body: Order })
  create(body: Order): object {
    return { name: body.name }
  }

  @Post('/named', { body: Order })
  @Throttle('1000/m', { by: 'body.name' })
  createNamed(body: Order): object {
    return { length: body.name.length }
  }

  @Post('/links', { body: Links })
  links(body: Links): object {
    return { count: body.urls.length }
  }

  @Post('/lines', { body: [Line] })
  lines(body: Line[]): object {
    return { count: body.length }
  }

  @Post('/any')
  any(body: unknown): object {
    return { type: typeof body }
  }
}

function start(): Promise<Application> {
  const graphql = createEchoGraphql()
  @Module({
    controllers: [OrderController],
    graphql: [graphql],
    imports: [throttle({ limit: '100000/m' })],
  })
  class OrderModule {}
  return bootstrap(OrderModule, { listen: false, logger: false, env: {} })
}

const bytes = 1024 * 1024 - 100

/** Repeats the part up to 1 MiB. */
function fill(part: string): string {
  return part.repeat(Math.floor(bytes / part.length))
}

function object(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`
}

function operation(query: string): string {
  return JSON.stringify({ query: query.slice(0, bytes / 2) })
}

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

interface Sent {
  readonly name: string
  readonly url: string
  readonly type: string
  readonly body: () => string
  readonly before?: string
}

const requests: readonly Sent[] = [
  {
    name: '90,000 unknown keys',
    url: '/orders',
    type: json,
    body: () => object(85_000),
    before: '150 to 416 ms',
  },
  {
    name: '90,000 keys of a field for any JSON',
    url: '/orders',
    type: json,
    body: () => `{"name":"x","data":${object(80_000)}}`,
    before: '150 ms',
  },
  {
    name: '90 objects of 900 different keys each',
    url: '/orders/any',
    type: json,
    body: () =>
      `[${Array.from({ length: 90 }, (_, row) => object(900).replaceAll('k', `${row}k`)).join(',')}]`,
  },
  {
    name: 'a list of 340,000 empty objects',
    url: '/orders/lines',
    type: json,
    body: () => `[${fill('{},')}{}]`,
    before: '83 to 360 ms',
  },
  {
    name: 'a list of 340,000 empty lists',
    url: '/orders/any',
    type: json,
    body: () => `[${fill('[],')}[]]`,
  },
  {
    name: 'a list of 500,000 numbers and a text that may name a prototype',
    url: '/orders/any',
    type: json,
    body: () => `["__proto__",${'1,'.repeat(bytes / 2 - 20)}1]`,
    before: '147 ms',
  },
  {
    name: 'a list of 150,000 numbers with exponents',
    url: '/orders/any',
    type: json,
    body: () => `[${'1.0e20,'.repeat(bytes / 7 - 10)}1234567890123456]`,
    before: '162 ms',
  },
  {
    name: 'a list of 500,000 numbers where objects are expected',
    url: '/orders/lines',
    type: json,
    body: () => `[${fill('1,')}1]`,
  },
  {
    name: 'a name of combining marks that a limit counts',
    url: '/orders/named',
    type: json,
    body: () => JSON.stringify({ name: fill('\u0301\u0316').slice(0, bytes / 2 - 20) }),
    before: 'minutes, also by a password',
  },
  {
    name: 'URLs of combining marks',
    url: '/orders/links',
    type: json,
    body: () =>
      JSON.stringify({ urls: Array(64).fill(`http://a${'\u0301\u0316'.repeat(4000)}.com/`) }),
    before: '1.6 s',
  },
  {
    name: 'a form of plus signs',
    url: '/orders',
    type: form,
    body: () => `name=${fill('+')}`,
    before: '109 to 230 ms',
  },
  {
    name: 'a form of percent signs',
    url: '/orders',
    type: form,
    body: () => `name=${fill('%41')}`,
  },
  {
    name: 'a form of pairs without names',
    url: '/orders',
    type: form,
    body: () => fill('&'),
  },
  {
    name: 'a GraphQL block string of short lines',
    url: '/graphql',
    type: json,
    body: () => operation(`{ echo(text: \"\"\"${fill('a\n')}`),
    before: '111 to 224 ms',
  },
  {
    name: 'GraphQL comments of one character',
    url: '/graphql',
    type: json,
    body: () => operation(`{ echo } ${fill('#\n')}`),
  },
  {
    name: 'GraphQL fragments in one selection',
    url: '/graphql',
    type: json,
    body: () =>
      operation(
        `{ __schema { ${Array.from({ length: 160 }, (_, index) => `...f${index}`).join(' ')} } } ` +
          Array.from(
            { length: 160 },
            (_, index) => `fragment f${index} on __Schema{types{fields{name}}}`,
          ).join(' '),
      ),
    before: '70 to 220 ms',
  },
  {
    name: 'GraphQL fields with the same key',
    url: '/graphql',
    type: json,
    body: () => operation(`{ __schema { ${'types{fields{name}}'.repeat(240)} } }`),
    before: '200 ms',
  },
  {
    name: 'GraphQL escapes',
    url: '/graphql',
    type: json,
    body: () => operation(`{ echo(text: "${fill('\\u0041')}`),
  },
]

async function measure({ url, type, body }: Sent): Promise<AttackResult> {
  const headers = { 'content-type': type }
  return measureProcessorTime(await start(), { method: 'POST', url, headers, body: body() })
}

export const attacks: readonly Attack[] = requests.map((request) => ({
  name: `one request of 1 MiB: ${request.name}`,
  before:
    request.before === undefined
      ? 'not measured'
      : `the event loop is blocked for ${request.before}`,
  measures: true,
  run: () => measure(request),
}))
