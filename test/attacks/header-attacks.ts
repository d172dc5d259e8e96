/** Attacks by one request of any visitor, with headers of 15 KB or a short body, that take long to read. */
import { bootstrap, Controller, Get, Module, NoAuth, type Application } from 'filigree'
import { accessLog } from 'filigree/access-log'
import { CacheFor } from 'filigree/cache'
import type { Attack, AttackResult } from './attack.js'
import { createEchoGraphql, measureProcessorTime } from './measure.js'

@Controller('/', { version: '1' })
@NoAuth
class Pages {
  @Get('/visits')
  visits(session: Record<string, unknown>): object {
    return { count: session.count ?? 0 }
  }

  @Get('/news')
  @CacheFor('1m')
  news(): object {
    return {}
  }
}

function start(): Promise<Application> {
  const graphql = createEchoGraphql()
  @Module({
    controllers: [Pages],
    graphql: [graphql],
    imports: [accessLog({ headers: true, query: true })],
  })
  class PagesModule {}
  const ignore = (): void => undefined
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  return bootstrap(PagesModule, {
    listen: false,
    logger: logger as never,
    env: {},
    trustProxy: 1,
    versions: { by: 'media' },
  })
}

interface Sent {
  readonly name: string
  readonly before: string
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const length = 15_000
/** Characters that a GraphQL text quotes. The time of the first attack grew with their square. */
const quotedLength = 100_000
const v1 = 'application/json; version=1'

function fill(part: string): string {
  return part.repeat(Math.floor(length / part.length))
}

function graphqlText(query: string): Pick<Sent, 'method' | 'url' | 'headers' | 'body'> {
  const headers = { 'content-type': 'application/json' }
  return { method: 'POST', url: '/graphql', headers, body: JSON.stringify({ query }) }
}

const requests: readonly Sent[] = [
  {
    name: 'a GraphQL syntax error that quotes many quotes',
    before: 'the event loop is blocked for 3 s, and for more than a minute by 1 MiB',
    ...graphqlText(`{ echo("${'\\\\\\"'.repeat(quotedLength / 2)}\\\\") }`),
  },
  {
    name: 'GraphQL with unknown fields of 20,000 characters',
    before: 'the event loop is blocked for 0.2 s',
    ...graphqlText(
      `{ ${Array.from({ length: 19 }, (_, index) => `a${index}${'b'.repeat(20_000)}`).join(' ')} }`,
    ),
  },
  {
    name: 'tabs within a cookie',
    before: 'the event loop is blocked for 0.1 s',
    url: '/visits',
    headers: { accept: v1, cookie: `a${fill('\t')}b` },
  },
  {
    name: 'spaces within an accepted type of events',
    before: 'the event loop is blocked for 0.2 s',
    url: '/news',
    headers: { accept: `${v1}, text/event-stream;${fill(' ')}x` },
  },
  {
    name: 'versions within an accepted type',
    before: 'the event loop is blocked for 0.8 s',
    url: '/visits',
    headers: { accept: `application/vnd.${fill('v1')}!` },
  },
  {
    name: 'escaped quotes in Forwarded',
    before: 'the event loop is blocked for 0.3 s',
    url: '/visits',
    headers: { accept: v1, forwarded: `for="${fill('\\"')}` },
  },
  {
    name: 'a user agent of many words that could begin a URL',
    before: 'the event loop is blocked for 0.15 s',
    url: '/visits',
    headers: { accept: v1, 'user-agent': fill('a.') },
  },
]

async function measure({ name: _name, before: _before, ...request }: Sent): Promise<AttackResult> {
  const app = await start()
  await app.inject({ url: '/visits', headers: { accept: v1 } })
  return measureProcessorTime(app, request)
}

export const attacks: readonly Attack[] = requests.map((request) => ({
  name: `one request: ${request.name}`,
  before: request.before,
  measures: true,
  run: () => measure(request),
}))
