/** The page of a 500 under `filigree dev`: the message and the source line for the developer, nothing for other clients. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, checkOf, Controller, Get, HttpError, Module, type Application } from 'filigree'
import { summarizeError } from '../../src/cli/describe-error.js'
import { UnavailableServer } from '../../src/cli/dev/failure-pages.js'
import { DeclarationError } from '../../src/errors/declaration-error.js'
import { Redactor } from '../../src/serving/redaction/redactor.js'
import { silentLog } from '../silent-log.js'
import { startMonitoring, stopMonitoring } from './development-monitor.js'

@Controller('/lamps')
class Lamps {
  @Get('/broken') broken(): never {
    throw new Error('<b>the lamp is broken</b>')
  }
  @Get('/later') async later(): Promise<never> {
    await Promise.resolve()
    throw new HttpError(500, 'the lamp is late')
  }
  @Get('/inside') inside(): unknown {
    return checkOf(Lamps, { nam: 'thrown by the framework' } as never)
  }
  @Get('/pin/<pin>') pin(pin: string): never {
    throw new Error(`the lamp refused ${pin}`)
  }
}
@Module({ controllers: [Lamps] })
class LampModule {}

const secret = 'secret-of-the-page'
const monitor = startMonitoring(secret)
let app: Application
let production: Application
beforeAll(async () => {
  const options = { port: 0, host: '127.0.0.1', logger: silentLog, times: { linger: 20 } }
  app = await bootstrap(LampModule, { ...options, env: { NODE_ENV: 'development' } })
  production = await bootstrap(LampModule, {
    ...{ ...options, auth: { keys: false } },
    env: { NODE_ENV: 'production', PUBLIC_URL: 'https://lamps.example' },
  })
})
afterAll(async () => {
  stopMonitoring(monitor)
  await app.close()
  await production.close()
})

interface Page {
  readonly status: number
  readonly text: string
}

async function open(
  path: string,
  headers: Record<string, string> = {},
  { url }: Application = app,
): Promise<Page> {
  const response = await fetch(url + path, { headers: { accept: 'text/html', ...headers } })
  return { status: response.status, text: await response.text() }
}

const cookie = (): string => `filigree-dev-${new URL(app.url).port}=${secret}`
const hint = 'filigree dev'

describe('the page of a start that failed under filigree dev', () => {
  const reason = {
    title: 'The application cannot start',
    report: `error[X]: it is wrong\n 7 | const key = 'abc'`,
    summary: 'error[X]: it is wrong',
    error: null,
  }
  const server = new UnavailableServer(reason, secret)
  let url = ''
  beforeAll(async () => {
    url = (await server.open({ port: 0, host: '127.0.0.1' }))?.url ?? ''
  })
  afterAll(() => {
    server.close()
  })
  const read = async (headers: Record<string, string>): Promise<string> => {
    const response = await fetch(`${url}/lamps`, { headers: { accept: 'text/html', ...headers } })
    expect(response.status).toBe(503)
    return response.text()
  }

  it('has the sources for the developer', async () => {
    const text = await read({ cookie: `filigree-dev-${new URL(url).port}=${secret}` })
    expect(text).toContain('const key = &#39;abc&#39;')
    expect(text).not.toContain(hint)
  })

  it('has the reason for a browser without the cookie, without the sources', async () => {
    const text = await read({})
    expect(text).toContain('error[X]: it is wrong')
    expect(text).toContain(`the address of the development page that \`${hint}\` printed`)
    expect(text).not.toContain('const key')
  })

  it.each<Record<string, string>>([{ via: '1.1 proxy' }, { accept: 'application/json' }])(
    'has no reason for %j',
    async (headers) => {
      const text = await read(headers)
      expect(text).toContain('The terminal of `filigree dev` shows why')
      expect(text).not.toContain('it is wrong')
    },
  )
})

describe('the summary of a failed start', () => {
  const show = (text: string): string => new Redactor({ MAIL_PASSWORD: 'longsecret' }).text(text)

  it('has the problems with their remedies', () => {
    const problem = { code: 'INVALID_OPTION', message: 'mail: x.', remedy: 'Write it.' } as const
    const error = new DeclarationError([problem])
    expect(summarizeError(error, show)).toBe('error[INVALID_OPTION]: mail: x. Write it.')
  })

  it('hides secrets', () => {
    const text = summarizeError(new TypeError('cannot open smtp://a:longsecret@b'), show)
    expect(text).toMatch(/^TypeError: cannot open/)
    expect(text).not.toContain('longsecret')
  })
})

describe('the page of a 500 under filigree dev', () => {
  it.each([
    ['broken', 'Error: &lt;b&gt;the lamp is broken', 'throw new Error(&#39;&lt;b&gt;the lamp is'],
    ['later', 'the lamp is late', 'throw new HttpError(500, &#39;the lamp is late'],
    ['inside', 'unknown option', 'return checkOf(Lamps'],
  ])('has the message and the line of the application: %s', async (name, message, line) => {
    const { status, text } = await open(`/lamps/${name}`, { cookie: cookie() })
    expect(status).toBe(500)
    expect(text).toContain(message)
    expect(/<mark>(.*)/.exec(text)?.[1]).toContain(line)
    expect(text).toMatch(/Open test\/cli\/failure-page\.test\.ts:\d+ in the editor/)
    expect(text).toContain(`Lamps.${name}`)
  })

  it('hides secrets of the request', async () => {
    const { text } = await open('/lamps/pin/4711x', { cookie: cookie() })
    expect(text).toContain('the lamp refused (hidden)')
    expect(text).not.toContain('4711x')
  })

  it('without the secret has the message, and says where the source is', async () => {
    const { status, text } = await open('/lamps/broken')
    expect(status).toBe(500)
    expect(text).toContain(hint)
    expect(text).toContain(
      'Error: &lt;b&gt;the lamp is broken&lt;/b&gt; — For the source and more, open',
    )
    expect(text).not.toMatch(/failure-page|Lamps|throw new/)
    const { text: withPin } = await open('/lamps/pin/4711x')
    expect(withPin).toContain('the lamp refused (hidden)')
    expect(withPin).not.toContain('4711x')
  })

  it('without the secret has no message for JSON', async () => {
    const { text } = await open('/lamps/broken', { accept: 'application/json' })
    expect(text).toBe('{"error":"Internal server error","code":"INTERNAL_SERVER_ERROR"}')
  })

  it('says nothing about it to clients behind a proxy, and in production', async () => {
    for (const { status, text } of [
      await open('/lamps/broken', { cookie: cookie(), via: '1.1 proxy' }),
      await open('/lamps/broken', { cookie: cookie() }, production),
    ]) {
      expect(status).toBe(500)
      expect(text).not.toContain(hint)
      expect(text).not.toMatch(/lamp is|failure-page|Lamps/)
    }
  })
})
