/** Errors in the log have no secrets, have a bounded size, and can always be written. Source: decisions, Operations. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  GraphQL,
  Module,
  NoAuth,
  type BootstrapOptions,
} from '../../src/index.js'

const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl'

/** An error as axios throws it. */
function clientError(): Error {
  return Object.assign(new Error('Request failed with status code 401'), {
    name: 'AxiosError',
    code: 'ERR_BAD_REQUEST',
    config: {
      url: 'https://desk:open-sesame@example.com/items',
      headers: { Authorization: `Bearer ${token}`, 'X-Api-Key': 'k-4711-secret' },
      data: '{"user":"ada","password":"hunter2hunter2"}',
    },
    status: 401,
  })
}

function throwingGetter(): Error {
  const error = new Error('the getter fails')
  Object.defineProperty(error, 'response', {
    enumerable: true,
    get: () => {
      throw new Error('The body was already read.')
    },
  })
  return error
}

const unreadable = new Proxy(new Error('never read'), {
  get: () => {
    throw new Error('no')
  },
  ownKeys: () => {
    throw new Error('no')
  },
  getPrototypeOf: () => {
    throw new Error('no')
  },
})

function circular(): Error {
  const error: Error & { self?: unknown } = new Error('circular')
  error.self = { error }
  error.cause = error
  return error
}

const thrown: Readonly<Record<string, unknown>> = {
  client: clientError(),
  frozen: Object.freeze(new Error('frozen')),
  getter: throwingGetter(),
  proxy: unreadable,
  large: Object.assign(new Error('large'), { body: 'x'.repeat(5_000_000), list: [1] }),
  longMessage: new Error('y'.repeat(5_000_000)),
  circular: circular(),
  cause: new Error('outer', { cause: clientError() }),
  aggregate: new AggregateError([clientError(), new Error('second')], 'several'),
  message: new Error(`cannot reach https://desk:open-sesame@example.com with Bearer ${token}`),
  object: { config: { headers: { Authorization: `Bearer ${token}` } } },
  text: `Bearer ${token}`,
}

@NoAuth
@Controller
class FailingController {
  @Get('/<name>')
  fail(name: string) {
    throw thrown[name]
  }
}

const graphql = new GraphQL()
graphql.registerRoute('/graphql')
graphql.schema.addQuery('fails', {
  type: 'String',
  resolve: () => {
    throw clientError()
  },
})

class Stopping {
  onStop() {
    throw clientError()
  }
}

@Module({ controllers: [FailingController], providers: [Stopping], graphql: [graphql] })
class FailingModule {}

interface Line {
  readonly details: Readonly<Record<string, unknown>>
  readonly message: string
}

async function start(options: BootstrapOptions = {}) {
  const lines: Line[] = []
  const write = (details: object, message: string): void => {
    lines.push({ details: { ...details }, message })
  }
  const logger = { error: write, warn: write, info: () => undefined, debug: () => undefined }
  const env = { SERVICE_PASSWORD: 'correct-horse-battery' }
  const app = await bootstrap(FailingModule, { listen: false, logger, env, ...options })
  return { app, lines }
}

/** All of an error, as loggers write it. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error)
  const { name, message, stack, cause } = error
  return [
    name,
    message,
    stack,
    JSON.stringify(error),
    cause === undefined ? '' : textOf(cause),
  ].join()
}

const secrets = /eyJ|open-sesame|hunter2|k-4711/

describe('errors in the log', () => {
  it.each(Object.keys(thrown))('are written with route and request id: %s', async (name) => {
    const { app, lines } = await start()
    const response = await app.inject(`/${name}`)
    expect(response.status).toBe(500)
    const line = lines.find(({ message }) => message === 'request failed')
    const details: Line['details'] = line?.details ?? {}
    expect(details).toMatchObject({ path: `/${name}`, route: 'FailingController.fail' })
    expect(details.requestId).toBe(response.headers['x-request-id'])
    const text = textOf(details.err)
    expect(text).not.toMatch(secrets)
    expect(text.length).toBeLessThan(40_000)
    await app.close()
  })

  it('have name, message, stack, code, cause and the harmless properties', async () => {
    const { app, lines } = await start()
    await app.inject('/cause')
    const err = lines[0]?.details.err as Error
    expect(err).toBeInstanceOf(Error)
    expect(err.message).toBe('outer')
    expect(err.stack).toContain('logged-errors.test')
    expect(err.cause).toMatchObject({
      name: 'AxiosError',
      message: 'Request failed with status code 401',
      code: 'ERR_BAD_REQUEST',
      status: 401,
    })
    await app.close()
  })

  it('keep the message of an error that cannot be copied otherwise', async () => {
    const { app, lines } = await start()
    for (const name of ['frozen', 'getter', 'circular', 'large']) await app.inject(`/${name}`)
    expect(lines.map(({ details }) => (details.err as Error).message)).toEqual([
      ...['frozen', 'the getter fails', 'circular', 'large'],
    ])
    expect(lines[1]?.details.err).toMatchObject({ response: '(cannot be read)' })
    await app.close()
  })

  it('have no secrets in resolvers and in providers that stop', async () => {
    const { app, lines } = await start()
    await app.inject({ method: 'POST', url: '/graphql', json: { query: '{ fails }' } })
    await app.close()
    const failures = lines.filter(({ details }) => 'err' in details)
    expect(failures.map(({ message }) => message)).toEqual([
      'a GraphQL resolver failed',
      'onStop failed',
    ])
    for (const { details } of failures) {
      expect(textOf(details.err)).toContain('Request failed with status code 401')
      expect(textOf(details.err)).not.toMatch(secrets)
    }
  })

  it('have no values of secret environment variables', async () => {
    const { app, lines } = await start()
    const error = new Error('cannot sign in as desk with correct-horse-battery')
    Object.assign(thrown, { environment: error })
    await app.inject('/environment')
    expect((lines[0]?.details.err as Error).message).toBe('cannot sign in as desk with (hidden)')
    await app.close()
  })
})
